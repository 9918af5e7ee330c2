"""A language model asked about one pair a call, and its presets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from perspective_rag.errors import LLMError, between, check_component, count, unknown_name
from perspective_rag.flow.request import note
from perspective_rag.flow.steps import Call, Flow, Reply
from perspective_rag.judge.pairs import TableOfPairs, not_judged
from perspective_rag.prompts import fence, load_prompt, shorten
from perspective_rag.prompts.replies import bad_reply, parse_yes_no, reply_text
from perspective_rag.protocols import LLM, CompletesMany
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Completion, Passage, Perspective, Prompt, Vector


@dataclass(frozen=True, slots=True)
class Wording:
    """How a model wants to be asked.

    ``prompt`` names a file of ``prompts/``; ``choices`` are the replies for support and for its
    absence. ``fenced`` puts the passage between tags that it cannot close. ``system`` says where
    the system text goes: in a message of its own, before the user's text ("user": for chat
    templates without a system role), or nowhere ("none").
    """

    prompt: str = "judge_support"
    choices: tuple[str, str] = ("yes", "no")
    fenced: bool = True
    system: Literal["own", "user", "none"] = "own"


class LLMJudge(TableOfPairs):
    """Asks a language model, one question a pair, whether a passage supports a perspective.

    P(support) = P(yes) / (P(yes) + P(no)), each summed over the first tokens that begin the reply
    in any spelling, where the model gives log-probabilities (BERDS, appendix A: yes or no, greedy);
    else 1.0 or 0.0 as the reply says.

    Pairs of one passage are asked one after the other, and a prompt ends with the statement, so
    that all before it is a common prefix that a server need not read again. Pairs without a usable
    reply are NaN and one recorded degradation (strict mode: JudgeError).

    Args:
        llm: The model. One with ``complete_many`` is asked in batches of its ``batch_size``.
        threshold: In [0, 1]: P(support) from which a passage counts as supporting. Higher: fewer
            do.
        prompt: A file that replaces the wording's own prompt.
        wording: How the model wants to be asked; ``load_judge`` chooses it for published judges.
            None: yes or no, in a chat.
        max_characters: A longer passage is cut; the trace counts ``shortened_passages``.
        max_tokens: Maximum number of tokens of a reply. A model that reasons before it answers
            needs more.

    Raises:
        ConfigError: A number is out of range, or the prompt cannot be used.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        threshold: float = 0.5,
        prompt: str | Path | None = None,
        wording: Wording | None = None,
        max_characters: int = 4000,
        max_tokens: int = 16,
    ) -> None:
        self.llm = check_component("llm", llm)
        self.threshold = between("threshold", threshold)
        self.wording = wording or Wording()
        self.template = load_prompt(self.wording.prompt, prompt)
        self.max_characters = count("max_characters", max_characters)
        self.max_tokens = count("max_tokens", max_tokens)

    @property
    def name(self) -> str:
        """Identifies the model and the exact wording of the prompt."""
        return f"llm:{self.llm.name}:{self.template.hash}"

    @property
    def revision(self) -> str:
        """Identifies the model, the prompt and how it is asked: equal revisions judge alike."""
        model = getattr(self.llm, "revision", self.llm.name)
        asked = (self.template.hash, self.wording, self.max_characters, self.max_tokens)
        return fingerprint(model, *asked)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """The same as ``judge`` of passages[i] beside perspectives[i] alone, shape (n_pairs,): all
        pairs at once. What failed is recorded as one degradation.
        """
        support: Vector = np.full(len(passages), np.nan)
        if not support.size:
            return support
        cut = sum(len(each.text) > self.max_characters for each in set(passages))
        if cut:
            note(counts={"shortened_passages": cut})
        # Those of one passage together: a server that keeps prefixes reads it once.
        first: dict[tuple[str, str], int] = {}
        starts = [first.setdefault((each.title, each.text), i) for i, each in enumerate(passages)]
        order = sorted(range(len(passages)), key=starts.__getitem__)
        prompts = [self._prompt(passages[i], perspectives[i]) for i in order]
        replies = yield from self._replies(prompts)
        errors: list[LLMError] = []
        for index, prompt, reply in zip(order, prompts, replies, strict=True):
            try:
                support[index] = self._probability(reply, prompt)
            except LLMError as error:
                errors.append(error)
        if errors:
            not_judged(self.name, len(errors), len(prompts), errors[0])
        return support

    def _replies(self, prompts: Sequence[Prompt]) -> Flow[Sequence[Reply]]:
        if not isinstance(self.llm, CompletesMany):
            ask_llm, aask_llm = self.llm.complete, self.llm.acomplete
            calls = [
                Call("judge", ask_llm, (prompt,), afunction=aask_llm, counts={"judged_pairs": 1})
                for prompt in prompts
            ]
            return (yield calls)
        result: list[Reply] = []
        size = max(1, self.llm.batch_size)
        for start in range(0, len(prompts), size):
            batch = prompts[start : start + size]
            counts = {"judged_pairs": len(batch)}
            (reply,) = yield [Call("judge", self.llm.complete_many, (batch,), counts=counts)]
            if reply.error is None and len(reply.value) != len(batch):
                problem = LLMError(f"{len(reply.value)} replies to {len(batch)} prompts")
                reply = Reply(error=problem)
            for value in [reply.error] * len(batch) if reply.error else reply.value:
                failed = isinstance(value, Exception)
                result.append(Reply(error=value) if failed else Reply(value))
        return result

    def _prompt(self, passage: Passage, perspective: Perspective) -> Prompt:
        text = shorten(passage.text, self.max_characters)
        title = shorten(passage.title, 200)
        text = f"{title}\n{text}" if title else text
        shown = fence([text]) if self.wording.fenced else text
        filled = self.template.fill(passage=shown, perspective=perspective.text)
        if self.wording.system != "own":
            before = filled.system if self.wording.system == "user" else ""
            filled = replace(filled, system="", user=f"{before}\n\n{filled.user}".strip())
        return replace(filled, choices=self.wording.choices, max_tokens=self.max_tokens)

    def _probability(self, reply: Reply, prompt: Prompt) -> float:
        yes_word, no_word = self.wording.choices
        probabilities = getattr(reply.value, "choice_probabilities", None)
        if reply.error is None and isinstance(reply.value, Completion) and probabilities:
            yes, no = (float(probabilities.get(choice, 0.0)) for choice in prompt.choices)
            if math.isfinite(yes + no) and min(yes, no) >= 0 and yes + no > 0:
                return yes / (yes + no)
        text = reply_text(reply, prompt)
        said = text.strip(" \t\r\n\"'*`.").casefold()
        if said in (yes_word.casefold(), no_word.casefold()):
            return float(said == yes_word.casefold())
        decided = parse_yes_no(text)
        if decided is None:
            raise bad_reply(f"the reply says neither {yes_word} nor {no_word}", text, prompt)
        return float(decided)


Engine = Literal["transformers", "vllm", "server"]


@dataclass(frozen=True, slots=True)
class JudgePreset:
    """A published judge.

    ``model`` is its id on the Hugging Face hub (or at the provider), ``adapter`` a PEFT adapter
    laid over it. ``wording`` says how it is asked; None for a classifier of pairs, whose labels say
    what its outputs mean. ``engines`` are the ways it can run, the first the default.
    """

    model: str
    wording: Wording | None = None
    engines: tuple[Engine, ...] = ("transformers", "vllm", "server")
    adapter: str | None = None


_CHAT = Wording()
_USER_ONLY = Wording(system="user")  # chat templates of these models have no system role
_TUNED = Wording(system="none")
_ENTAILS = Wording("judge_entailment", ("1", "0"), fenced=False)
_ONE_SHOT = Wording("judge_support_one_shot")
_MISTRAL = "mistralai/Mistral-7B-Instruct-v0.2"
_NLI = "MoritzLaurer/DeBERTa-v3"

PRESETS: Mapping[str, JudgePreset] = MappingProxyType(
    {
        # BERDS (Chen and Choi), Table 7; the first is TRUE's (Honovich et al. 2022).
        "t5-11b-true-nli": JudgePreset(
            "google/t5_xxl_true_nli_mixture", _ENTAILS, engines=("transformers",)
        ),
        "llama-2-13b-chat": JudgePreset("meta-llama/Llama-2-13b-chat-hf", _CHAT),
        "llama-2-70b-chat": JudgePreset("meta-llama/Llama-2-70b-chat-hf", _CHAT),
        "zephyr-7b": JudgePreset("HuggingFaceH4/zephyr-7b-beta", _CHAT),
        "gemma-7b": JudgePreset("google/gemma-7b-it", _USER_ONLY),
        "mistral-7b": JudgePreset(_MISTRAL, _USER_ONLY),
        "mistral-7b-berds": JudgePreset("timchen0618/Mistral_BERDS_evaluator_full", _TUNED),
        "mistral-7b-berds-adapter": JudgePreset(
            _MISTRAL, _TUNED, ("transformers", "vllm"), "timchen0618/Mistral_BERDS_evaluator"
        ),
        "gpt-4": JudgePreset("gpt-4-0613", _CHAT, ("server",)),
        "gpt-4-one-shot": JudgePreset("gpt-4-0613", _ONE_SHOT, ("server",)),
        # Classifiers: Laurer et al. 2024, Liu et al. 2019, Lewis et al. 2020
        "deberta-v3-large-nli": JudgePreset(
            f"{_NLI}-large-mnli-fever-anli-ling-wanli", engines=("transformers",)
        ),
        "deberta-v3-base-nli": JudgePreset(
            f"{_NLI}-base-mnli-fever-anli", engines=("transformers",)
        ),
        "roberta-large-mnli": JudgePreset(
            "FacebookAI/roberta-large-mnli", engines=("transformers",)
        ),
        "bart-large-mnli": JudgePreset("facebook/bart-large-mnli", engines=("transformers",)),
    }
)


def preset(name: str) -> JudgePreset:
    """The preset of that name; raises ConfigError, with a suggestion, for a name without one."""
    if name not in PRESETS:
        raise unknown_name(name, PRESETS, "judge preset")
    return PRESETS[name]
