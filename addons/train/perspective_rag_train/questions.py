"""Whole questions: two contradicting statements and passages that a retriever found for them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perspective_rag import CorpusError
from perspective_rag.addons import json_lines
from perspective_rag_train.data import LABELS, Augmentation, LabelledPair

Shares = tuple[float, float, float]

TOWARDS_STATEMENT: dict[str, Shares] = {
    "S": (0.95, 0.02, 0.03),
    "s": (0.65, 0.05, 0.30),
    "N": (0.03, 0.03, 0.94),
    "o": (0.05, 0.65, 0.30),
    "O": (0.02, 0.95, 0.03),
    "M": (0.45, 0.45, 0.10),
}
"""Support, oppose and neutral to learn for each label: clearly or leaning for (S, s) or against
(O, o), silent (N), both (M).
"""
TOWARDS_OPPOSITE: dict[str, Shares] = {
    "S": (0.04, 0.82, 0.14),
    "s": (0.06, 0.54, 0.40),
    "N": (0.03, 0.03, 0.94),
    "o": (0.58, 0.05, 0.37),
    "O": (0.86, 0.03, 0.11),
    "M": (0.42, 0.42, 0.16),
}
"""The same towards the opposite statement, less sure: it is another sentence, not the negation."""
GAINS: dict[str, float] = {"S": 1.0, "s": 0.6, "M": 0.5}
"""What a passage is worth in a list for the statement; the opposite's list takes O, o and M."""
SIDES: dict[str, float] = {"S": 1.0, "s": 0.6, "o": -0.6, "O": -1.0}
"""Which of the two statements a passage is for, and how clearly."""

_MIRRORED = {"S": "O", "s": "o", "N": "N", "o": "s", "O": "S", "M": "M"}


@dataclass(frozen=True, slots=True)
class Question:
    """Two statements, and passages with their labels towards the first."""

    question_id: str
    statement: str
    opposite: str
    passages: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as a step shows it: pairs, and where the losses find them.

    ``places`` holds, for the statement and for its opposite, the row in ``pairs`` of each passage
    that is shown beside it, by the passage's number in the question.
    """

    question: Question
    pairs: tuple[LabelledPair, ...]
    places: tuple[dict[int, int], dict[int, int]]

    def gains(self, statement: int, stance: int) -> tuple[list[int], list[float]]:
        """Rows and their gains in the list of those that support (0) or oppose (1) the first or
        the second statement.
        """
        mirrored = statement != stance
        rows, gains = [], []
        for number, row in self.places[statement].items():
            label = self.question.passages[number][1]
            rows.append(row)
            gains.append(GAINS.get(_MIRRORED[label] if mirrored else label, 0.0))
        return rows, gains

    def sides(self) -> list[tuple[int, int, float]]:
        """Row beside the statement, row beside the opposite and side of the passages with one."""
        first, second = self.places
        return [
            (first[number], second[number], SIDES[label])
            for number, (_, label) in enumerate(self.question.passages)
            if label in SIDES and number in first and number in second
        ]


def read_questions(paths: Iterable[Path]) -> list[Question]:
    """Reads rows of question_id, statement, opposite, document and label (S s N o O M).

    Raises CorpusError with file and line for the first row that is not of this form.
    """
    found: dict[str, tuple[str, str, list[tuple[str, str]]]] = {}
    for path in paths:
        for place, row in json_lines(path):
            try:
                texts = [row[key] for key in ("question_id", "statement", "opposite", "document")]
                if not all(isinstance(each, str) and each for each in texts):
                    raise TypeError("question_id, statement, opposite and document are text")
                if row["label"] not in TOWARDS_STATEMENT:
                    raise ValueError(f"label {row['label']!r} is not one of S s N o O M")
            except (KeyError, TypeError, ValueError) as error:
                raise CorpusError(
                    f"{place}: expected question_id, statement, opposite, document and label, "
                    f"got {str(row)[:80]}: {error!r}"
                ) from error
            name, statement, opposite, document = texts
            own = found.setdefault(name, (statement, opposite, []))
            own[2].append((document, row["label"]))
    return [
        Question(name, statement, opposite, tuple(passages))
        for name, (statement, opposite, passages) in found.items()
    ]


def shown(question: Question, rng: random.Random) -> Shown:
    """All passages of a question beside both statements; silent ones beside one of them, drawn at
    random, for they say nothing of the sides and are half of all.
    """
    pairs: list[LabelledPair] = []
    places: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for number, (document, label) in enumerate(question.passages):
        beside = (0, 1) if label != "N" else (int(rng.random() < 0.45),)
        for which in beside:
            shares = (TOWARDS_STATEMENT, TOWARDS_OPPOSITE)[which][label]
            places[which][number] = len(pairs)
            pairs.append(
                LabelledPair(
                    document,
                    question.opposite if which else question.statement,
                    LABELS[shares.index(max(shares))],
                    source="retrieved",
                    topic=question.question_id,
                    probabilities=shares,
                )
            )
    return Shown(question, tuple(pairs), places)


def question_batches(
    questions: Sequence[Question],
    others: Sequence[LabelledPair],
    *,
    seed: int,
    epoch: int,
    others_each: int,
    augmentation: Augmentation,
) -> Iterator[tuple[Shown, tuple[LabelledPair, ...]]]:
    """One epoch: each question once, with ``others_each`` pairs drawn from ``others``
    and augmented.

    The order depends on seed and epoch alone, so that an interrupted run can skip what it has seen.
    """
    rng = random.Random(f"{seed}-{epoch}")
    order = list(questions)
    rng.shuffle(order)
    for question in order:
        drawn = [
            augmentation.apply(rng.choice(others), others, rng)
            for _ in range(others_each if others else 0)
        ]
        yield shown(question, rng), tuple(drawn)
