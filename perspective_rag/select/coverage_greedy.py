"""Relevance and what a candidate adds to the perspectives covered so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.select.inputs import (
    importance,
    min_max,
    places,
    probabilities,
)
from perspective_rag.types import Selection
from perspective_rag.validation import between
from perspective_rag.vectors import as_vector


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
    scaled = min_max(as_vector(relevance, "relevance").astype(np.float64))
    supports = probabilities(support, scaled.size)
    open_share = importance(weights, supports.shape[1])
    weight = between("relevance_weight", relevance_weight)
    left = np.ones(scaled.size, dtype=bool)
    indices: list[int] = []
    scores: list[float] = []
    for _ in range(places(k, scaled.size)):
        gain = weight * scaled + (1.0 - weight) * (supports @ open_share)
        pick = int(np.argmax(np.where(left, gain, -np.inf)))
        indices.append(pick)
        scores.append(float(gain[pick]))
        left[pick] = False
        open_share = open_share * (1.0 - supports[pick])
    return Selection(tuple(indices), tuple(scores))
