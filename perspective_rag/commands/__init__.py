"""The commands of ``perspective-rag``, one module each: options in, library calls, a report out.

What ``__all__`` names is public, for add-ons that bring a command of their own (entry point group
``perspective_rag.commands``): options that mean the same in every command, what they name, and how
a result is shown in a terminal. What shows needs rich, and is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perspective_rag.commands.ask import answer_options, chosen_options, proofs_of
from perspective_rag.commands.parts import (
    asked_again,
    build_pipeline,
    calibration_option,
    console,
    corpus_options,
    encoder_of,
    judge_of,
    judge_options,
    language_model,
    llm_options,
    model_parts,
    opened_pipeline,
    packaged_encoder,
    pipeline_over,
    read_corpus,
    reading,
    uncached_judge,
    whole,
)
from perspective_rag.commands.user_retriever import made_store
from perspective_rag.local.corpus.loading import EXAMPLE_DEBATES

if TYPE_CHECKING:
    from perspective_rag.commands.showing import (
        Claims,
        heading,
        progress_bars,
        safe,
        show_missing,
        show_opening,
        show_passages,
        show_side,
        show_trace,
    )

__all__ = [
    "EXAMPLE_DEBATES",
    "Claims",
    "answer_options",
    "asked_again",
    "build_pipeline",
    "calibration_option",
    "chosen_options",
    "console",
    "corpus_options",
    "encoder_of",
    "heading",
    "judge_of",
    "judge_options",
    "language_model",
    "llm_options",
    "made_store",
    "model_parts",
    "opened_pipeline",
    "packaged_encoder",
    "pipeline_over",
    "progress_bars",
    "proofs_of",
    "read_corpus",
    "reading",
    "safe",
    "show_missing",
    "show_opening",
    "show_passages",
    "show_side",
    "show_trace",
    "uncached_judge",
    "whole",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from perspective_rag.commands import showing

    return getattr(showing, name)
