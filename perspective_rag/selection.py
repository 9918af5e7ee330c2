"""The choice of k passages from ordered, judged candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.coverage import swap_in
from perspective_rag.judging import places_due, support_matrix
from perspective_rag.options import PipelineOptions
from perspective_rag.select.joint_coverage import joint_coverage
from perspective_rag.types import Candidate, Perspective


def select(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    options: PipelineOptions,
    *,
    threshold: float,
) -> list[Candidate]:
    """min(k, n) of n candidates, best first.

    Without perspectives: the first k. With perspectives: the set that is best by relevance (their
    place in the order) and by the probability that it covers every perspective, ``coverage_weight``
    apart; then what supports a perspective that has fewer places than it is due is swapped in.
    """
    if not perspectives or not candidates:
        return list(candidates[: options.k])
    support = support_matrix(candidates, perspectives)
    relevance = 1.0 / np.log2(np.arange(2, len(candidates) + 2))
    picked = joint_coverage(
        relevance,
        support,
        options.k,
        relevance_weight=1.0 - options.coverage_weight,
        weights=[perspective.weight for perspective in perspectives],
    )
    due = places_due(perspectives, options.k)
    chosen = swap_in(picked.indices, support, threshold, due)
    # One that was swapped in stands on the value of the place it took, so that scores never rise.
    return [
        replace(candidates[i], score=value, scores={**candidates[i].scores, "selected": value})
        for i, value in zip(chosen, picked.scores, strict=True)
    ]
