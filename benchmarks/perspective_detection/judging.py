"""Asking any judge about pairs, and which judge that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import CrossEncoderJudge, Passage, Perspective, run
from perspective_rag.addons import Recorder
from perspective_rag.extend import Judge, Vector
from perspective_rag.judge.pairs import judge_pairs


@dataclass(frozen=True, slots=True)
class Verdicts:
    """P(support) and P(oppose) of pairs, each of shape (n,); oppose is NaN where a judge knows only
    support. ``failed`` counts the pairs without a verdict (NaN).
    """

    support: Vector
    oppose: Vector

    @property
    def failed(self) -> int:
        return int(np.isnan(self.support).sum())

    @property
    def side(self) -> Vector:
        """P(support) - P(oppose), or P(support) alone."""
        return self.support - np.nan_to_num(self.oppose)


def verdicts(judge: Judge, texts: Sequence[str], statements: Sequence[str]) -> Verdicts:
    """What the judge says of texts[i] towards statements[i]."""
    if isinstance(judge, CrossEncoderJudge):
        found = judge.pair_probabilities(texts, statements)
        return Verdicts(found["support"], found["oppose"])
    perspectives = [Perspective(str(i), text) for i, text in enumerate(statements)]
    passages = [Passage(str(i), text) for i, text in enumerate(texts)]
    support = run(judge_pairs(judge, perspectives, passages), Recorder())
    return Verdicts(support, np.full(len(texts), np.nan))


def facts(folder: Path | None) -> dict[str, Any]:
    """A judge's parameters and its threshold of best F1 on development pairs, where it states
    them.
    """
    path = folder / "judge.json" if folder else None
    if path is None or not path.is_file():
        return {"parameters": None, "best_f1_threshold": None}
    provenance = json.loads(path.read_text(encoding="utf-8")).get("provenance", {})
    parameters = provenance.get("parameters") or _counted(path.parent / "model.onnx")
    return {
        "parameters": parameters,
        "best_f1_threshold": provenance.get("thresholds", {}).get("best F1"),
    }


def _counted(model: Path) -> int | None:
    """The numbers in an ONNX file's weights, without those that only scale them; None without the
    package onnx.
    """
    try:
        import onnx
    except ImportError:
        return None
    if not model.is_file():
        return None
    total = 0
    for weight in onnx.load(str(model)).graph.initializer:
        if weight.dims and not weight.name.endswith(("_scale", "_zero_point")):
            total += int(np.prod(weight.dims))
    return total
