"""Questions whose passages people labelled, with the corpus to find them in."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag import Corpus, CorpusError, Passage

Gold = Mapping[str, frozenset[str]]
"""For each perspective of a question, the ids of the passages that people say take it."""


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question and its gold. A retriever is given ``question`` and nothing else."""

    id: str
    question: str
    gold: Gold


@dataclass(frozen=True, slots=True)
class GoldSet:
    """A corpus, its questions, and ``fingerprint``: a hash of the file's content, unpacked."""

    name: str
    corpus: Corpus
    questions: tuple[GoldQuestion, ...]
    fingerprint: str


def read_gold(path: Path, *, limit: int | None = None) -> GoldSet:
    """The set in a JSON lines file, ``.gz`` or not; ``limit`` keeps the first questions.

    Lines are ``{"kind": "doc", "id", "text"}`` or ``{"kind": "query", "id", "question", "gold":
    {perspective: [ids]}}``. Raises CorpusError for any other line, and for gold ids without a
    passage: such a question could never be answered in full.
    """
    digest = hashlib.sha256()
    passages: list[Passage] = []
    questions: list[GoldQuestion] = []
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                digest.update(line)
                if line.strip():
                    _read_line(line, f"{path}:{number}", passages, questions)
    except (OSError, EOFError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    known = {passage.id for passage in passages}
    for question in questions:
        absent = frozenset().union(*question.gold.values()) - known
        if absent:
            raise CorpusError(f"{path}: question {question.id!r} names no passage: {min(absent)!r}")
    if not passages or not questions:
        raise CorpusError(f"{path} holds {len(passages)} passages and {len(questions)} questions")
    fingerprint = digest.hexdigest()[:32]
    return GoldSet(path.name, Corpus(passages), tuple(questions[:limit]), fingerprint)


def _read_line(
    line: bytes, place: str, passages: list[Passage], questions: list[GoldQuestion]
) -> None:
    try:
        row: dict[str, Any] = json.loads(line)
        if row["kind"] == "doc":
            passages.append(Passage(str(row["id"]), row["text"]))
        elif row["kind"] == "query":
            gold = {side: frozenset(map(str, ids)) for side, ids in row["gold"].items()}
            questions.append(GoldQuestion(str(row["id"]), row["question"], gold))
        else:
            raise ValueError(f"unknown kind {row['kind']!r}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{place} is neither a passage nor a question: {error!r}") from error
