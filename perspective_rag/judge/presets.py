"""Published judges by name: which model, asked how, and through what it can run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from perspective_rag.errors import unknown_name
from perspective_rag.judge.llm import Wording

Engine = Literal["transformers", "vllm", "server"]


@dataclass(frozen=True, slots=True)
class JudgePreset:
    """A published judge.

    ``model`` is its id on the Hugging Face hub (or at the provider), ``adapter`` a PEFT adapter
    laid over it. ``wording`` says how it is asked; None for a classifier of pairs, whose labels say
    what its outputs mean. ``engines`` are the ways it can run, the first the default. ``source`` is
    the paper or the row of a table it stands for.
    """

    model: str
    source: str
    wording: Wording | None = None
    adapter: str | None = None
    engines: tuple[Engine, ...] = ("transformers", "vllm", "server")


_CHAT = Wording()
# Chat templates of these models have no system role.
_USER_ONLY = Wording(system="user")
_TABLE_7 = "BERDS (Chen and Choi), Table 7: "
_MISTRAL = "mistralai/Mistral-7B-Instruct-v0.2"

PRESETS: Mapping[str, JudgePreset] = MappingProxyType(
    {
        "t5-11b-true-nli": JudgePreset(
            "google/t5_xxl_true_nli_mixture",
            _TABLE_7 + "NLI model (T5-11B); Honovich et al. 2022 (TRUE)",
            Wording("judge_entailment", ("1", "0"), fenced=False),
            engines=("transformers",),
        ),
        "llama-2-13b-chat": JudgePreset(
            "meta-llama/Llama-2-13b-chat-hf", _TABLE_7 + "Llama-2-13b-chat (zero-shot)", _CHAT
        ),
        "llama-2-70b-chat": JudgePreset(
            "meta-llama/Llama-2-70b-chat-hf", _TABLE_7 + "Llama-2-70b-chat (zero-shot)", _CHAT
        ),
        "zephyr-7b": JudgePreset(
            "HuggingFaceH4/zephyr-7b-beta", _TABLE_7 + "Zephyr (zero-shot)", _CHAT
        ),
        "gemma-7b": JudgePreset("google/gemma-7b-it", _TABLE_7 + "Gemma (zero-shot)", _USER_ONLY),
        "mistral-7b": JudgePreset(_MISTRAL, _TABLE_7 + "Mistral-7B (zero-shot)", _USER_ONLY),
        "mistral-7b-berds": JudgePreset(
            "timchen0618/Mistral_BERDS_evaluator_full",
            _TABLE_7 + "Mistral-7B (fine-tuned), full weights",
            Wording(system="none"),
        ),
        "mistral-7b-berds-adapter": JudgePreset(
            _MISTRAL,
            _TABLE_7 + "Mistral-7B (fine-tuned), LoRA adapter",
            Wording(system="none"),
            adapter="timchen0618/Mistral_BERDS_evaluator",
            engines=("transformers", "vllm"),
        ),
        "gpt-4": JudgePreset(
            "gpt-4-0613", _TABLE_7 + "GPT-4 (zero-shot)", _CHAT, engines=("server",)
        ),
        "gpt-4-one-shot": JudgePreset(
            "gpt-4-0613",
            _TABLE_7 + "GPT-4 (one-shot)",
            Wording("judge_support_one_shot"),
            engines=("server",),
        ),
        "deberta-v3-large-nli": JudgePreset(
            "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
            "Laurer et al. 2024, MNLI, FEVER, ANLI, LingNLI, WANLI",
            engines=("transformers",),
        ),
        "deberta-v3-base-nli": JudgePreset(
            "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli",
            "Laurer et al. 2024, MNLI, FEVER, ANLI",
            engines=("transformers",),
        ),
        "roberta-large-mnli": JudgePreset(
            "FacebookAI/roberta-large-mnli", "Liu et al. 2019, MNLI", engines=("transformers",)
        ),
        "bart-large-mnli": JudgePreset(
            "facebook/bart-large-mnli", "Lewis et al. 2020, MNLI", engines=("transformers",)
        ),
    }
)


def preset(name: str) -> JudgePreset:
    """The preset of that name; raises ConfigError, with a suggestion, for a name without one."""
    if name not in PRESETS:
        raise unknown_name(name, PRESETS, "judge preset")
    return PRESETS[name]
