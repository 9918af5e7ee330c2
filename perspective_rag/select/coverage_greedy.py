"""Relevance and what a candidate adds to the perspectives covered so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError
from perspective_rag.select.inputs import places, share
from perspective_rag.types import Matrix, Selection, Vector
from perspective_rag.vectors import as_matrix, as_vector

# Probabilities of a float32 softmax may pass 1 by this much.
_ROUNDING = 1e-6


def coverage_greedy(
    relevance: ArrayLike,
    support: ArrayLike,
    k: int,
    *,
    relevance_weight: float = 0.5,
    weights: ArrayLike | None = None,
) -> Selection:
    """min(k, n) candidates in the order picked, each by relevance and by the coverage it adds.

    Each pick maximises w rel_i + (1 - w) sum over p of u_p P_ip prod over picked j of (1 - P_jp),
    with w the ``relevance_weight`` and rel scaled to [0, 1] by its lowest and highest value (all
    equal: 1). That is xQuAD with a perspective for a sub-query: Santos, Macdonald and Ounis,
    "Exploiting Query Reformulations for Web Search Result Diversification", WWW 2010. O(k n m).

    ``relevance`` has shape (n,), higher is better. ``support`` has shape (n, m): P(candidate i
    supports perspective p) in [0, 1]; NaN = not known, which adds nothing and takes nothing away.
    ``relevance_weight`` in [0, 1]: 1.0 = relevance alone, 0.0 = coverage alone. ``weights`` u of
    shape (m,): higher = that perspective matters more; at least 0, scaled to sum to 1 (None: all
    alike). Of equal candidates the lower index wins; the scores of the selection are the values
    above. Raises ConfigError for NaN in relevance, other shapes, probabilities or options out of
    range.
    """
    scaled = _min_max(as_vector(relevance, "relevance").astype(np.float64))
    probabilities = _probabilities(support, scaled.size)
    importance = _importance(weights, probabilities.shape[1])
    weight = share(relevance_weight, "relevance_weight")
    open_share = importance.copy()
    left = np.ones(scaled.size, dtype=bool)
    indices: list[int] = []
    scores: list[float] = []
    for _ in range(places(k, scaled.size)):
        gain = weight * scaled + (1.0 - weight) * (probabilities @ open_share)
        pick = int(np.argmax(np.where(left, gain, -np.inf)))
        indices.append(pick)
        scores.append(float(gain[pick]))
        left[pick] = False
        open_share = open_share * (1.0 - probabilities[pick])
    return Selection(tuple(indices), tuple(scores))


def _min_max(values: Vector) -> Vector:
    if values.size == 0 or values.min() == values.max():
        return np.ones_like(values)
    scaled: Vector = (values - values.min()) / (values.max() - values.min())
    return scaled


def _probabilities(support: ArrayLike, rows: int) -> Matrix:
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


def _importance(weights: ArrayLike | None, columns: int) -> Vector:
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
