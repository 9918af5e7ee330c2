"""Which perspectives a set of passages covers, and how to cover one more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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


def swap_in(
    chosen: Sequence[int], support: Matrix, threshold: float, due: Sequence[int] | None = None
) -> list[int]:
    """The choice after swaps for each perspective with fewer passages than it is due, while another
    candidate supports it.

    ``chosen`` are rows of ``support`` (n, m), most useful first; ``due`` are counts for the m
    columns (None: 1 each). The best supported candidate takes the place of the last chosen one
    whose loss leaves no perspective short. When every chosen one is needed (more due than places)
    the choice is left as it is.
    """
    result = list(chosen)
    reaches = support >= threshold
    wanted = np.ones(support.shape[1], dtype=int) if due is None else np.asarray(due)
    for column in np.argsort(reaches[result].sum(axis=0) - wanted, kind="stable").tolist():
        others = [i for i in np.flatnonzero(reaches[:, column]).tolist() if i not in result]
        others.sort(key=lambda i: -support[i, column])
        short = int(wanted[column] - reaches[result, column].sum())
        for best in others[: max(short, 0)]:
            place = _least_useful(reaches[result], wanted)
            if place is None:
                break
            result[place] = best
    return result


def _least_useful(covers: NDArray[np.bool_], wanted: NDArray[np.int_]) -> int | None:
    needed = covers.sum(axis=0) <= wanted
    for place in reversed(range(len(covers))):
        if not (covers[place] & needed).any():
            return place
    return None
