"""Candidates are judged best first, until every perspective is covered or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perspective_rag.errors import JudgeError
from perspective_rag.flow import Flow, degrade
from perspective_rag.protocols import Judge
from perspective_rag.types import Candidate, Matrix, Perspective

BATCH = 8


def judge_best_first(
    judge: Judge,
    perspectives: Sequence[Perspective],
    candidates: Sequence[Candidate],
    *,
    k: int,
    limit: int,
    threshold: float,
) -> Flow[list[Candidate]]:
    """The candidates, in their order, with ``support`` filled for those that were judged.

    Judges at most ``limit`` that have not been judged yet, in batches, and stops once at least
    ``k`` are judged and among them every perspective has k / m passages (m perspectives, rounded
    up; more where its share is larger) that reach ``threshold``. A batch that fails is recorded and
    stays unjudged; two batches in a row without a verdict end it.
    """
    result = list(candidates)
    waiting = [i for i, c in enumerate(result) if not c.support][:limit]
    failures = 0
    while waiting and failures < 2 and not _enough(result, perspectives, k, threshold):
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        try:
            matrix = yield from judge.judge(perspectives, [result[i].passage for i in batch])
            rows = in_range(matrix, (len(batch), len(perspectives)), judge.name)
            failures = failures + 1 if np.isnan(rows).all() else 0
        except Exception as error:
            failures += 1
            problem = (
                error
                if isinstance(error, JudgeError)
                else JudgeError(f"judge {judge.name!r}: {error}")
            )
            problem.__cause__ = error if problem is not error else error.__cause__
            yield from degrade(
                "judge", f"{len(batch)} passages could not be judged: {error!r}", problem
            )
            continue
        for i, row in zip(batch, rows, strict=True):
            support = {
                p.id: float(v) for p, v in zip(perspectives, row, strict=True) if not math.isnan(v)
            }
            result[i] = replace(result[i], support={**result[i].support, **support})
    return result


def support_matrix(candidates: Sequence[Candidate], perspectives: Sequence[Perspective]) -> Matrix:
    """The candidates' support as shape (n_candidates, n_perspectives), NaN where not judged."""
    rows = [[c.support.get(p.id, math.nan) for p in perspectives] for c in candidates]
    return np.array(rows, dtype=float).reshape(len(candidates), len(perspectives))


def in_range(values: Any, shape: tuple[int, ...], name: str) -> Matrix:
    """The values as floats of that shape; raises JudgeError for another shape and for values
    outside [0, 1].
    """
    support = np.asarray(values, dtype=float)
    if support.shape != shape:
        raise JudgeError(f"judge {name!r} returned shape {support.shape}, expected {shape}")
    if np.any((support < 0) | (support > 1)):  # False for NaN
        raise JudgeError(f"judge {name!r} returned values outside [0, 1]")
    return support


def _enough(
    candidates: Sequence[Candidate], perspectives: Sequence[Perspective], k: int, threshold: float
) -> bool:
    support = support_matrix(candidates, perspectives)
    judged = int((~np.isnan(support)).any(axis=1).sum())
    even = math.ceil(k / max(len(perspectives), 1))
    each = np.maximum(even, places_due(perspectives, k))
    return judged >= k and bool(((support >= threshold).sum(axis=0) >= each).all())


def places_due(perspectives: Sequence[Perspective], k: int) -> list[int]:
    """How many of k passages should support each perspective: ceil(share k), at least 1."""
    # Without the subtraction, 0.3 of 10 would be 4 places.
    return [max(1, math.ceil(each.share * k - 1e-9)) for each in perspectives]
