"""The sets of the board: questions with two sides, each asked over its own labelled passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.list_judge.tasks import HUMAN, OWN, POOLS, Task, read_tasks
from benchmarks.sides.data import SIDES, PoolQuestion, Pools, read_pools, verdict
from perspective_rag import Passage
from perspective_rag.storage.files import json_lines
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag_train.two_sided.data import is_held_out

NATURAL, DEVICES = "natural paragraphs", "devices"
FILES = {
    NATURAL: "judge_dev/natural_sides_dev.jsonl.gz",
    DEVICES: "judge_written/train.jsonl.gz",
    **POOLS,
    OWN: "own_notes/dev_docs.jsonl",
    HUMAN: "judge_human/visible.jsonl",
}
FOLDS = 5


@dataclass(frozen=True, slots=True)
class BoardSet:
    """Tasks with their labels, and the pools that ``k`` passages are chosen of."""

    name: str
    tasks: tuple[Task, ...]
    pools: Pools
    k: int

    @property
    def own_pools(self) -> Pools:
        """Each question over the passages that have a label for it."""
        questions = []
        for task, question in zip(self.tasks, self.pools.questions, strict=True):
            own = {name for name, _ in task.labels}
            labels = {name: label for name, label in question.labels.items() if name in own}
            questions.append(replace(question, labels=labels))
        return replace(self.pools, questions=tuple(questions))


def read_sets(data: Path, *, limit: int | None = None) -> list[BoardSet]:
    """The sets that the data folder holds; ``limit`` keeps the first questions of each."""
    there = [name for name, place in FILES.items() if (data / place).is_file()]
    recorded = read_tasks(data) if set(there) - {NATURAL, DEVICES} else []
    found = []
    for name in there:
        tasks = [each for each in recorded if each.set == name]
        if name in (NATURAL, DEVICES):
            tasks = _written_tasks(name, data / FILES[name])
        tasks = tasks[:limit]
        if name in POOLS:
            pools = read_pools(data / FILES[name], limit=limit)
        else:
            pools = _pools_of(name, tasks)
        found.append(BoardSet(name, tuple(tasks), pools, 2 if name == DEVICES else 5))
    return found


def _written_tasks(name: str, path: Path) -> list[Task]:
    """A task a question. Natural paragraphs: over those of all questions, of which others' have no
    label. Devices: the questions that no training reads, each over its own five passages.
    """
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    passages: dict[str, dict[str, Passage]] = defaultdict(dict)
    for _, row in json_lines(path):
        if name == NATURAL or is_held_out(row["question_id"]):
            row["id"] = fingerprint(row["document"], digits=10)
            rows[row["question"]].append(row)
            title = {"title": row["title"]} if row.get("title") else {}
            place = "all" if name == NATURAL else row["question"]
            passages[place][row["id"]] = Passage(row["id"], row["document"], title)
    tasks = []
    for question, own in rows.items():
        first = own[0]["statement"]
        labels = {
            (row["id"], number): verdict(row["label"], side)
            for row in own  # which side is the statement is drawn for each passage of the devices
            for number, side in enumerate(SIDES if row["statement"] == first else SIDES[::-1])
        }
        held = tuple(passages["all" if name == NATURAL else question].values())
        key = fingerprint(question, digits=10)
        tasks.append(Task(name, key, question, (first, own[0]["opposite"]), held, labels))
    return tasks


def _pools_of(name: str, tasks: Sequence[Task]) -> Pools:
    """Tasks as pools; a fold keeps the questions over the same passages together, unless all are
    over the same.
    """
    groups = list(dict.fromkeys(each.passages for each in tasks))
    questions = []
    for number, each in enumerate(tasks):
        fold = (groups.index(each.passages) if len(groups) > 1 else number) % FOLDS
        true = [[each.labels.get((p.id, n)) == "true" for n in (0, 1)] for p in each.passages]
        labels = {
            p.id: "M" if a and b else "S" if a else "O" if b else "N"
            for p, (a, b) in zip(each.passages, true, strict=True)
        }
        questions.append(PoolQuestion(each.id, each.question, *each.sides, labels, fold))
    passages = {passage.id: passage for each in tasks for passage in each.passages}
    return Pools(name, passages, tuple(questions), fingerprint(*sorted(passages), digits=32))
