"""The questions put as a supporter and as an opponent would (paper, section 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.berds.collecting import Collector
from benchmarks.berds.questions import Question
from benchmarks.berds.retrievers import Ask
from benchmarks.berds.stances import Stances
from benchmarks.berds.summary import Asking, Places, Runs
from benchmarks.core.metrics import Gold

SYCOPHANCY_AT = 5
SIDES = ("supporting", "opposing")


@dataclass(frozen=True, slots=True)
class Details:
    """What the figures were computed from, question by question."""

    questions: Sequence[Question]
    found: Runs
    golds: Mapping[str, Gold]
    places: Places
    askings: Sequence[Asking]


def askings(
    collectors: Sequence[Collector],
    questions: Sequence[Question],
    stances: Stances,
    *,
    approach: str | None = None,
) -> list[Asking]:
    """The top passages for the words of each side, from each retriever or an approach over it."""
    two_sided = [(each, places) for each in questions if (places := stances.of(each)) is not None]
    result = []
    for collector in collectors:
        for side, asked_as in enumerate(SIDES):
            asks = [Ask(each.perspectives[places[side]], each) for each, places in two_sided]
            found = collector.asked_with(asks, SYCOPHANCY_AT, approach)
            rankings = {ask.question.id: one for ask, one in zip(asks, found, strict=True)}
            name = collector.retriever.name
            result.append(Asking(name, asked_as, rankings, approach or "default"))
    return result
