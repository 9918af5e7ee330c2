"""Figures of each way to use a judge, and the weights and thresholds they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import OnnxMiniLM, Passage
from perspective_rag.addons import JudgeSettings, json_lines
from perspective_rag_train.metrics import Floats
from perspective_rag_train.pools import Pool, Readings, cross_fitted, one_sided, report

ALONE, TWO, RELEVANT = "one statement", "both statements", "both statements and relevance"


def measure(readings: Readings, settings: JudgeSettings) -> dict[str, Any]:
    """Figures of each way to use the judge, cross-fitted, and the weights fitted on all folds."""
    views: dict[str, Floats] = {
        ALONE: one_sided(readings, settings.temperature, settings.neutral_bias)
    }
    weights = {}
    views[TWO], weights[TWO] = cross_fitted(readings, cosine=False)
    if readings.cosine is not None:
        views[RELEVANT], weights[RELEVANT] = cross_fitted(readings, cosine=True)
    return {
        "questions": len(np.unique(readings.question)),
        "labels": len(readings.labels),
        "views": report(readings, views),
        "two_sides": {name: each.stored() for name, each in weights.items()},
    }


class Cosines:
    """Cosine of each passage, read with its title, and the question, by the packaged encoder."""

    def __init__(self, data: Path, threads: int | None) -> None:
        self._encoder = OnnxMiniLM(threads=threads)
        self._titled = {
            row["text"]: Passage("", row["text"], {"title": row.get("title")}).titled
            for _, row in json_lines(data)
            if row["kind"] == "doc"
        }

    def __call__(self, pool: Pool) -> Floats:
        texts = [self._titled[text] for text, _ in pool.passages]
        question = self._encoder.embed_queries([pool.question])[0]
        return np.asarray(self._encoder.embed_passages(texts) @ question, dtype=np.float64)
