"""Maximal marginal relevance: relevant, and unlike what was picked before."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, unknown_name
from perspective_rag.select.inputs import places
from perspective_rag.types import Selection, Vector
from perspective_rag.validation import between, is_number
from perspective_rag.vectors import as_matrix, as_vector, normalised

FirstPick = Literal["criterion", "relevance"]


def mmr(
    relevance: ArrayLike,
    similarity: ArrayLike,
    k: int,
    *,
    mmr_lambda: float,
    first_pick: FirstPick = "criterion",
) -> Selection:
    """min(k, n) candidates by maximal marginal relevance, in the order picked.

    Each pick maximises w Sim1(i) - (1 - w) max over picked j of Sim2(i, j), with w the
    ``mmr_lambda``; the maximum over nothing is 0, and of equal candidates the lower index
    wins. Carbonell and Goldstein, SIGIR 1998; BERDS, Equation 1. O(k n) beyond the matrix.

    ``relevance`` is Sim1, shape (n,), and ``similarity`` Sim2, shape (n, n), where row j holds the
    similarities to candidate j; higher is more in both, and both are meant to be on one scale (see
    ``scale_relevance``). ``mmr_lambda`` in [0, 1]: 1.0 = relevance alone, lower = more
    diversity. ``first_pick``: "criterion" as in the paper; "relevance" starts with the most
    relevant one, the retriever's first, as the BERDS code does (another pick only where w is 0).
    The scores of the selection are the values of the criterion. Raises ConfigError for NaN,
    infinity, other shapes, an option out of range.
    """
    values = as_vector(relevance, "relevance")
    matrix = as_matrix(similarity, "similarity", columns=values.size)
    if len(matrix) != values.size:
        raise ConfigError(
            f"similarity must have one row for each of {values.size} relevances; "
            f"got shape {matrix.shape}"
        )
    return _picked(values, lambda i: matrix[i], k, mmr_lambda, first_pick)


def mmr_from_embeddings(
    relevance: ArrayLike,
    embeddings: ArrayLike,
    k: int,
    *,
    mmr_lambda: float,
    first_pick: FirstPick = "criterion",
) -> Selection:
    """``mmr`` with Sim2(i, j) = cos(e_i, e_j), in O(k n d) and without the (n, n) matrix.

    ``embeddings`` has shape (n, d); a zero row is similar to nothing (cosine 0). All else as in
    ``mmr``.
    """
    values = as_vector(relevance, "relevance")
    rows = as_matrix(embeddings, "embeddings")
    if len(rows) != values.size:
        raise ConfigError(
            f"embeddings must have one row for each of {values.size} relevances; "
            f"got shape {rows.shape}"
        )
    units = normalised(rows)
    return _picked(
        values, lambda i: np.clip(units @ units[i], -1.0, 1.0), k, mmr_lambda, first_pick
    )


def scale_relevance(relevance: ArrayLike, *, maximum: float | None = None) -> Vector:
    """Relevance divided by a maximum, so that Sim1 is on the scale of Sim2: shape (n,), float64.

    ``maximum``: the highest score over the whole data set, as the paper says (BERDS, Appendix B.6).
    None takes the highest of this list, as its code does; a list without a score above 0 is then
    returned as it is. Raises ConfigError for NaN, infinity, or a maximum that is not above 0.
    """
    values: Vector = as_vector(relevance, "relevance").astype(np.float64)
    if maximum is None:
        highest = float(values.max(initial=0.0))
    elif is_number(maximum) and 0.0 < maximum < math.inf:
        highest = float(maximum)
    else:
        raise ConfigError(f"maximum must be a finite number above 0 or None, got {maximum!r}")
    return values / highest if highest > 0.0 else values


def _picked(
    relevance: Vector,
    similarities_to: Callable[[int], Vector],
    k: int,
    mmr_lambda: float,
    first_pick: FirstPick,
) -> Selection:
    weight = between("mmr_lambda", mmr_lambda)
    check_first_pick(first_pick)
    gain = weight * relevance.astype(np.float64)
    criterion = gain.copy()
    nearest = np.full(relevance.size, -np.inf)
    left = np.ones(relevance.size, dtype=bool)
    indices: list[int] = []
    scores: list[float] = []
    for _ in range(places(k, relevance.size)):
        by = relevance if not indices and first_pick == "relevance" else criterion
        pick = int(np.argmax(np.where(left, by, -np.inf)))
        indices.append(pick)
        scores.append(float(criterion[pick]))
        left[pick] = False
        nearest = np.maximum(nearest, similarities_to(pick))
        criterion = gain - (1.0 - weight) * nearest
    return Selection(tuple(indices), tuple(scores))


def check_first_pick(first_pick: str) -> None:
    """Raises ConfigError for what is not a ``FirstPick``."""
    if first_pick not in get_args(FirstPick):
        raise unknown_name(str(first_pick), get_args(FirstPick), "first_pick")
