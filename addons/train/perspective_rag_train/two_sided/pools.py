"""What the fast judge and the larger one say of the labelled pools, kept in files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import CrossEncoderJudge, OnnxMiniLM, Passage
from perspective_rag.addons import PACKAGED_FLOOR, cosine, model_fingerprint, titled_pieces
from perspective_rag.judge.two_sided import TwoSidedJudge
from perspective_rag_train.two_sided.data import read

Row = list[Any]

FOLDS = 5
READ_AGAIN = 12
"""Texts of a question that the larger judge reads, as at run time: those likeliest by the fast."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A question with its two statements and all its labelled passages."""

    set: str
    id: str
    fold: int
    question: str
    sides: tuple[str, str]
    passages: list[Passage]
    labels: list[str]


def pools(data: Path) -> list[Pool]:
    """The development pools and the own notes; collections of notes are spread over the folds."""
    found = []
    for name in ("pools_dev", "pools_open_dev"):
        lines = read(data / "judge_retrieved" / f"{name}.jsonl.gz")
        texts = {row["id"]: _passage(row) for row in lines if row["kind"] == "doc"}
        for row in lines:
            if row["kind"] == "query":
                sides = row["statement"], row["opposite"]
                found.append(_pool(name, row, row["fold"], sides, texts))
    notes = {row["id"]: _passage(row) for row in read(data / "own_notes" / "dev_docs.jsonl")}
    rows = read(data / "own_notes" / "dev_questions.jsonl")
    collections = sorted({row["collection"] for row in rows})
    for row in rows:
        fold = collections.index(row["collection"]) % FOLDS
        found.append(_pool("own_notes", row, fold, (row["for"], row["against"]), notes))
    return found


def _pool(
    name: str, row: dict[str, Any], fold: int, sides: tuple[str, str], texts: dict[str, Passage]
) -> Pool:
    labels = row["labels"]
    passages = [texts[key] for key in labels]
    return Pool(name, row["id"], int(fold), row["question"], sides, passages, [*labels.values()])


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(row["id"], row["text"], {"title": row.get("title") or ""})


@dataclass(frozen=True, slots=True)
class Read:
    """One passage of a pool with what was read of it; ``larger`` is None where it was not."""

    set: str
    question: str
    passage: str
    fold: int
    label: str
    relevance: float
    fast: tuple[float, float]
    text: str
    larger: tuple[float, float] | None = None


def readings(model: Path, data: Path, kept: Path) -> list[Read]:
    """Every pair read by the fast judge, and the likeliest ``READ_AGAIN`` of a question again.

    In the folder ``kept`` each question is added to a file when it is done, of the fast judge and
    of this ``model``; what is there already is not read again.
    """
    kept.mkdir(parents=True, exist_ok=True)
    waiting = pools(data)
    random.Random(5).shuffle(waiting)
    first = _kept(kept / "fast.jsonl", waiting, _fast())
    texts = {(pool.set, each.id): each.text for pool in waiting for each in pool.passages}
    by_question: dict[tuple[str, str], list[Read]] = {}
    for row in first:
        name, question, passage, fold, label, near, (one, two) = row
        text = texts[name, passage]
        each = Read(name, question, passage, fold, label, near, (one, two), text)
        by_question.setdefault((each.set, each.question), []).append(each)
    again = _kept(
        kept / f"{model_fingerprint(model)[:12]}.jsonl", waiting, _larger(model, by_question)
    )
    found = {(name, question, passage): (a, b) for name, question, passage, a, b in again}
    return [
        replace(each, larger=found.get((each.set, each.question, each.passage)))
        for rows in by_question.values()
        for each in rows
    ]


def _kept(path: Path, waiting: Sequence[Pool], read: Callable[[Pool], list[Row]]) -> list[Row]:
    """The rows of the file, after those of the questions that it lacks were added."""
    known: list[Row] = []
    if path.is_file():
        known = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    done = {(row[0], row[1]) for row in known}
    for pool in waiting:
        if (pool.set, pool.id) not in done:
            fresh = read(pool)
            known += fresh
            with path.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(row) + "\n" for row in fresh))
    return known


def _fast() -> Callable[[Pool], list[Row]]:
    """Reads a pool with the packaged encoder and judge: the fields of ``Read`` but the last."""
    encoder, judge = OnnxMiniLM(), CrossEncoderJudge()

    def read(pool: Pool) -> list[Row]:
        pieces = [titled_pieces(passage, pool.question) for passage in pool.passages]
        owners = [row for row, each in enumerate(pieces) for _ in each]
        asked = np.asarray(encoder.embed_queries([pool.question]))
        vectors = np.asarray(encoder.embed_passages([piece for each in pieces for piece in each]))
        relevance = np.full(len(pieces), -1.0)
        np.maximum.at(relevance, owners, cosine(vectors, asked)[:, 0])
        texts = [passage.text for passage in pool.passages]
        support = judge.side_probabilities(texts, pool.sides, relevance)
        return [
            [pool.set, pool.id, passage.id, pool.fold, label, float(near), row.tolist()]
            for passage, label, near, row in zip(
                pool.passages, pool.labels, relevance, support, strict=True
            )
        ]

    return read


def _larger(
    model: Path, by_question: Mapping[tuple[str, str], Sequence[Read]]
) -> Callable[[Pool], list[Row]]:
    """Reads the likeliest of a pool again: set, question, passage, and both probabilities."""
    judge = TwoSidedJudge(model)

    def read(pool: Pool) -> list[Row]:
        texts = {passage.id: passage.text for passage in pool.passages}
        near = [r for r in by_question[pool.set, pool.id] if r.relevance >= PACKAGED_FLOOR.passage]
        near.sort(key=lambda each: -max(each.fast))
        chosen = [each.passage for each in near[:READ_AGAIN]]
        values = judge.probabilities([(*pool.sides, texts[each]) for each in chosen])
        return [
            [pool.set, pool.id, each, *row.tolist()]
            for each, row in zip(chosen, values, strict=True)
        ]

    return read
