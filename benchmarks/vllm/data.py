"""Pairs of the sample debates: every passage with every side of its question."""

from __future__ import annotations

from pathlib import Path

import perspective_rag
from perspective_rag import Passage, Perspective
from perspective_rag.addons import Pair, json_lines

DEBATES = Path(perspective_rag.__file__).parent / "corpus" / "example_data" / "debates"


def read_pairs(limit: int | None = None, *, folder: Path = DEBATES) -> list[Pair]:
    """(passage, perspective), passage by passage, ``limit`` of them at most; a passage that belongs
    to no question is left out.
    """
    sides = {
        row["id"]: [Perspective(each["id"], each["text"]) for each in row["perspectives"]]
        for _, row in json_lines(folder / "questions.jsonl")
    }
    passages = {
        row["id"]: Passage(row["id"], row["text"], metadata={"title": row["title"]})
        for _, row in json_lines(folder / "passages.jsonl")
    }
    pairs = [
        (passages[row["passage"]], side)
        for _, row in json_lines(folder / "labels.jsonl")
        for side in sides.get(row["question"], ())
    ]
    return pairs[:limit]
