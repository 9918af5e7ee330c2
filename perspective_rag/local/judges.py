"""Published judges by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.extensions import part
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.llm import Engine, LLMJudge, preset
from perspective_rag.protocols import LLM


def load_judge(
    name: str,
    *,
    engine: Engine | None = None,
    model: str | Path | None = None,
    adapter: str | Path | None = None,
    revision: str | None = None,
    prompt: str | Path | None = None,
    threshold: float = 0.5,
    **options: Any,
) -> LLMJudge | CrossEncoderJudge:
    """A published judge by its name; weights load at first use.

    Args:
        name: "t5-11b-true-nli", "llama-2-13b-chat", "llama-2-70b-chat", "zephyr-7b", "gemma-7b",
            "mistral-7b", "mistral-7b-berds", "mistral-7b-berds-adapter", "gpt-4" or
            "gpt-4-one-shot" (BERDS, Table 7); "deberta-v3-large-nli", "deberta-v3-base-nli",
            "roberta-large-mnli" or "bart-large-mnli".
        engine: "transformers" or "vllm" (in this process), or "server" (any OpenAI-compatible one;
            give its ``base_url``). None: the first that the judge can run on.
        model: Replaces the judge's own model: a local copy, or the name that a server gives it.
        adapter: Replaces the judge's own PEFT adapter.
        revision: The hub's branch, tag or commit. None: the hub's default branch.
        prompt: A file with ``{{passage}}`` and ``{{perspective}}`` instead of this project's
            wording, the authors' for example.
        threshold: In [0, 1]: P(support) that counts as support; 0.5 is the models' own answer.
            Higher: fewer passages do.
        **options: Go to ``TransformersLLM``, ``VLLMEngine``, ``OpenAICompatibleLLM`` or
            ``CrossEncoderJudge``, whichever runs the model.

    Returns:
        The judge.

    Raises:
        ConfigError: The name is unknown, or the judge cannot be used with this engine, adapter,
            revision or prompt.
        MissingDependency: What the engine runs on is not installed.
    """
    chosen = preset(name)
    through = engine or chosen.engines[0]
    if through not in chosen.engines:
        raise ConfigError(
            f"judge preset {name!r} runs through {' or '.join(chosen.engines)}, not {through!r}"
        )
    weights = str(model or chosen.model)
    if chosen.wording is None:
        if prompt is not None or adapter is not None:
            raise ConfigError(
                f"judge preset {name!r} is a classifier: it takes no prompt, no adapter"
            )
        return CrossEncoderJudge(weights, threshold=threshold, revision=revision, **options)
    over = adapter or chosen.adapter
    llm: LLM
    if through == "server":
        if over is not None or revision is not None:
            raise ConfigError("a server loads adapters and revisions itself: name them in model=")
        from perspective_rag.local.openai_compatible import OpenAICompatibleLLM

        llm = OpenAICompatibleLLM(weights, **options)
    else:
        engine_part = "vllm_engine" if through == "vllm" else "transformers_llm"
        run_here = part(engine_part, "judge", f"running {weights!r} in this process")
        llm = run_here(weights, adapter=over, revision=revision, **options)
    return LLMJudge(llm, wording=chosen.wording, prompt=prompt, threshold=threshold)
