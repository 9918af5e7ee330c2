"""Questions with two opposing statements, each with a pool of labelled passages of its own."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from perspective_rag import Corpus, CorpusError, Passage

LABELS = "SsNoOM"
"""Relative to the statement: clearly supports, leans to support, neither, leans to oppose, clearly
opposes, argues both."""

STATEMENT, OPPOSITE = "statement", "opposite"
SIDES = (STATEMENT, OPPOSITE)
TRUE: Mapping[str, frozenset[str]] = {STATEMENT: frozenset("SsM"), OPPOSITE: frozenset("OoM")}
"""For each side the labels of the passages that truly support it."""

Verdict = Literal["true", "opposing", "silent"]


@dataclass(frozen=True, slots=True)
class PoolQuestion:
    """A question, its two statements, and the label of each passage of its pool by id.

    ``fold`` keeps related questions together: what is fitted is fitted on the other folds.
    """

    id: str
    question: str
    statement: str
    opposite: str
    labels: Mapping[str, str]
    fold: int

    @property
    def statements(self) -> tuple[str, str]:
        """The texts of the two sides, in the order of ``SIDES``."""
        return self.statement, self.opposite

    @property
    def gold(self) -> dict[str, frozenset[str]]:
        """For each side the ids of the passages that truly support it."""
        return {
            side: frozenset(each for each, label in self.labels.items() if label in true)
            for side, true in TRUE.items()
        }


@dataclass(frozen=True, slots=True)
class Pools:
    """Passages by id, the questions, and a hash of the file's content, unpacked."""

    name: str
    passages: Mapping[str, Passage]
    questions: tuple[PoolQuestion, ...]
    fingerprint: str

    def corpus(self, question: PoolQuestion) -> Corpus:
        """The pool of one question; passages of other pools are unlabelled, not neutral."""
        return Corpus([self.passages[each] for each in question.labels])


def verdict(label: str, side: str) -> Verdict:
    """What a passage of that label does to a side; one that argues both supports both."""
    if label in TRUE[side]:
        return "true"
    return "silent" if label == "N" else "opposing"


def read_pools(path: Path, *, limit: int | None = None) -> Pools:
    """The pools of a JSON lines file, ``.gz`` or not; ``limit`` keeps the first questions.

    Lines are ``{"kind": "doc", "id", "title", "text", "source"}`` or ``{"kind": "query", "id",
    "question", "statement", "opposite", "labels": {doc id: label}, "fold"}``. Raises CorpusError
    for any other line, for a label outside ``LABELS`` and for one without its passage.
    """
    digest = hashlib.sha256()
    passages: dict[str, Passage] = {}
    questions: list[PoolQuestion] = []
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                digest.update(line)
                if line.strip():
                    _read_line(line, f"{path}:{number}", passages, questions)
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    for each in questions:
        if absent := set(each.labels) - set(passages):
            raise CorpusError(f"{path}: question {each.id!r} names no passage: {min(absent)!r}")
    if not questions:
        raise CorpusError(f"{path} holds no questions")
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return Pools(name, passages, tuple(questions[:limit]), digest.hexdigest()[:32])


def _read_line(
    line: bytes, place: str, passages: dict[str, Passage], questions: list[PoolQuestion]
) -> None:
    try:
        row: dict[str, Any] = json.loads(line)
        if row["kind"] == "doc":
            known = {name: row[name] for name in ("title", "source") if row.get(name)}
            passages[str(row["id"])] = Passage(str(row["id"]), row["text"], known)
        elif row["kind"] == "query":
            labels = {str(name): str(label) for name, label in row["labels"].items()}
            if unknown := {label for label in labels.values() if label not in tuple(LABELS)}:
                raise ValueError(f"unknown label {min(unknown)!r}")
            texts = (row["question"], row["statement"], row["opposite"])
            questions.append(PoolQuestion(str(row["id"]), *texts, labels, int(row["fold"])))
        else:
            raise ValueError(f"unknown kind {row['kind']!r}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{place} is neither a passage nor a question: {error!r}") from error
