"""The question alone: which of the sides does the library find in it by itself?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import OPPOSITE, SIDES, STATEMENT, PoolQuestion
from benchmarks.sides.reading import OTHER, Outcome, outcome_of
from perspective_rag import CorpusError, RetrievalResult
from perspective_rag.addons import json_lines

NEITHER = "neither"
ANSWERS = (STATEMENT, OPPOSITE, NEITHER)
"""What a person can say of an extracted perspective."""

Sides = Mapping[tuple[str, str], str]
"""The side of an extracted perspective, by question id and text."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A question asked alone: the outcome, the perspectives found and the side of each, None where
    nobody has said it yet.
    """

    question: PoolQuestion
    outcome: Outcome
    perspectives: Mapping[str, str | None]


def read_sides(path: Path) -> dict[tuple[str, str], str]:
    """The sides a person gave in a JSON lines file of ``{"question_id", "perspective", "side"}``.

    Lines whose side is still empty are left out; a file that is not there holds none. Raises
    CorpusError for a side outside ``ANSWERS``.
    """
    found: dict[tuple[str, str], str] = {}
    if not path.is_file():
        return found
    for place, row in json_lines(path):
        side = str(row.get("side") or "")
        if side and side not in ANSWERS:
            raise CorpusError(f"{place}: the side is one of {', '.join(ANSWERS)}, not {side!r}")
        if side:
            found[str(row.get("question_id")), str(row.get("perspective"))] = side
    return found


def ask_alone(
    bench: PoolBench, k: int, sides: Sides, on_question: Callable[[], None]
) -> list[Extracted]:
    """Every question over its own pool, without its statements."""
    found = []
    for question in bench.pools.questions:
        pipeline = bench.pipeline(question)
        outcome, result = bench.retrieve(pipeline, question.question, None, str, k=k)
        found.append(_with_sides(question, outcome, result, sides))
        on_question()
    return found


def write_open(found: Iterable[Extracted], path: Path) -> int:
    """Adds the perspectives whose side nobody has said yet to the file; how many there are."""
    written = set()
    if path.is_file():
        written = {
            (str(row.get("question_id")), str(row.get("perspective")))
            for _, row in json_lines(path)
        }
    waiting = [
        (each.question, text)
        for each in found
        for text, side in each.perspectives.items()
        if side is None
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        for question, text in waiting:
            if (question.id, text) not in written:
                row = {
                    "question_id": question.id,
                    "question": question.question,
                    "statement": question.statement,
                    "opposite": question.opposite,
                    "perspective": text,
                    "side": "",
                }
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(waiting)


def extraction_figures(found: Sequence[Extracted]) -> dict[str, Any]:
    """How many questions were read as which sides, and how many perspectives are neither side."""
    read: Counter[str] = Counter()
    for each in found:
        sides = {side for side in each.perspectives.values() if side in SIDES}
        if not each.perspectives:
            read["no perspectives"] += 1
        else:
            read[("neither side", "one side", "both sides")[len(sides)]] += 1
    every = [side for each in found for side in each.perspectives.values()]
    return {
        "questions": dict(read),
        "perspectives": len(every),
        "neither": every.count(NEITHER),
        "not_said_yet": every.count(None),
    }


def _with_sides(
    question: PoolQuestion, outcome: Outcome, result: RetrievalResult, sides: Sides
) -> Extracted:
    known: dict[str, str | None] = {}
    for perspective in result.perspectives:
        same = _same_text(perspective.text, question)
        known[perspective.text] = same or sides.get((question.id, perspective.text))

    def side_of(text: str) -> str:
        side = known[text]
        return side if side in SIDES else OTHER

    mapped = outcome_of(result, side_of, pairs=outcome.pairs, seconds=outcome.seconds)
    return Extracted(question, mapped, known)


def _same_text(text: str, question: PoolQuestion) -> str | None:
    """The side whose statement this is word by word, or None."""
    for side, own in zip(SIDES, question.statements, strict=True):
        if _words(text) == _words(own):
            return side
    return None


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()
