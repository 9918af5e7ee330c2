"""The plain ranking's first passages, exchanged where the judged gain is real."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.select.coverage_greedy import coverage_greedy
from perspective_rag.select.inputs import places, probabilities
from perspective_rag.select.joint_coverage import CoverageValue
from perspective_rag.types import Selection, Vector
from perspective_rag.validation import between
from perspective_rag.vectors import as_vector

_LEAST_GAIN = 1e-9


def plain_first(
    support: ArrayLike,
    k: int,
    *,
    plain: ArrayLike,
    relevance_weight: float = 0.1,
    weights: ArrayLike | None = None,
    overlaps: Sequence[frozenset[int]] | None = None,
) -> Selection:
    """min(k, n) candidates: the first k of the plain ranking, of which at most half (at least one)
    give their places to others.

    One candidate at a time takes the place of another as long as that improves the value of
    ``joint_coverage``, the best exchange first: relevance against the probability that the set
    covers every perspective, by the judge's calibrated P(support). A judge errs on all passages of
    a question in the same way more often than one by one, so that the probability of a set is
    surer the less of it rests on the judge alone: hence the limit, and hence plain results where
    no verdict tells. The relevance of a candidate is 1 / log2(1 + its place), the plain ranking
    first. What shares a good part of its text with another of the set (``overlaps``: for each
    candidate the others) takes nobody's place. O(k^2 n m) for each exchange, of which there are at
    most 2 k. The chosen are put in the order, and have the scores, of ``coverage_greedy`` among
    them.

    ``support`` has shape (n, m): P(candidate i supports perspective p) in [0, 1], NaN = not known,
    which covers nothing. ``plain`` (n,): the places in the plain ranking, from 1 on, infinite for
    what it lacks; where it has fewer than k, the candidates of most value fill the set. Of equal
    places the lower index comes first. ``relevance_weight`` in [0, 1]: 1.0 = the plain ranking.
    ``weights`` of shape (m,): higher = that perspective matters more. Raises ConfigError for other
    shapes, probabilities or options out of range.
    """
    ranks = np.asarray(plain, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    relevance: Vector = np.empty(ranks.size)
    relevance[order] = 1.0 / np.log2(np.arange(2, ranks.size + 2))
    as_vector(relevance, "plain")
    supports = probabilities(support, ranks.size)
    count = places(k, ranks.size)
    weight = between("relevance_weight", relevance_weight)
    value = CoverageValue.for_sets(relevance, supports, count, weight, weights)
    kept = [int(i) for i in order[:count] if np.isfinite(ranks[i])]
    members = list(kept)
    while len(members) < count:
        members.append(int(np.argmax(value.with_each(members))))
    near = [frozenset[int]()] * ranks.size if overlaps is None else overlaps
    limit = max(1, count // 2)
    for _ in range(2 * count):
        exchanged = _best_exchange(value, members, frozenset(kept), limit, near)
        if exchanged is None:
            break
        members = exchanged
    ordered = coverage_greedy(
        relevance[members], supports[members], k, relevance_weight=weight, weights=weights
    )
    return Selection(tuple(members[i] for i in ordered.indices), ordered.scores)


def _best_exchange(
    value: CoverageValue,
    members: list[int],
    kept: frozenset[int],
    limit: int,
    overlaps: Sequence[frozenset[int]],
) -> list[int] | None:
    """The set after the best exchange of one member; None where none improves it."""
    gone = len(kept.difference(members))
    best, result = _LEAST_GAIN, None
    for place, member in enumerate(members):
        others = members[:place] + members[place + 1 :]
        gains = value.with_each(others)
        gains = gains - gains[member]
        if member in kept and gone >= limit:
            gains[[i for i in range(len(gains)) if i not in kept]] = -np.inf
        for each in others:
            gains[list(overlaps[each])] = -np.inf
        added = int(np.argmax(gains))
        if gains[added] > best:
            best, result = float(gains[added]), [*members[:place], added, *members[place + 1 :]]
    return result
