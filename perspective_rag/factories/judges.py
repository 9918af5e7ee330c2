"""Judges by the name of a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perspective_rag.backends.openai_compatible import OpenAICompatibleLLM
from perspective_rag.backends.transformers_llm import TransformersLLM
from perspective_rag.errors import ConfigError
from perspective_rag.extensions import part
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.llm import LLMJudge
from perspective_rag.judge.presets import Engine, preset
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
    """A published judge (``judge.presets.PRESETS``), ready to be asked; weights load at first use.

    ``engine`` is "transformers" or "vllm" (in this process) or "server" (any OpenAI-compatible one;
    give its ``base_url``); None is the preset's own. ``model`` and ``adapter`` replace the
    preset's, for a local copy or the name a server gives it. ``prompt`` is a file with
    ``{{passage}}`` and ``{{perspective}}`` in place of this project's wording, the authors' for
    example. ``threshold`` is the P(support) that counts as support: 0.5 is the models' own answer.
    Further keywords go to ``TransformersLLM``, ``VLLMEngine``, ``OpenAICompatibleLLM`` or
    ``CrossEncoderJudge``.

    Raises ConfigError for an unknown name and for an engine that cannot run the model.
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
        llm = OpenAICompatibleLLM(weights, **options)
    elif through == "vllm":
        vllm_engine = part("vllm_engine", "scale", "vLLM in this process")
        llm = vllm_engine(weights, adapter=over, revision=revision, **options)
    else:
        llm = TransformersLLM(weights, adapter=over, revision=revision, **options)
    return LLMJudge(llm, wording=chosen.wording, prompt=prompt, threshold=threshold)
