"""Questions with the passages that are judged in one call, and what their labels say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sides.data import SIDES, Verdict, read_pools, verdict
from perspective_rag import CorpusError, Passage, Perspective
from perspective_rag.addons import fingerprint, json_lines

POOLS = {
    "pools_dev": "judge_retrieved/pools_dev.jsonl.gz",
    "pools_open_dev": "judge_retrieved/pools_open_dev.jsonl.gz",
}
OWN, HUMAN = "own_notes", "judge_human"
SETS = (*POOLS, OWN, HUMAN)


@dataclass(frozen=True, slots=True)
class Task:
    """A question, its two sides, the passages to judge, and the label of each passage and side by
    (passage id, number of the side); pairs without a label are absent.
    """

    set: str
    id: str
    question: str
    sides: tuple[str, str]
    passages: tuple[Passage, ...]
    labels: Mapping[tuple[str, int], Verdict]

    @property
    def key(self) -> str:
        """Names the task among those of all sets."""
        return f"{self.set}/{self.id}"

    @property
    def perspectives(self) -> tuple[Perspective, Perspective]:
        """The sides, as acceptance and denial of one claim."""
        first, second = self.sides
        return (
            Perspective("A", first, stance="support", claim=first),
            Perspective("B", second, stance="oppose", claim=first),
        )


def read_tasks(folder: Path) -> list[Task]:
    """The tasks of every set that the data folder holds, in order; raises CorpusError for none."""
    found: list[Task] = []
    for name, place in POOLS.items():
        if (folder / place).is_file():
            found += _pool_tasks(name, folder / place)
    if (folder / OWN).is_dir():
        found += _own_tasks(folder / OWN)
    if (file := folder / HUMAN / "visible.jsonl").is_file():
        found += _human_tasks(file)
    if not found:
        raise CorpusError(f"{folder} holds none of {', '.join(SETS)}")
    return found


def _pool_tasks(name: str, path: Path) -> list[Task]:
    pools = read_pools(path)
    return [
        Task(
            name,
            each.id,
            each.question,
            each.statements,
            tuple(pools.passages[i] for i in each.labels),
            _labels(each.labels),
        )
        for each in pools.questions
    ]


def _own_tasks(folder: Path) -> list[Task]:
    held: dict[str, list[Passage]] = defaultdict(list)
    for _, row in json_lines(folder / "dev_docs.jsonl"):
        held[row["collection"]].append(Passage(row["id"], row["text"], {"title": row["title"]}))
    return [
        Task(
            OWN,
            row["id"],
            row["question"],
            (row["for"], row["against"]),
            tuple(held[row["collection"]]),
            _labels(row["labels"]),
        )
        for _, row in json_lines(folder / "dev_questions.jsonl")
    ]


def _human_tasks(path: Path) -> list[Task]:
    """The pairs of one question together: its two statements, and every document that has a label
    for one of them.
    """
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, row in json_lines(path):
        rows[row["question"]].append(row)
    tasks = []
    for question, own in rows.items():
        sides = sorted({row["perspective"] for row in own})
        if len(sides) != 2:
            raise CorpusError(f"{path}: {question!r} has {len(sides)} perspectives, expected 2")
        texts = dict.fromkeys(row["document"] for row in own)
        ids = {text: fingerprint(text, digits=10) for text in texts}
        labels: dict[tuple[str, int], Verdict] = {
            (ids[row["document"]], sides.index(row["perspective"])): "true"
            if str(row["label"]) == "1"
            else "silent"
            for row in own
        }
        passages = tuple(Passage(ids[text], text) for text in texts)
        key = fingerprint(question, digits=10)
        tasks.append(Task(HUMAN, key, question, (sides[0], sides[1]), passages, labels))
    return tasks


def _labels(given: Mapping[str, str]) -> dict[tuple[str, int], Verdict]:
    return {
        (name, number): verdict(label, side)
        for name, label in given.items()
        for number, side in enumerate(SIDES)
    }
