"""The k best of n: by relevance alone, or by relevance and difference (MMR)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, unknown_name
from perspective_rag.flow.request import Request
from perspective_rag.maths.vectors import as_matrix, as_vector, normalised
from perspective_rag.types import Candidate, Matrix, Selection, Vector
from perspective_rag.validation import between, count, is_number


def check_chosen(request: Request, chosen: Sequence[Candidate]) -> list[Candidate]:
    """The chosen candidates: none twice, at most k, each one that was found.

    A step that breaks this is at fault: what it chose too much is left out and recorded.
    """
    keys = request.keys([candidate.passage for candidate in chosen])
    first = dict(zip(reversed(keys), reversed(chosen), strict=True))
    kept = [first.pop(key) for key in keys if key in first and key in request.found]
    kept = kept[: request.options.k]
    if len(kept) < len(chosen):
        problem = "passages chosen twice, never found or beyond k were left out"
        request.recorder.degrade("select", f"{len(chosen) - len(kept)} of {len(chosen)} {problem}")
    return kept


# Probabilities of a float32 softmax may pass 1 by this much.
_ROUNDING = 1e-6


def places(k: int, available: int) -> int:
    """min(k, available); raises ConfigError when ``k`` is not a whole number of at least 1."""
    return min(count("k", k), available)


def min_max(values: Vector) -> Vector:
    """Values scaled to [0, 1] by the lowest and the highest; all equal: 1."""
    if values.size == 0 or values.min() == values.max():
        return np.ones_like(values)
    scaled: Vector = (values - values.min()) / (values.max() - values.min())
    return scaled


def probabilities(support: ArrayLike, rows: int) -> Matrix:
    """``support`` as shape (rows, m), 0 where not known.

    Raises ConfigError for other shapes and for values outside [0, 1].
    """
    try:
        given = np.asarray(support, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"support must be numbers of equal row length: {error}") from error
    known = as_matrix(np.where(np.isnan(given), 0.0, given), "support")
    if len(known) != rows:
        raise ConfigError(
            f"support must have one row for each of {rows} relevances; got shape {known.shape}"
        )
    if known.size and (known.min() < -_ROUNDING or known.max() > 1.0 + _ROUNDING):
        raise ConfigError(
            "support must hold probabilities in [0, 1] or NaN for not known; got values from "
            f"{known.min():g} to {known.max():g}: turn logits into probabilities first"
        )
    return np.clip(known, 0.0, 1.0)


def importance(weights: ArrayLike | None, columns: int) -> Vector:
    """Weights that sum to 1, shape (columns,); None = all alike.

    Raises ConfigError when one is below 0 or none is above.
    """
    if weights is None:
        return np.full(columns, 1.0 / max(columns, 1))
    given: Vector = as_vector(weights, "weights").astype(np.float64)
    if given.size != columns:
        raise ConfigError(
            f"weights must hold one number for each of {columns} perspectives; got {given.size}"
        )
    if columns and (given.min() < 0.0 or given.max() == 0.0):
        raise ConfigError(f"weights must be at least 0 and not all 0; got {given.tolist()}")
    return given / given.sum() if columns else given


def topk(relevance: ArrayLike, k: int) -> Selection:
    """The min(k, n) candidates of highest relevance, best first.

    The i-th pick is the candidate of i-th highest relevance; of equal ones the lower index comes
    first. ``relevance`` has shape (n,), higher is better; the scores of the selection are its
    values. Raises ConfigError for NaN, infinity, another shape, or a ``k`` below 1.
    """
    values = as_vector(relevance, "relevance")
    order = np.argsort(-values, kind="stable")[: places(k, values.size)]
    return Selection(tuple(order.tolist()), tuple(values[order].tolist()))


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
