"""A small PIR task of our own, in each of the formats, and retrievers without a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pir.embedding import DenseRetriever
from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag import CallableEmbedder

CORPUS = (
    "Bridges should be free to cross",
    "Tolls keep bridges in repair",
    "Bees pollinate most orchards",
    "Wild bees suffer from hives",
    "Night trains are quiet",
    "Night trains are too dear",
)
ROWS = (
    ("Bridge tolls are right", "supports", "support", [1]),
    ("Bridge tolls are right", "opposes", "undermine", [0]),
    ("Keep bees in town", "supports", "support", [2]),
    ("Keep bees in town", "opposes", "undermine", [3]),
    ("Ride night trains", "supports", "support", [4]),
)


def query_row(root: str, verb: str, label: str, gold: list[int]) -> dict[str, Any]:
    return {
        "text": f"Find a text that {verb} this: {root}",
        "root": root,
        "perspective": f"a text that {verb} this",
        "label": label,
        "gold": gold,
    }


def sample_task(name: str = "sample") -> Task:
    queries = [PirQuery(**{**query_row(*row), "gold": frozenset(row[3])}) for row in ROWS]
    return Task(name, CORPUS, tuple(queries))


def write_jsonl(path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"kind": "doc", "id": f"d{i}", "text": text} for i, text in enumerate(CORPUS)
    ]
    for row in ROWS:
        values = query_row(*row)
        rows.append({"kind": "query", **values, "gold": [f"d{i}" for i in values["gold"]]})
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def write_json(path: Path) -> Path:
    rows = [query_row(*row) for row in ROWS]
    values = {
        "corpus": CORPUS,
        "queries": [row["text"] for row in rows],
        "source_queries": [row["root"] for row in rows],
        "perspectives": [row["perspective"] for row in rows],
        "key_ref": {str(i): row["gold"] for i, row in enumerate(rows)},
        "query_labels": [row["label"] for row in rows],
    }
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def write_hub_folder(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    rows = [query_row(*row) for row in ROWS]
    corpus = [{"_id": f"c{i}", "text": text, "title": ""} for i, text in enumerate(CORPUS)]
    queries = [
        {
            "_id": f"q{i}",
            "text": row["text"],
            "meta": json.dumps({"src_query": row["root"], "perspective": row["perspective"]}),
        }
        for i, row in enumerate(rows)
    ]
    qrels = [
        {"query-id": f"q{i}", "corpus-id": f"c{j}", "score": int(j in row["gold"])}
        for i, row in enumerate(rows)
        for j in range(len(CORPUS))
    ]
    for name, lines in (("corpus", corpus), ("queries", queries), ("qrels/test", qrels)):
        text = "\n".join(map(json.dumps, lines)) + "\n"
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def letters(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """Counts of letters: vectors that depend on the text alone."""
    return np.array([[text.lower().count(c) + 0.01 for c in "abdefghinorstuw"] for text in texts])


class Counted:
    """How many texts were embedded."""

    def __init__(self) -> None:
        self.texts = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        self.texts += len(texts)
        return letters(texts)


def letter_retriever(function: Any = letters, name: str = "letters") -> DenseRetriever:
    return DenseRetriever(name, CallableEmbedder(function, name=name))
