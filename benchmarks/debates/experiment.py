"""Questions over the sample debates, scored by the labels that came with the passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.core.results import CHECKOUT
from perspective_rag import PerspectivePipeline, RetrievalResult
from perspective_rag.addons import json_lines

DEBATES = CHECKOUT / "examples" / "debates"
REWORDED = Path(__file__).with_name("questions.jsonl")
K = 3
"""Passages that a question with two sides is to show both in."""

LISTED_K = 6
"""Passages whose listed sides are compared with the labels: what the commands show."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a debate; ``sides`` are the labels of its perspectives, in their order."""

    debate: str
    question: str
    sides: tuple[str, ...]
    reworded: bool


def read_asked(debates: Path = DEBATES, reworded: Path = REWORDED) -> list[Asked]:
    """The debates' own questions, and others in other words."""
    own = [
        Asked(row["id"], row["question"], tuple(p["id"] for p in row["perspectives"]), False)
        for _, row in json_lines(debates / "questions.jsonl")
    ]
    other = [
        Asked(row["debate"], row["question"], tuple(row["sides"]), True)
        for _, row in json_lines(reworded)
    ]
    return own + other


def read_labels(debates: Path = DEBATES) -> dict[tuple[str, str], frozenset[str]]:
    """(passage id, debate) -> the sides that it supports, of one that has labels."""
    return {
        (row["passage"], row["question"]): frozenset(row["supports"])
        for _, row in json_lines(debates / "labels.jsonl")
    }


def measure(
    pipeline: PerspectivePipeline,
    asked: Sequence[Asked],
    labels: Mapping[tuple[str, str], frozenset[str]],
) -> dict[str, Any]:
    """Figures in [0, 1] over all questions, and a row for each.

    ``both_sides`` (of the debates' own questions with two sides) and ``reworded_both_sides``: share
    whose first ``K`` passages hold one of each side by label. Of the debates' own questions and
    their first ``LISTED_K`` passages, ``every_side_listed``: share with a rightly listed passage
    for every side, and ``right_listed``: share of the passages listed under a side whose label is
    that side; ``reworded_right_listed``: the same in other words. ``agreement``: share of the
    passages that are listed under exactly the sides of their label, all questions.
    """
    rows = [_row(pipeline, each, labels) for each in asked]
    own = [row for row in rows if not row["reworded"]]
    reworded = [row for row in rows if row["reworded"]]
    shown = sum(row["shown"] for row in rows)
    return {
        "questions": len(rows),
        "both_sides": _share(row["both"] for row in own if row["sides"] == 2),
        "reworded_both_sides": _share(row["both"] for row in reworded),
        "every_side_listed": _share(row["every_side"] for row in own),
        "right_listed": _right(own),
        "reworded_right_listed": _right(reworded),
        "agreement": sum(row["agreed"] for row in rows) / shown if shown else 0.0,
        "degradations": sum(row["degradations"] for row in rows),
        "rows": rows,
    }


def _row(
    pipeline: PerspectivePipeline,
    asked: Asked,
    labels: Mapping[tuple[str, str], frozenset[str]],
) -> dict[str, Any]:
    def label(passage: str) -> frozenset[str]:
        return labels.get((passage, asked.debate), frozenset())

    few = pipeline.retrieve(asked.question, k=K)
    sides = set().union(*(label(passage.id) for passage in few.passages))
    more = pipeline.retrieve(asked.question, k=LISTED_K)
    found = _listed(more, asked)
    pairs = [(passage, side) for passage, sides in found.items() for side in sides]
    right = [side for passage, side in pairs if side in label(passage)]
    wrong = [f"{passage} under {side}" for passage, side in pairs if side not in label(passage)]
    return {
        "question": asked.question,
        "reworded": asked.reworded,
        "sides": len(asked.sides),
        "both": set(asked.sides) <= sides,
        "every_side": set(asked.sides) <= set(right),
        "shown": len(found),
        "agreed": sum(sides == label(passage) for passage, sides in found.items()),
        "listed": len(pairs),
        "right": len(right),
        "wrong": wrong,
        "degradations": len(few.trace.degradations) + len(more.trace.degradations),
    }


def _listed(result: RetrievalResult, asked: Asked) -> dict[str, frozenset[str]]:
    """passage id -> the sides it is listed under, of every passage shown."""
    found: dict[str, set[str]] = {passage.id: set() for passage in result.passages}
    places = {"support": 0, "oppose": 1}
    for place, perspective in enumerate(result.perspectives):
        # Of "A or B" neither side is the negation of the other: they stand in the question's order.
        side = places[perspective.stance] if perspective.stance else place
        for candidate in result.supporting(perspective):
            if side < len(asked.sides):
                found[candidate.passage.id].add(asked.sides[side])
    return {passage: frozenset(sides) for passage, sides in found.items()}


def _right(rows: Sequence[Mapping[str, Any]]) -> float:
    listed = sum(row["listed"] for row in rows)
    return sum(row["right"] for row in rows) / listed if listed else 0.0


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
