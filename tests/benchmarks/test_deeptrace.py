"""DeepTRACE's measures: cases with known answers, and the command over a small pool."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks.answers.deeptrace import PUBLISHED, figures, main, measures, table
from benchmarks.list_judge.recording import record, requests_of, save
from benchmarks.list_judge.tasks import Task, read_tasks
from perspective_rag import Answer, Passage
from perspective_rag.testing import RuleJudge
from perspective_rag.types import Candidate, Claim, Coverage, ListingRule, RetrievalResult, Trace

FOR, AGAINST, SILENT = "Cages make bears ill.", "Zoos breed rare frogs.", "It rains."
TEXTS = {"f": FOR, "f2": FOR + " Bears pace.", "a": AGAINST, "s": SILENT}
LABELS = {"f": (0,), "f2": (0,), "a": (1,), "s": ()}
TASK = Task(
    "pools_dev",
    "q",
    "Should zoos be closed?",
    ("Zoos should be closed", "Zoos should not be closed"),
    tuple(Passage(name, text) for name, text in TEXTS.items()),
    {
        (name, side): "true" if side in sides else "opposing" if sides else "silent"
        for name, sides in LABELS.items()
        for side in (0, 1)
    },
)


def measured(*claims, listed=("f", "a"), unsupported=()):
    rows = [[0.9 * (name in listed and side in LABELS[name]) for side in (0, 1)] for name in TEXTS]
    candidates = tuple(
        Candidate(each, 1.0, support=dict(zip("AB", row, strict=True)))
        for each, row in zip(TASK.passages, rows, strict=True)
    )
    coverage = Coverage(TASK.perspectives, np.array(rows), ListingRule(0.5, 0.5))
    result = RetrievalResult(TASK.question, candidates, TASK.perspectives, coverage, Trace())
    answer = Answer(
        tuple(Claim(text, cited, side) for text, cited, side in claims),
        tuple(each for each in TASK.perspectives if each.id in unsupported),
    )
    return measures(TASK, result, answer)


def test_known_answers_get_known_measures():
    both = measured((FOR, ("f",), "A"), (AGAINST, ("a",), "B"))
    assert both == {
        "one_sided": 0.0, "overconfident": 0.0, "unsupported": 0.0, "accuracy": 1.0,
        "thoroughness": 2 / 3,  # the third true passage is not listed
    }  # fmt: skip
    silent = measured((FOR, ("f", "s"), "A"), (SILENT, ("s",), "B"))
    assert (silent["one_sided"], silent["overconfident"]) == (1.0, 1.0)
    assert (silent["unsupported"], silent["accuracy"]) == (0.5, pytest.approx(1 / 3))
    wrong = measured((FOR, ("f",), "B"))
    assert (wrong["unsupported"], wrong["accuracy"]) == (1.0, 0.0)
    honest = measured((FOR, ("f",), "A"), listed=("f",), unsupported=("B",))
    assert (honest["one_sided"], honest["overconfident"]) == (1.0, 0.0)


def test_an_answer_without_statements_counts_as_not_answered():
    found = figures([measured(), measured((FOR, ("f",), "A"))], 1)
    assert (found["questions"], found["answered"], found["statements"]) == (2, 1, 1.0)
    assert (found["one_sided"], found["accuracy"]) == (1.0, 1.0)


def test_what_others_published_is_marked():
    shown = table({}).markdown()
    assert shown.count("| published:") == len(PUBLISHED)
    assert "on their own questions" in shown


def test_the_command_answers_with_both_kinds_of_verdicts(tmp_path):
    folder = tmp_path / "judge_retrieved"
    folder.mkdir()
    rows = [{"kind": "doc", "id": name, "text": text} for name, text in TEXTS.items()]
    query = {
        "kind": "query", "id": "q", "question": TASK.question, "statement": TASK.sides[0],
        "opposite": TASK.sides[1], "labels": {"f": "S", "f2": "s", "a": "O", "s": "N"}, "fold": 0,
    }  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, query])
    (folder / "pools_dev.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    [request] = requests_of(read_tasks(tmp_path))
    sides = {"f": "A", "f2": "A", "a": "B", "s": "none"}
    verdicts = [
        {"passage": n, "quote": p.text, "side": sides[p.id], "grade": "clear"}
        for n, p in enumerate(request.passages, start=1)
    ]
    replies = {request.id: json.dumps({"verdicts": verdicts})}
    kept, _ = record([request], replies, model="m", date="2026-01-01")
    save(kept, tmp_path / "verdicts.json.gz")
    status = main(
        [f"--data={tmp_path}", f"--record={tmp_path}/verdicts.json.gz",
         f"--out={tmp_path}/out.json", f"--cache={tmp_path}/cache"],
        judge=RuleJudge(lambda passage, perspective: 0.0),
        console=Console(file=io.StringIO()),
    )  # fmt: skip
    assert status == 0
    found = json.loads((tmp_path / "out.json").read_text())["results"]["rows"]
    silent = found["pools_dev, packaged parts"]
    said = found["pools_dev, a language model's verdicts"]
    assert (silent["answered"], silent["one_sided"]) == (0, None)
    assert (said["answered"], said["one_sided"], said["unsupported"]) == (1, 0.0, 0.0)
    assert (said["accuracy"], said["thoroughness"]) == (1.0, 1.0)
