"""The k of n that cover the perspectives best: greedily, jointly, or from the plain ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.flow.limiter import check_wanted
from perspective_rag.maths.mmr import importance, min_max, places, probabilities
from perspective_rag.maths.vectors import as_vector
from perspective_rag.types import Matrix, Selection, Vector
from perspective_rag.validation import between


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


# Added to each C_p: where nothing supports one perspective, the others still matter.
_HOPE = 0.1
_CERTAIN = 1.0 - 1e-12
_ROUNDS = 20
# Sets that grow side by side: one alone ends too often in a poor local best.
_BEAM = 4


def joint_coverage(
    relevance: ArrayLike,
    support: ArrayLike,
    k: int,
    *,
    relevance_weight: float = 0.2,
    weights: ArrayLike | None = None,
) -> Selection:
    """min(k, n) candidates chosen together, so that all perspectives are covered.

    The set S maximises w mean over S of rel_i + (1 - w) prod over p of D_p(S) ** e_p, where
    D_p = (C_p + 0.1) / 1.1 and C_p(S) = 1 - prod over i in S of (1 - P_ip) is the probability that
    S covers p, w is the ``relevance_weight`` and rel is scaled to [0, 1] by its lowest and highest
    value. With two perspectives e_p is 1 and the product is, but for the smoothing, the probability
    by independent judgements that the set covers both: MRecall@k (BERDS section 3) in expectation.
    A sum over perspectives (xQuAD, see ``coverage_greedy``) pays for a second passage of the side
    that is easy to find; the product does not. With m perspectives of weight u_p,
    e_p = u_p min(m, 2): at most 2 in all, so that one that nothing supports does not drown the
    others.

    Found by growing the best four sets side by side and then exchanging one candidate at a time as
    long as that improves a set: O(rounds k n m). The chosen are put in the order, and have the
    scores, of ``coverage_greedy`` among them: the sides alternate and scores never rise.

    ``relevance`` has shape (n,), ``support`` shape (n, m): P(candidate i supports perspective p) in
    [0, 1]; NaN = not known, which covers nothing. ``relevance_weight`` in [0, 1]: higher = more
    relevance, less coverage. ``weights`` of shape (m,): higher = that perspective matters more.
    Raises ConfigError for NaN in relevance, other shapes, probabilities or options out of range.
    """
    given = as_vector(relevance, "relevance").astype(np.float64)
    supports = probabilities(support, given.size)
    weight = between("relevance_weight", relevance_weight)
    count = places(k, given.size)
    value = CoverageValue.for_sets(given, supports, count, weight, weights)
    found = [_exchanged(value, members) for members in _beam(value, count)]
    chosen = max(found, key=value.of)
    order = coverage_greedy(
        given[chosen], supports[chosen], k, relevance_weight=weight, weights=weights
    )
    return Selection(tuple(chosen[i] for i in order.indices), order.scores)


class CoverageValue:
    """What a set is worth; ``missing`` holds log(1 - P_ip), shape (n, m)."""

    def __init__(self, relevance: Vector, share: float, missing: Matrix, exponents: Vector) -> None:
        self._relevance, self._share = relevance, share
        self._missing, self._exponents = missing, exponents
        self.size = len(relevance)

    @classmethod
    def for_sets(
        cls,
        relevance: Vector,
        supports: Matrix,
        count: int,
        weight: float,
        weights: ArrayLike | None,
    ) -> CoverageValue:
        """The value of sets of ``count``: ``weight`` is that of relevance, ``weights`` those of the
        perspectives.
        """
        columns = supports.shape[1]
        return cls(
            weight * min_max(relevance) / max(count, 1),
            1.0 - weight,
            np.log1p(-np.minimum(supports, _CERTAIN)),
            importance(weights, columns) * min(columns, 2),
        )

    def of(self, members: list[int]) -> float:
        """The value of ``members``."""
        return float(self.with_each(members[:-1])[members[-1]]) if members else 0.0

    def with_each(self, members: list[int]) -> Vector:
        """The value of ``members`` and one candidate more, for each candidate, shape (n,)."""
        missing = self._missing[members].sum(axis=0) + self._missing
        covered = (1.0 - np.exp(missing) + _HOPE) / (1.0 + _HOPE)
        values: Vector = (
            self._share * np.prod(covered**self._exponents, axis=1)
            + self._relevance[members].sum()
            + self._relevance
        )
        values[members] = -np.inf
        return values


def _beam(value: CoverageValue, count: int) -> list[list[int]]:
    """The best sets grown one candidate at a time, at most ``_BEAM`` of them."""
    sets: list[list[int]] = [[]]
    for size in range(1, count + 1):
        check_wanted()
        values = np.array([value.with_each(members) for members in sets])
        # A set of this size is reached in at most ``size`` orders.
        best = np.argsort(-values, axis=None, kind="stable")[: _BEAM * size]
        grown: dict[frozenset[int], list[int]] = {}
        for row, added in zip(*np.unravel_index(best, values.shape), strict=True):
            if added not in sets[row]:
                members = [*sets[row], int(added)]
                grown.setdefault(frozenset(members), members)
        sets = list(grown.values())[:_BEAM]
    return sets


def _exchanged(value: CoverageValue, members: list[int]) -> list[int]:
    """The set after the best exchange of each place in turn, until none improves it."""
    for _ in range(_ROUNDS):
        changed = False
        for place, member in enumerate(members):
            check_wanted()
            others = members[:place] + members[place + 1 :]
            values = value.with_each(others)
            best = int(np.argmax(values))
            if values[best] > values[member] + 1e-9:
                members = [*members[:place], best, *members[place + 1 :]]
                changed = True
        if not changed:
            break
    return members


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
