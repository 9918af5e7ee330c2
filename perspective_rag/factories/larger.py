"""The larger judge of the distribution ``perspective-rag-judge``, where it is installed."""

from __future__ import annotations

import importlib
import logging
from functools import cache
from pathlib import Path
from typing import Any

from perspective_rag.errors import MissingDependency
from perspective_rag.extract.negation import negate
from perspective_rag.judge.models import onnx_runtime
from perspective_rag.judge.two_sided import TwoSidedJudge

PACKAGE = "perspective_rag_judge"
STAGE = "second_reading"
_LOGGER = logging.getLogger("perspective_rag")


@cache
def larger_judge() -> TwoSidedJudge | None:
    """The larger judge; who asks for it shares one, loaded at the first judgement.

    None, and a line in the log, once, where the distribution ``perspective-rag-judge`` or what it
    runs on is not installed, or where its weights were found to list nothing soundly (threshold 1):
    then nothing is read a second time.
    """
    found = _loaded()
    if isinstance(found, TwoSidedJudge):
        return found
    _LOGGER.info(
        "what is listed is read once: %s. pip install perspective-rag-judge brings the larger "
        "judge, which reads it again",
        found,
    )
    return None


def _loaded() -> TwoSidedJudge | str:
    """The judge, or why there is none."""
    try:
        package: Any = importlib.import_module(PACKAGE)
        folder = Path(package.weights())
        onnx_runtime()
    except (ModuleNotFoundError, MissingDependency) as error:
        return str(error)
    if not (folder / "model.onnx").is_file():
        return f"{PACKAGE} holds no model.onnx"
    judge = TwoSidedJudge(folder, name="perspective-rag-judge-larger", stage=STAGE, negate=negate)
    if judge.second_listing.threshold >= 1.0:
        return f"no threshold of {PACKAGE} was found sound"
    return judge


def second_judge_of(judge: Any, llm: Any = None) -> TwoSidedJudge | None:
    """What goes with a wrapper's ``judge``: the larger judge with "default", else None, and None
    where a language model judges (``llm``), which is surer.
    """
    default = isinstance(judge, str) and judge == "default"
    return larger_judge() if default and llm is None else None
