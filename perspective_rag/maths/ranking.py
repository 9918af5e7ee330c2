"""Rankings fused into one, and the k of n that are chosen: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, between, count
from perspective_rag.maths.vectors import as_matrix, as_vector, normalised
from perspective_rag.types import Matrix, Selection, Vector

Id = TypeVar("Id", bound=Hashable)

_ABSENT: Any = object()


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Id]], *, weights: Sequence[float] | None = None
) -> dict[Id, float]:
    """The fused score of every id, best first; ties keep the order of first appearance.

    score(id) = sum over the rankings that hold it of weight / (60 + rank), ranks from 1.
    Cormack, Clarke and Buettcher, SIGIR 2009.

    A ranking that does not hold an id gives it nothing, and one that holds it twice counts its
    first place alone; later ranks close up. ``weights``: one for each ranking, at least 0 (None: 1
    each); higher: that ranking counts more.
    """
    votes: dict[Id, list[float]] = {}
    shares = [1.0] * len(rankings) if weights is None else weights
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, identity in enumerate(dict.fromkeys(ranking), start=1):
            votes.setdefault(identity, []).append(share / (60 + rank))
    # fsum: ids with the same ranks in other lists tie exactly, whatever the order of the lists.
    scores = {identity: math.fsum(given) for identity, given in votes.items()}
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def round_robin(rankings: Sequence[Sequence[Id]]) -> list[Id]:
    """All the first places in the order of the rankings, then all the second places, and so on.

    An id that was already taken is skipped, and its ranking waits for the next round; one that has
    ended is passed over (BERDS, section 5).
    """
    turns = zip_longest(*rankings, fillvalue=_ABSENT)
    return list(dict.fromkeys(each for turn in turns for each in turn if each is not _ABSENT))


def seats(rankings: Sequence[Sequence[Id]]) -> dict[Id, int]:
    """Each ranking in turn gives its best id that was not taken yet: of every first part of the
    list each has the same share, seats of its own. Ids in this order, each with the place of the
    ranking that gave it.

    Unlike ``round_robin``, a ranking whose next id is already taken gives the one after it: to
    agree with another costs it no place. One that has nothing left is passed over.
    """
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


def topk(relevance: ArrayLike, k: int) -> Selection:
    """The min(k, n) candidates of highest relevance, best first; ties go to the lower index.

    ``relevance`` has shape (n,), higher is better; the scores of the selection are its values.
    Raises ConfigError for NaN, infinity, another shape, or a ``k`` below 1.
    """
    values = as_vector(relevance, "relevance")
    order = np.argsort(-values, kind="stable")[: places(k, values.size)]
    return Selection(tuple(order.tolist()), tuple(values[order].tolist()))


def mmr(
    relevance: ArrayLike,
    embeddings: ArrayLike,
    k: int,
    *,
    mmr_lambda: float,
    first_pick: Literal["criterion", "relevance"] = "criterion",
) -> Selection:
    """min(k, n) candidates by maximal marginal relevance, in the order picked.

    Each pick maximises w Sim1(i) - (1 - w) max over picked j of cos(e_i, e_j), with w the
    ``mmr_lambda``; the maximum over nothing is 0, and of equal candidates the lower index
    wins. Carbonell and Goldstein, SIGIR 1998; BERDS, Equation 1. O(k n d), no (n, n) matrix.

    ``relevance`` is Sim1, shape (n,), higher is better, meant to be on the scale of cosines (see
    ``scale_relevance``); ``embeddings`` has shape (n, d), and a zero row is similar to nothing.
    ``mmr_lambda`` in [0, 1]: 1.0 = relevance alone, lower = more diversity. ``first_pick``:
    "criterion" as in the paper; "relevance" starts with the most relevant one, as the BERDS code
    does. The scores of the selection are the values of the criterion. Raises ConfigError for NaN,
    infinity, other shapes, an option out of range.
    """
    values = as_vector(relevance, "relevance")
    rows = as_matrix(embeddings, "embeddings")
    if len(rows) != values.size:
        raise ConfigError(
            f"embeddings must have one row for each of {values.size} relevances; "
            f"got shape {rows.shape}"
        )
    units = normalised(rows)
    weight = between("mmr_lambda", mmr_lambda)
    gain = weight * values.astype(np.float64)
    criterion = gain.copy()
    nearest = np.full(values.size, -np.inf)
    left = np.ones(values.size, dtype=bool)
    indices: list[int] = []
    scores: list[float] = []
    for _ in range(places(k, values.size)):
        by = values if not indices and first_pick == "relevance" else criterion
        pick = int(np.argmax(np.where(left, by, -np.inf)))
        indices.append(pick)
        scores.append(float(criterion[pick]))
        left[pick] = False
        nearest = np.maximum(nearest, np.clip(units @ units[pick], -1.0, 1.0))
        criterion = gain - (1.0 - weight) * nearest
    return Selection(tuple(indices), tuple(scores))


def scale_relevance(relevance: ArrayLike) -> Vector:
    """Relevance divided by its highest value, so that it is on the scale of cosines, as the BERDS
    code does: shape (n,), float64. A list without a score above 0 is returned as it is.
    """
    values: Vector = as_vector(relevance, "relevance").astype(np.float64)
    highest = float(values.max(initial=0.0))
    return values / highest if highest > 0.0 else values


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
    supports = _probabilities(support, scaled.size)
    open_share = _importance(weights, supports.shape[1])
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
_LEAST_GAIN = 1e-9


class CoverageValue:
    """What a set of k candidates is worth: w mean(rel_i) + (1 - w) prod over p of D_p(S) ** e_p.

    D_p = (C_p + 0.1) / 1.1, where C_p(S) = 1 - prod over i in S of (1 - P_ip) is the probability
    that S covers p, w is the ``relevance_weight`` and rel is scaled to [0, 1] by its lowest and
    highest value. With two perspectives e_p is 1 and the product is, but for the smoothing, the
    probability by independent judgements that the set covers both: MRecall@k (BERDS section 3) in
    expectation. A sum over perspectives (xQuAD, see ``coverage_greedy``) pays for a second passage
    of the side that is easy to find; the product does not. With m perspectives of weight u_p,
    e_p = u_p min(m, 2): at most 2 in all, so that one that nothing supports does not drown the
    others.

    ``relevance`` has shape (n,), ``support`` shape (n, m) in [0, 1], NaN = not known, which covers
    nothing; ``weights`` as in ``coverage_greedy``.
    """

    def __init__(
        self,
        relevance: ArrayLike,
        support: ArrayLike,
        k: int,
        *,
        relevance_weight: float,
        weights: ArrayLike | None = None,
    ) -> None:
        scaled = _min_max(as_vector(relevance, "relevance").astype(np.float64))
        supports = _probabilities(support, scaled.size)
        self.count = places(k, scaled.size)
        weight = between("relevance_weight", relevance_weight)
        self._relevance, self._share = weight * scaled / max(self.count, 1), 1.0 - weight
        self._missing = np.log1p(-np.minimum(supports, _CERTAIN))
        columns = supports.shape[1]
        self._exponents = _importance(weights, columns) * min(columns, 2)

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

    One candidate at a time takes the place of another as long as that improves the
    ``CoverageValue``, the best exchange first: relevance against the probability that the set
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
    value = CoverageValue(relevance, support, k, relevance_weight=relevance_weight, weights=weights)
    kept = [int(i) for i in order[: value.count] if np.isfinite(ranks[i])]
    members = list(kept)
    while len(members) < value.count:
        members.append(int(np.argmax(value.with_each(members))))
    near = [frozenset[int]()] * ranks.size if overlaps is None else overlaps
    limit = max(1, value.count // 2)
    for _ in range(2 * value.count):
        exchanged = _best_exchange(value, members, frozenset(kept), limit, near)
        if exchanged is None:
            break
        members = exchanged
    return by_coverage(members, relevance, support, relevance_weight, weights)


def by_coverage(
    members: Sequence[int],
    relevance: Vector,
    support: ArrayLike,
    relevance_weight: float,
    weights: ArrayLike | None,
) -> Selection:
    """The members in the order, and with the scores, of ``coverage_greedy`` among them: the sides
    alternate and scores never rise.
    """
    own = np.asarray(members, dtype=int)
    rows = np.asarray(support)[own]
    ordered = coverage_greedy(
        relevance[own], rows, max(len(own), 1), relevance_weight=relevance_weight, weights=weights
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


def places(k: int, available: int) -> int:
    """min(k, available); raises ConfigError when ``k`` is no integer of at least 1."""
    return min(count("k", k), available)


def _min_max(values: Vector) -> Vector:
    """Values scaled to [0, 1] by the lowest and the highest; all equal: 1."""
    if values.size == 0 or values.min() == values.max():
        return np.ones_like(values)
    scaled: Vector = (values - values.min()) / (values.max() - values.min())
    return scaled


# Probabilities of a float32 softmax may pass 1 by this much.
_ROUNDING = 1e-6


def _probabilities(support: ArrayLike, rows: int) -> Matrix:
    """``support`` as shape (rows, m), 0 where not known; raises ConfigError for anything else."""
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
    """Weights that sum to 1, shape (columns,); None = all alike. Raises ConfigError when one is
    below 0 or none is above.
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
