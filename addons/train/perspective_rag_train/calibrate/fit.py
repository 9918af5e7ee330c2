"""Floor and thresholds from cosines and marks, with bootstrap intervals over questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perspective_rag import ListingRule
from perspective_rag.addons import PACKAGED_FLOOR, Interval, RelevanceFloor

TRUE_SHARE = 0.85
"""The share of what is listed that is to be true, as for the packaged judge."""
LEAST_MARKS = 20
"""Fewer marked passages with a side do not move a threshold."""
LOST = 0.04
"""The share of the passages with a side that the passage floor may lose, as for the packaged
encoder."""

_RESAMPLES = 300
_EDGE = 1e-4
# How far marks may be from the judge's own probabilities before they are believed: standard
# deviations of the slope about 1 and of the offset about 0, in log-odds.
_SLOPE, _OFFSET = 0.3, 1.0

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Scale:
    """The packaged encoder's floor among another encoder's cosines, and how sure that is."""

    floor: RelevanceFloor
    passage: Interval
    topic: Interval
    correlation: float


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing rule, how sure its threshold is, and what the marks say of what it lists.

    ``true`` is the share of the marked passages listed that are true (None: none is listed).
    """

    rule: ListingRule
    threshold: Interval
    true: Interval | None
    listed: int


@dataclass(frozen=True, slots=True)
class Marked:
    """Marked passages, row by row: P(support) of both sides and whether they are supported, shape
    (n, 2); cosine to the question, how many candidates each stands for, and its question, (n,).
    """

    support: Floats
    true: NDArray[np.bool_]
    cosine: Floats
    stands_for: Floats
    question: Ints

    def of(self, rows: Ints) -> Marked:
        """Some of the rows."""
        return Marked(
            self.support[rows],
            self.true[rows],
            self.cosine[rows],
            self.stands_for[rows],
            self.question[rows],
        )


def scale_of(own: Floats, packaged: Floats, question: Ints, *, seed: int) -> Scale:
    """The line between two encoders' cosines of the same pairs, read at the packaged floor.

    The line is the reduced major axis: slope = sd(own) / sd(packaged), which treats both alike.
    Shapes (n,).
    """

    def at(rows: Ints) -> tuple[float, float]:
        x, y = packaged[rows], own[rows]
        spread = float(x.std())
        slope = float(y.std()) / spread if spread > 0 else 0.0
        low, high = (
            float(np.clip(y.mean() + slope * (value - x.mean()), -1.0, 1.0))
            for value in (PACKAGED_FLOOR.passage, PACKAGED_FLOOR.topic)
        )
        return low, high

    every = np.arange(len(own))
    passage, topic = at(every)
    drawn = _resampled(question, at, seed)
    spread = own.std() * packaged.std()
    together = float(((own - own.mean()) * (packaged - packaged.mean())).mean() / spread)
    return Scale(
        RelevanceFloor(passage, topic),
        _around(passage, drawn[:, 0]),
        _around(topic, drawn[:, 1]),
        together if np.isfinite(together) else 0.0,
    )


def floor_of(marked: Marked, given: RelevanceFloor, *, seed: int) -> Scale:
    """The floor for which at most ``LOST`` of the marked passages with a side are lost.

    n passages are believed by n / (n + LEAST_MARKS), the ``given`` floor by the rest; the topic
    floor is only lowered, where the best passage of a question would not reach it.
    """

    def at(rows: Ints) -> tuple[float, float]:
        some = marked.of(rows)
        with_side = some.true.any(axis=1)
        if not with_side.any():
            return given.passage, given.topic
        near, weights = some.cosine[with_side], some.stands_for[with_side]
        passage = _believed(len(near), _quantile(near, weights, LOST), given.passage)
        best = [
            near[some.question[with_side] == each].max()
            for each in np.unique(some.question[with_side])
        ]
        reached = float(np.quantile(best, LOST / 2))
        topic = _believed(len(best), min(reached, given.topic), given.topic)
        return passage, max(passage, topic)

    passage, topic = at(np.arange(len(marked.cosine)))
    drawn = _resampled(marked.question, at, seed)
    floor = RelevanceFloor(passage, topic)
    return Scale(floor, _around(passage, drawn[:, 0]), _around(topic, drawn[:, 1]), 1.0)


def listing_of(marked: Marked, given: ListingRule, *, seed: int) -> Listing | None:
    """The rule by which ``TRUE_SHARE`` of what is listed is expected to be true.

    A passage is listed under its likelier side from P >= threshold. What P is worth here is a
    logistic curve of the marks, held to the judge's own P where marks are few; the least threshold
    with the share wanted above it is taken, and the searching threshold moved to be worth what it
    was worth. None for fewer than ``LEAST_MARKS`` marks with a side.
    """
    side = marked.support.argmax(axis=1)
    rows = np.arange(len(side))
    chance, true = marked.support[rows, side], marked.true[rows, side]
    if int(marked.true.any(axis=1).sum()) < LEAST_MARKS:
        return None

    def at(drawn: Ints) -> tuple[float, float]:
        slope, offset = _curve(chance[drawn], true[drawn])
        threshold = _threshold(chance[drawn], marked.stands_for[drawn], slope, offset)
        if slope <= 0:
            return threshold, threshold
        leaning = float(_chance((_odds(np.array([given.leaning])) - offset) / slope)[0])
        return threshold, min(leaning, threshold)

    threshold, leaning = at(rows)
    spread = _resampled(marked.question, at, seed)
    shown = chance >= threshold
    return Listing(
        ListingRule(threshold, leaning, given.lead),
        _around(threshold, spread[:, 0]),
        _share(marked, true & shown, shown, seed) if shown.any() else None,
        int(shown.sum()),
    )


def _threshold(chance: Floats, stands_for: Floats, slope: float, offset: float) -> float:
    """The least P from which on the share wanted is expected; 1 where there is none."""
    if slope <= 0:
        return 1.0
    worth = _chance(slope * _odds(chance) + offset)
    order = np.argsort(-chance, kind="stable")
    weight = stands_for[order]
    expected = np.cumsum(worth[order] * weight) / np.cumsum(weight)
    enough = np.flatnonzero(expected >= TRUE_SHARE)
    if len(enough):
        return float(np.floor(chance[order[enough[-1]]] * 1e4) / 1e4)
    wanted = (_odds(np.array([TRUE_SHARE])) - offset) / slope
    return float(max(_chance(wanted)[0], chance.max(initial=0.0)))


def _curve(chance: Floats, true: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of the logistic curve of highest posterior, by Newton's method."""
    design = np.column_stack([_odds(chance), np.ones(len(chance))])
    prior = np.diag([_SLOPE**-2, _OFFSET**-2])
    weights = np.array([1.0, 0.0])
    for _ in range(50):
        fitted = _chance(design @ weights)
        slope = design.T @ (fitted - true) + prior @ (weights - np.array([1.0, 0.0]))
        bend = design.T @ (design * (fitted * (1.0 - fitted))[:, None]) + prior
        step = np.linalg.solve(bend, slope)
        weights = weights - np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), float(weights[1])


def _odds(chance: Floats) -> Floats:
    inner = np.clip(chance, _EDGE, 1.0 - _EDGE)
    return np.asarray(np.log(inner / (1.0 - inner)))


def _chance(odds: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0))))


def _believed(count: int, found: float, given: float) -> float:
    share = count / (count + LEAST_MARKS)
    return float(share * found + (1.0 - share) * given)


def _quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    place = int(np.searchsorted(reached, share))
    return float(values[order][min(place, len(values) - 1)])


def _share(
    marked: Marked, parts: NDArray[np.bool_], wholes: NDArray[np.bool_], seed: int
) -> Interval:
    weights = marked.stands_for

    def at(rows: Ints) -> tuple[float, float]:
        whole = float((weights[rows] * wholes[rows]).sum())
        part = float((weights[rows] * parts[rows]).sum())
        return (part / whole if whole else np.nan), 0.0

    drawn = _resampled(marked.question, at, seed)[:, 0]
    return _around(at(np.arange(len(weights)))[0], drawn[~np.isnan(drawn)])


def _resampled(question: Ints, at: Callable[[Ints], tuple[float, float]], seed: int) -> Floats:
    """``at`` for samples of the questions drawn with replacement, shape (resamples, 2)."""
    generator = np.random.default_rng(seed)
    groups = [np.flatnonzero(question == each) for each in np.unique(question)]
    found = []
    for _ in range(_RESAMPLES):
        drawn = generator.integers(len(groups), size=len(groups))
        found.append(at(np.concatenate([groups[i] for i in drawn])))
    return np.array(found)


def _around(value: float, drawn: Floats) -> Interval:
    low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (value, value)
    return Interval(value, min(float(low), value), max(float(high), value))
