"""Rankings fused into one, and the k of n that are chosen: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import zip_longest
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, unknown_name
from perspective_rag.flow.limiter import check_wanted
from perspective_rag.maths.vectors import as_matrix, as_vector, normalised
from perspective_rag.types import Matrix, Selection, Vector
from perspective_rag.validation import between, count, is_number

Id = TypeVar("Id", bound=Hashable)

_ABSENT: Any = object()


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Id]],
    *,
    weights: Sequence[float] | None = None,
    constant: float = 60,
) -> dict[Id, float]:
    """The fused score of every id, best first; ties keep the order of first appearance.

    score(id) = sum over the rankings that hold it of weight / (constant + rank), ranks from 1.
    Cormack, Clarke and Buettcher, SIGIR 2009 (constant 60).

    A ranking that does not hold an id gives it nothing, and one that holds it twice counts its
    first place alone; later ranks close up. ``weights``: one for each ranking, at least 0 and not
    all 0 (None: 1 each); higher: that ranking counts more. ``constant``: at least 0; higher: the
    top ranks stand out less. Raises ConfigError for weights, a constant or rankings that cannot
    be used.
    """
    _check_rankings(rankings)
    shares = _checked_weights(weights, len(rankings))
    if not is_number(constant) or not 0 <= constant < math.inf:
        raise ConfigError(f"constant must be a finite number of at least 0, got {constant!r}")
    votes: dict[Id, list[float]] = {}
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, identity in enumerate(dict.fromkeys(ranking), start=1):
            votes.setdefault(identity, []).append(share / (constant + rank))
    # fsum: ids with the same ranks in other lists tie exactly, whatever the order of the lists.
    scores = {identity: math.fsum(given) for identity, given in votes.items()}
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def round_robin(rankings: Sequence[Sequence[Id]], *, as_published: bool = False) -> list[Id]:
    """All the first places in the order of the rankings, then all the second places, and so on.

    An id that was already taken is skipped, and its ranking waits for the next round. BERDS
    (Section 5): the rankings stand in the order in which their perspectives were generated.

    ``as_published=True`` keeps repeated ids, as the authors' code does; cut the list to 100 for
    their setting. A ranking that has ended is passed over. Raises ConfigError for rankings that
    are text.
    """
    _check_rankings(rankings)
    taken: list[Id] = [
        identity
        for places in zip_longest(*rankings, fillvalue=_ABSENT)
        for identity in places
        if identity is not _ABSENT
    ]
    return taken if as_published else list(dict.fromkeys(taken))


def seats(rankings: Sequence[Sequence[Id]]) -> dict[Id, int]:
    """Each ranking in turn gives its best id that was not taken yet: of every first part of the
    list each has the same share, seats of its own. Ids in this order, each with the place of the
    ranking that gave it.

    Unlike ``round_robin``, a ranking whose next id is already taken gives the one after it: to
    agree with another costs it no place. One that has nothing left is passed over. Raises
    ConfigError for rankings that are text.
    """
    _check_rankings(rankings)
    taken: dict[Id, int] = {}
    waiting = [(place, iter(ranking)) for place, ranking in enumerate(rankings)]
    while waiting:
        for turn in list(waiting):
            place, ranking = turn
            best = next((each for each in ranking if each not in taken), _ABSENT)
            if best is _ABSENT:
                waiting.remove(turn)
            else:
                taken[best] = place
    return taken


def _check_rankings(rankings: Sequence[Sequence[Any]]) -> None:
    for place, ranking in enumerate([rankings, *rankings]):
        if isinstance(ranking, (str, bytes)):
            what = f"ranking {place - 1}" if place else "rankings"
            raise ConfigError(
                f"{what} must be a list of ids, got the text {ranking!r}: wrap it in []"
            )


def _checked_weights(weights: Sequence[float] | None, count: int) -> Sequence[float]:
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise ConfigError(f"weights must hold one number for each of {count} rankings: {weights!r}")
    for weight in weights:
        if not is_number(weight) or not 0 <= weight < math.inf:
            raise ConfigError(f"weights must be finite and at least 0, got {weight!r}")
    if count and not any(weights):
        raise ConfigError("weights are all 0: give at least one ranking a weight above 0")
    return weights


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
