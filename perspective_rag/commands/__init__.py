"""The commands of ``perspective-rag``, one module each: options in, library calls, a report out.

What ``__all__`` names is public, for add-ons that bring a command of their own (entry point group
``perspective_rag.commands``): options that mean the same in every command, what they name, and how
a result is shown in a terminal. Each name is imported when it is first used: some need rich.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perspective_rag.commands.ask import answer_options as answer_options
    from perspective_rag.commands.ask import chosen_options as chosen_options
    from perspective_rag.commands.ask import proofs_of as proofs_of
    from perspective_rag.commands.panels import heading as heading
    from perspective_rag.commands.panels import show_passages as show_passages
    from perspective_rag.commands.panels import show_side as show_side
    from perspective_rag.commands.parts import asked_again as asked_again
    from perspective_rag.commands.parts import calibration_option as calibration_option
    from perspective_rag.commands.parts import console as console
    from perspective_rag.commands.parts import corpus_options as corpus_options
    from perspective_rag.commands.parts import encoder_of as encoder_of
    from perspective_rag.commands.parts import judge_of as judge_of
    from perspective_rag.commands.parts import judge_options as judge_options
    from perspective_rag.commands.parts import language_model as language_model
    from perspective_rag.commands.parts import llm_options as llm_options
    from perspective_rag.commands.parts import model_parts as model_parts
    from perspective_rag.commands.parts import opened_pipeline as opened_pipeline
    from perspective_rag.commands.parts import packaged_encoder as packaged_encoder
    from perspective_rag.commands.parts import pipeline_over as pipeline_over
    from perspective_rag.commands.parts import uncached_judge as uncached_judge
    from perspective_rag.commands.parts import whole as whole
    from perspective_rag.commands.reading_options import reading as reading
    from perspective_rag.commands.showing import Claims as Claims
    from perspective_rag.commands.showing import safe as safe
    from perspective_rag.commands.showing import show_missing as show_missing
    from perspective_rag.commands.showing import show_opening as show_opening
    from perspective_rag.commands.showing import show_trace as show_trace
    from perspective_rag.commands.user_retriever import made_store as made_store
    from perspective_rag.local.corpus.loading import EXAMPLE_DEBATES as EXAMPLE_DEBATES
    from perspective_rag.reporting.progress import progress_bars as progress_bars

_HOMES = {
    "commands.ask": ["answer_options", "chosen_options", "proofs_of"],
    "commands.panels": ["heading", "show_passages", "show_side"],
    "commands.parts": [
        "asked_again",
        "calibration_option",
        "console",
        "corpus_options",
        "encoder_of",
        "judge_of",
        "judge_options",
        "language_model",
        "llm_options",
        "model_parts",
        "opened_pipeline",
        "packaged_encoder",
        "pipeline_over",
        "uncached_judge",
        "whole",
    ],
    "commands.reading_options": ["reading"],
    "commands.showing": ["Claims", "safe", "show_missing", "show_opening", "show_trace"],
    "commands.user_retriever": ["made_store"],
    "local.corpus.loading": ["EXAMPLE_DEBATES"],
    "reporting.progress": ["progress_bars"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"perspective_rag.{_HOME_OF[name]}"), name)
