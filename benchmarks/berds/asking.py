"""The questions put as a supporter and as an opponent would (paper, section 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

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
    """The top passages for the words of each side, from each retriever or an approach over it;
    nothing from a retriever that cannot be asked them.
    """
    two_sided = [(each, places) for each in questions if (places := stances.of(each)) is not None]
    result = []
    for collector in collectors:
        if approach in collector.left_out:
            continue
        for side, asked_as in enumerate(SIDES):
            asks = [Ask(each.perspectives[places[side]], each) for each, places in two_sided]
            work = partial(collector.asked_with, asks, SYCOPHANCY_AT, approach)
            found = collector.attempt(f"asked as {asked_as}", work)
            if found is None:
                continue
            rankings = {ask.question.id: one for ask, one in zip(asks, found, strict=True)}
            name = collector.retriever.name
            result.append(Asking(name, asked_as, rankings, approach or "default"))
    return result
