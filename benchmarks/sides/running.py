"""Every row on every question; what is fitted never sees the fold it is used on."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import PoolQuestion
from benchmarks.sides.reading import Outcome
from benchmarks.sides.rows import Row, Score

CUTS = (5, 10)
"""The k that each row is run with."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The outcomes of a row at one k, in the order of the questions, and for each fold the setting
    it was answered with, where the row is fitted.
    """

    outcomes: Sequence[Outcome]
    chosen: Mapping[int, str] = field(default_factory=dict)


def answers(row: Row, bench: PoolBench, k: int, on_question: Callable[[], None]) -> Answers:
    """What a row makes of all questions; ``on_question`` is called after each of every setting."""
    found: dict[str, list[Outcome]] = {}
    for name, ask in row.settings.items():
        found[name] = []
        for question in bench.pools.questions:
            found[name].append(ask(bench, question, k))
            on_question()
    if row.score is None:
        [outcomes] = found.values()
        return Answers(outcomes)
    return cross_fitted(found, bench.pools.questions, row.score)


def seconds_of(row: Row, bench: PoolBench, k: int, on_question: Callable[[], None]) -> float:
    """The median wall seconds of a question, by the row's first setting; one more question warms
    up. ``bench`` is to keep nothing.
    """
    ask = next(iter(row.settings.values()))
    ask(bench, bench.pools.questions[0], k)
    found = []
    for question in bench.pools.questions:
        found.append(ask(bench, question, k).seconds)
        on_question()
    return round(statistics.median(found), 6)


def cross_fitted(
    settings: Mapping[str, Sequence[Outcome]],
    questions: Sequence[PoolQuestion],
    score: Score,
) -> Answers:
    """For the questions of each fold the outcomes of the setting that scores highest on the
    questions of all other folds; of equal ones the first.
    """
    chosen: dict[int, str] = {}
    for fold in sorted({each.fold for each in questions}):
        others = [i for i, each in enumerate(questions) if each.fold != fold]
        asked = [questions[i] for i in others]

        def value(
            name: str, others: list[int] = others, asked: list[PoolQuestion] = asked
        ) -> tuple[float, ...]:
            return score([settings[name][i] for i in others], asked)

        chosen[fold] = max(settings, key=value)
    outcomes = [settings[chosen[each.fold]][i] for i, each in enumerate(questions)]
    return Answers(outcomes, chosen)
