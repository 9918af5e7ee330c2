"""What the shown probabilities are worth: order, calibration, and calibration cross-fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import SIDES, PoolQuestion, Verdict, verdict
from benchmarks.sides.reading import OTHER, Outcome
from perspective_rag import Perspective, run
from perspective_rag_train.metrics import auc, expected_calibration_error

BINS = 10
_EDGE = 1e-6

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """A passage and a side of a question: P(support) and what the label says."""

    fold: int
    side: str
    passage: str
    probability: float
    verdict: Verdict


def judged_pairs(bench: PoolBench, on_question: Callable[[], None]) -> list[Pair]:
    """Every passage of every pool with both sides; those that could not be judged are left out."""
    found = []
    for question in bench.pools.questions:
        # Named as the pipeline names texts that it is given.
        perspectives = [
            Perspective(f"p{number}", text)
            for number, text in enumerate(question.statements, start=1)
        ]
        passages = bench.pools.corpus(question).passages
        table = np.asarray(run(bench.judge.judge(perspectives, passages)), dtype=float)
        for passage, row in zip(passages, table, strict=True):
            label = question.labels[passage.id]
            found += [
                Pair(question.fold, side, passage.id, float(value), verdict(label, side))
                for side, value in zip(SIDES, row, strict=True)
                if not np.isnan(value)
            ]
        on_question()
    return found


def shown_pairs(outcomes: Sequence[Outcome], questions: Sequence[PoolQuestion]) -> list[Pair]:
    """The passages that were returned, with each side they were judged for."""
    return [
        Pair(
            question.fold,
            each.side,
            each.passage,
            each.probability,
            verdict(question.labels[each.passage], each.side),
        )
        for outcome, question in zip(outcomes, questions, strict=True)
        for each in outcome.shown
        if each.probability is not None and each.side != OTHER
    ]


def order_figures(pairs: Sequence[Pair]) -> dict[str, float | None]:
    """AUC of P(support): true supports against all else, and against what opposes."""

    def values(*kinds: Verdict) -> Floats:
        return np.array([each.probability for each in pairs if each.verdict in kinds])

    found = {
        "support_against_rest": auc(values("true"), values("opposing", "silent")),
        "support_against_opposing": auc(values("true"), values("opposing")),
    }
    return {name: None if np.isnan(value) else round(value, 4) for name, value in found.items()}


def calibration_figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The bins of a reliability diagram, and the expected calibration error as it is and after a
    logistic calibration that is fitted on the other folds.
    """
    probability = np.array([each.probability for each in pairs], dtype=float)
    true = np.array([each.verdict == "true" for each in pairs], dtype=bool)
    fitted = cross_calibrated(probability, true, np.array([each.fold for each in pairs]))
    return {
        "pairs": len(pairs),
        "share_true": round(float(true.mean()), 4) if len(pairs) else None,
        "bins": bins(probability, true),
        "error": round(expected_calibration_error(probability, true, BINS), 4),
        "error_cross_fitted": round(expected_calibration_error(fitted, true, BINS), 4),
        "bins_cross_fitted": bins(fitted, true),
    }


def bins(probability: Floats, true: NDArray[np.bool_]) -> list[dict[str, float]]:
    """For each tenth of [0, 1] that holds a pair: how many, their mean P and the share true."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    return [
        {
            "count": int((place == each).sum()),
            "shown": round(float(probability[place == each].mean()), 4),
            "true": round(float(true[place == each].mean()), 4),
        }
        for each in range(BINS)
        if (place == each).any()
    ]


def cross_calibrated(
    probability: Floats, true: NDArray[np.bool_], folds: NDArray[np.int_]
) -> Floats:
    """Each P through the logistic curve (Platt scaling) of the pairs in the other folds.

    Where the other folds are all true or all not, P is their share as it is.
    """
    result = np.array(probability)
    odds = _logit(probability)
    for fold in np.unique(folds):
        own = folds == fold
        slope, offset = _logistic(odds[~own], true[~own])
        result[own] = 1.0 / (1.0 + np.exp(-(slope * odds[own] + offset)))
    return result


def _logit(probability: Floats) -> Floats:
    inner = np.clip(probability, _EDGE, 1.0 - _EDGE)
    return np.log(inner / (1.0 - inner))


def _logistic(odds: Floats, true: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of highest likelihood, by Newton's method; Platt's targets keep both finite
    where the classes can be parted.
    """
    if not len(odds):
        return 1.0, 0.0
    positive, negative = int(true.sum()), int((~true).sum())
    target = np.where(true, (positive + 1) / (positive + 2), 1 / (negative + 2))
    design = np.stack([odds, np.ones_like(odds)], axis=1)
    weights = np.zeros(2)
    for _ in range(50):
        fitted = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (fitted - target) + 1e-6 * weights
        curvature = design.T @ (design * (fitted * (1 - fitted))[:, None]) + 1e-6 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - np.clip(step, -5.0, 5.0)
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), float(weights[1])
