"""How a choice is repaired: each perspective gets its quota while another candidate supports it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perspective_rag.types import Matrix


def repair(
    chosen: Sequence[int],
    listed: NDArray[np.bool_],
    support: Matrix,
    quotas: Sequence[int] | None = None,
) -> list[int]:
    """The choice after candidates were swapped until each perspective meets its quota.

    ``chosen`` are rows of ``listed`` and ``support`` (n, m), most useful first: which candidate is
    listed under which perspective, and P(support). ``quotas`` are counts for the m columns (None: 1
    each). The listed candidate with the best support takes the place of the last chosen one
    whose loss leaves no perspective short. When every chosen one is needed (quotas above the number
    of places) the choice is left as it is.
    """
    result = list(chosen)
    reaches = np.asarray(listed, dtype=bool)
    wanted = np.ones(support.shape[1], dtype=int) if quotas is None else np.asarray(quotas)
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
