"""Reranking by stance: of what is relevant to a claim, first what takes the side asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.best_first import judge_best_first
from perspective_rag.protocols import Judge
from perspective_rag.types import Candidate, Perspective, Vector
from perspective_rag.vectors import as_vector


def stance_scores(relevance: ArrayLike, support: ArrayLike) -> Vector:
    """max(0, relevance) P(stance): wanted is what is relevant and takes the side, so both count.

    ``relevance`` has shape (n,), higher is better, in any unit, since a factor common to all
    changes no order. ``support`` (n,) is in [0, 1]; NaN, where the judge gave no answer, counts as
    the mean of the others, so that a passage is neither raised nor lowered for it (1 where none was
    judged: the order of relevance). Raises ConfigError for shapes that differ and values outside.
    """
    near = as_vector(relevance, "relevance")
    sides = np.asarray(support, dtype=np.float64)
    if sides.shape != near.shape:
        raise ConfigError(f"support has shape {sides.shape}, relevance {near.shape}")
    judged = ~np.isnan(sides)
    if np.any((sides[judged] < 0.0) | (sides[judged] > 1.0)):
        raise ConfigError("support holds values outside [0, 1]")
    unknown = float(sides[judged].mean()) if judged.any() else 1.0
    scores: Vector = np.maximum(near, 0.0) * np.where(judged, sides, unknown)
    return scores


def rerank_by_stance(
    judge: Judge, asked: Perspective, candidates: Sequence[Candidate], *, limit: int
) -> Flow[list[Candidate]]:
    """The first ``limit`` candidates by ``stance_scores``; the others follow in their order.

    The judge is asked in batches, and the pairs are counted in the trace. What it could not judge
    is recorded and keeps the place that its relevance gives it; when it fails throughout, the order
    is the old one. Relevance is the best score of the searches, or 1 / log2(1 + place) where scores
    are missing or not above 0. ``scores`` gains ``stance``.
    """
    head = yield from judge_best_first(
        judge, [asked], candidates[:limit], k=limit, limit=limit, rule=None
    )
    support = [c.support.get(asked.id, math.nan) for c in head]
    if all(math.isnan(value) for value in support):
        return list(candidates)
    values = stance_scores(_relevance(head), support)
    order = np.argsort(-values, kind="stable")
    best = [
        replace(
            head[i], score=float(values[i]), scores={**head[i].scores, "stance": float(values[i])}
        )
        for i in order
    ]
    return [*best, *candidates[limit:]]


def _relevance(candidates: Sequence[Candidate]) -> Vector:
    found = [
        max(
            (v for name, v in c.scores.items() if name == "relevance" or name[:7] == "search:"),
            default=0.0,
        )
        for c in candidates
    ]
    if min(found, default=0.0) > 0.0:
        return np.array(found)
    places: Vector = 1.0 / np.log2(np.arange(2, len(candidates) + 2))
    return places
