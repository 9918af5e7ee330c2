"""The ceiling: what a judge that is never wrong would reach with the same candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.core.gold import GoldQuestion
from perspective_rag import Extraction, Passage, Perspective
from perspective_rag.flow import Flow, call

# Below 1, so that a second passage for a covered perspective still adds to the expected coverage.
CERTAIN = 0.9


class PerfectJudge:
    """An extractor that knows the sides of each question and a judge that reads their labels.

    No retriever: it sees the gold, and serves the rows that bound the others from above.
    """

    name = "gold labels"
    threshold = 0.5

    def __init__(self, questions: Iterable[GoldQuestion]) -> None:
        self._sides: dict[str, tuple[Perspective, ...]] = {}
        self._gold: dict[str, frozenset[str]] = {}
        for each in questions:
            question = " ".join(each.question.split())  # as the pipeline hands it on
            sides = [Perspective(side, f"{side} {each.id}: {question}") for side in each.gold]
            self._sides[question] = tuple(sides)
            self._gold.update({side.text: each.gold[side.id] for side in sides})

    def extract(self, question: str) -> Flow[Extraction]:
        """The sides that the labels of this question know."""
        return Extraction(question, self._sides[question])
        yield  # a flow that needs no step

    def judge(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Flow[Any]:
        """``CERTAIN`` where a passage is labelled with a perspective, else 0."""
        pairs = len(passages) * len(perspectives)
        reply = yield from call(
            "judge", self._labels, perspectives, passages, counts={"judged_pairs": pairs}
        )
        if reply.error is not None:
            raise reply.error
        return reply.value

    def _labels(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Any:
        table = [[a.id in self._gold[b.text] for b in perspectives] for a in passages]
        return np.array(table, dtype=float).reshape(len(passages), len(perspectives)) * CERTAIN
