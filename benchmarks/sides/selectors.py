"""Other ways to choose k of n, to compare the default with: each a ``Selector``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag import ConfigError
from perspective_rag.cover.select import repair
from perspective_rag.extend import Choice, Matrix, Selection, Vector
from perspective_rag.maths.ranking import (
    CoverageValue,
    by_coverage,
    coverage_greedy,
    mmr,
    scale_relevance,
)

_ROUNDS = 20
# Sets that grow side by side: one alone ends too often in a poor local best.
_BEAM = 4


@dataclass(frozen=True, slots=True)
class TopK:
    """The first k of plain search with the question, whatever a judge says."""

    def select(self, choice: Choice, k: int) -> Selection:
        """min(k, n) candidates, with 1 / place as score."""
        order = choice.plain_order()[:k]
        return Selection(tuple(order), tuple(1.0 / place for place in range(1, len(order) + 1)))


@dataclass(frozen=True, slots=True)
class MMR:
    """Relevant, and unlike what was chosen before, by the cosines to the question and between the
    candidates (Carbonell and Goldstein, SIGIR 1998; BERDS, Equation 1). ``mmr_lambda`` in [0, 1]:
    1.0 = relevance alone. Raises ConfigError where a vector or cosine is not known.
    """

    mmr_lambda: float = 0.5

    def select(self, choice: Choice, k: int) -> Selection:
        """min(k, n) candidates, in the order picked."""
        if choice.embeddings is None:
            raise ConfigError("this selector needs vectors of the candidates")
        relevance = scale_relevance(_known(choice.cosines))
        return mmr(relevance, choice.embeddings, k, mmr_lambda=self.mmr_lambda)


@dataclass(frozen=True, slots=True)
class GreedyCoverage:
    """xQuAD with a judge's P(support); ``relevance_weight`` in [0, 1], higher = less coverage."""

    relevance_weight: float = 0.5

    def select(self, choice: Choice, k: int) -> Selection:
        """min(k, n) candidates, in the order picked."""
        return coverage_greedy(
            choice.relevance,
            choice.support,
            k,
            relevance_weight=self.relevance_weight,
            weights=choice.weights,
        )


@dataclass(frozen=True, slots=True)
class XQuAD:
    """xQuAD by cosines of passage and perspective, without a judge (Santos, Macdonald and Ounis,
    WWW 2010). ``inferred``: a perspective weighs as much as the relevant passages are near to it
    (RxQuAD). Raises ConfigError where a cosine is not known.
    """

    relevance_weight: float = 0.5
    inferred: bool = False

    def select(self, choice: Choice, k: int) -> Selection:
        """min(k, n) candidates, in the order picked."""
        relevance = _known(choice.cosines).clip(0.0, 1.0)
        nearness = _known(choice.nearness).clip(0.0, 1.0)
        weights = relevance @ nearness if self.inferred else choice.weights
        return coverage_greedy(
            relevance, nearness, k, relevance_weight=self.relevance_weight, weights=weights
        )


@dataclass(frozen=True, slots=True)
class JointCoverage:
    """The set that most probably covers every perspective, wherever it comes from."""

    def select(self, choice: Choice, k: int) -> Selection:
        """min(k, n) candidates of the best ``CoverageValue`` found; their scores never rise."""
        picked = joint_coverage(
            choice.relevance,
            choice.support,
            k,
            relevance_weight=1.0 - choice.coverage_weight,
            weights=choice.weights,
        )
        chosen = repair(picked.indices, choice.listed, choice.support, choice.quotas)
        return Selection(tuple(chosen), tuple(picked.scores))


def joint_coverage(
    relevance: ArrayLike,
    support: ArrayLike,
    k: int,
    *,
    relevance_weight: float = 0.2,
    weights: ArrayLike | None = None,
) -> Selection:
    """min(k, n) candidates chosen together, of the highest ``CoverageValue`` that is found by
    growing the best four sets side by side and then exchanging one candidate at a time:
    O(rounds k n m). ``relevance`` has shape (n,), ``support`` (n, m), NaN = not known.
    """
    value = CoverageValue(relevance, support, k, relevance_weight=relevance_weight, weights=weights)
    found = [_exchanged(value, members) for members in _beam(value)]

    def worth(members: Sequence[int]) -> float:
        return float(value.with_each(list(members[:-1]))[members[-1]]) if members else 0.0

    own = np.asarray(relevance, dtype=np.float64)
    return by_coverage(max(found, key=worth), own, support, relevance_weight, weights)


def _beam(value: CoverageValue) -> list[list[int]]:
    """The best sets grown one candidate at a time, at most ``_BEAM`` of them."""
    sets: list[list[int]] = [[]]
    for size in range(1, value.count + 1):
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
            others = members[:place] + members[place + 1 :]
            values = value.with_each(others)
            best = int(np.argmax(values))
            if values[best] > values[member] + 1e-9:
                members = [*members[:place], best, *members[place + 1 :]]
                changed = True
        if not changed:
            break
    return members


def _known(cosines: Vector | Matrix) -> Vector:
    if np.isnan(cosines).any():
        raise ConfigError("this selector needs the cosines of the candidates: pass embedder=")
    return cosines
