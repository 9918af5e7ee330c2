"""Which perspectives a set of passages covers, and how to cover one more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perspective_rag.judging import support_matrix
from perspective_rag.types import Candidate, Coverage, Matrix, Perspective


def coverage_of(
    candidates: Sequence[Candidate], perspectives: Sequence[Perspective], threshold: float
) -> Coverage:
    """The coverage of candidates as they were judged."""
    return Coverage(tuple(perspectives), support_matrix(candidates, perspectives), threshold)


def uncovered(support: Matrix, chosen: Sequence[int], threshold: float) -> list[int]:
    """Columns of ``support`` (n, m) that no chosen row reaches; NaN reaches nothing."""
    reached = (support[list(chosen)] >= threshold).any(axis=0)
    return [int(column) for column in np.flatnonzero(~reached)]


def swap_in(chosen: Sequence[int], support: Matrix, threshold: float) -> list[int]:
    """The choice after one swap for each perspective it misses and another candidate supports.

    ``chosen`` are rows of ``support`` (n, m), most useful first. For each uncovered perspective the
    best supported candidate takes the place of the last chosen one whose loss uncovers nothing.
    When every chosen one is needed (more perspectives than places) the choice is left as it is.
    """
    result = list(chosen)
    for column in uncovered(support, result, threshold):
        if (support[result, column] >= threshold).any():
            continue  # an earlier swap covered it
        others = [
            i for i in range(len(support)) if i not in result and support[i, column] >= threshold
        ]
        if not others:
            continue
        best = max(others, key=lambda i: support[i, column])
        place = _least_useful(result, support, threshold)
        if place is not None:
            result[place] = best
    return result


def _least_useful(chosen: Sequence[int], support: Matrix, threshold: float) -> int | None:
    covers = support[list(chosen)] >= threshold
    counts = covers.sum(axis=0)
    for place in reversed(range(len(chosen))):
        if not (covers[place] & (counts == 1)).any():
            return place
    return None
