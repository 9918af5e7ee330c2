"""Questions over the sample debates, scored by the labels that came with the passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.core.results import CHECKOUT
from perspective_rag import PerspectivePipeline, RetrievalResult
from perspective_rag.storage.jsonl import json_lines

DEBATES = CHECKOUT / "examples" / "debates"
REWORDED = Path(__file__).with_name("questions.jsonl")
K = 3
"""Passages that a question is to show both sides in."""

LISTED_K = 5
"""Passages whose listed sides are compared with the labels."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a debate; ``sides`` are the labels that support it and oppose it."""

    debate: str
    question: str
    sides: tuple[str, str]
    reworded: bool


def read_asked(debates: Path = DEBATES, reworded: Path = REWORDED) -> list[Asked]:
    """The debates' own questions that have two sides, and others in other words."""
    own = [
        Asked(row["id"], row["question"], _two(p["id"] for p in row["perspectives"]), False)
        for _, row in json_lines(debates / "questions.jsonl")
        if len(row["perspectives"]) == 2
    ]
    other = [
        Asked(row["debate"], row["question"], _two(row["sides"]), True)
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

    ``both_sides`` (of the debates' own questions) and ``reworded_both_sides``: share whose first
    ``K`` passages hold one of each side by label. ``right_listed``: share of the passages listed
    under a side whose label is that side. ``agreement``: share of the first ``LISTED_K`` passages
    that are listed under exactly the sides of their label.
    """
    rows = [_row(pipeline, each, labels) for each in asked]
    listed = sum(row["listed"] for row in rows)
    shown = sum(row["shown"] for row in rows)
    return {
        "questions": len(rows),
        "both_sides": _share(row["both"] for row in rows if not row["reworded"]),
        "reworded_both_sides": _share(row["both"] for row in rows if row["reworded"]),
        "right_listed": sum(row["right"] for row in rows) / listed if listed else 0.0,
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
    return {
        "question": asked.question,
        "reworded": asked.reworded,
        "both": set(asked.sides) <= sides,
        "shown": len(found),
        "agreed": sum(sides == label(passage) for passage, sides in found.items()),
        "listed": len(pairs),
        "right": sum(side in label(passage) for passage, side in pairs),
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


def _two(sides: Iterable[str]) -> tuple[str, str]:
    first, second = sides
    return first, second


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
