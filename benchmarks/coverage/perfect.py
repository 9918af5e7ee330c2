"""The ceiling: what a judge that is never wrong would reach with the same candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.core.gold import GoldQuestion
from perspective_rag import Passage, Perspective
from perspective_rag.extend import Flow
from perspective_rag.judge.pairs import judge_at_once

# Below 1, so that a second passage for a covered perspective still adds to the expected coverage.
CERTAIN = 0.9


class PerfectJudge:
    """A judge that reads the labels of the questions, for the rows that bound the others.

    ``sides`` are the perspectives it knows for a question: a pipeline is given them with the
    question, because two questions of a set may have the same text and other labels.
    """

    name = "gold labels"
    threshold = 0.5

    def __init__(self, questions: Iterable[GoldQuestion]) -> None:
        self.sides: dict[str, tuple[Perspective, ...]] = {}
        self._gold: dict[str, frozenset[str]] = {}
        for each in questions:
            sides = [Perspective(side, f"{side} {each.id}: {each.question}") for side in each.gold]
            self.sides[each.id] = tuple(sides)
            self._gold.update({side.text: each.gold[side.id] for side in sides})

    def judge(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Flow[Any]:
        """``CERTAIN`` where a passage is labelled with a perspective, else 0."""
        return judge_at_once(self._labels, perspectives, passages)

    def _labels(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Any:
        table = [[a.id in self._gold[b.text] for b in perspectives] for a in passages]
        return np.array(table, dtype=float).reshape(len(passages), len(perspectives)) * CERTAIN
