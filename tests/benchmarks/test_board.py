"""The board over tiny sets: its rows, its protocol, its costs, and what a worse judge does to it."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from rich.console import Console

from benchmarks.board.command import main
from benchmarks.board.page import CROSS_FITTED, TUNED, UNTOUCHED, kind_of, page
from benchmarks.board.scoring import COLUMNS, LLM, OURS, PLAIN, POINTWISE, fall
from benchmarks.core import results
from benchmarks.list_judge import recording
from benchmarks.list_judge.tasks import read_tasks
from perspective_rag import ConfigError
from perspective_rag.testing import HashEmbedder, TableJudge

TOPICS = ("zoos", "cars", "exams", "phones", "taxes")
LABELS = ("S", "S", "S", "S", "S", "S", "O", "O", "N", "N")


def text(topic, place, label):
    return f"should {topic} be banned by law " + " ".join(
        f"{label}{topic}{i}" for i in range(place)
    )


@pytest.fixture
def data(tmp_path):
    """Own notes of two sides, and natural paragraphs, in the layout of the data folder."""
    (tmp_path / "own_notes").mkdir()
    (tmp_path / "judge_dev").mkdir()
    docs, questions, natural = [], [], []
    for topic in TOPICS:
        labels = {f"{topic}-{place}": label for place, label in enumerate(LABELS)}
        for place, (name, label) in enumerate(labels.items()):
            own = text(topic, place, label)
            docs.append({"id": name, "collection": topic, "title": "", "text": own})
            if label != "N":
                sides = {"statement": f"Law should ban {topic}.", "opposite": f"Free {topic}."}
                asked = f"Should law ban {topic}?"
                natural.append({"question": asked, **sides, "document": own, "label": label})
        own = {"for": f"Law should ban {topic}.", "against": f"Law should welcome {topic}."}
        asked = {"id": f"q-{topic}", "collection": topic, "question": f"Should law ban {topic}?"}
        questions.append({**asked, **own, "labels": labels})
    for name, rows in (("dev_docs", docs), ("dev_questions", questions)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "own_notes" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    with gzip.open(tmp_path / "judge_dev" / "natural_sides_dev.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in natural)
    return tmp_path


def judge(data, right=True):
    """One that is never wrong about own notes, or always."""
    table = {}
    for task in read_tasks(data):
        for (name, side), verdict in task.labels.items():
            table[name, f"p{side + 1}"] = 0.9 if (verdict == "true") is right else 0.1
    return TableJudge(table)


@pytest.fixture
def board(data):
    """``board(judge, *arguments)`` gives the status, the results and what was printed."""
    tasks = read_tasks(data)
    requests = recording.requests_of(tasks)
    replies = {
        each.id: json.dumps(
            {
                "verdicts": [
                    {
                        "passage": number,
                        "side": {"S": "A", "O": "B"}.get(label, "none"),
                        "grade": "clear",
                        "quote": "be banned by law",
                    }
                    for number, passage in enumerate(each.passages, start=1)
                    for label in [LABELS[int(passage.id[-1])]]
                ]
            }
        )
        for each in requests
    }
    document, problems = recording.record(requests, replies, model="tiny", date="2026-01-02")
    assert problems == []
    recording.save(document, data / "verdicts.gz")

    def run(judge, *arguments):
        screen, out = io.StringIO(), data / "board.json"
        status = main(
            [f"--data={data}", f"--out={out}", f"--cache={data / 'cache'}",
             f"--record={data / 'verdicts.gz'}", *arguments],
            embedder=HashEmbedder(dimensions=1024), judge=judge,
            console=Console(file=screen, width=400),
        )  # fmt: skip
        return status, results.read(out), screen.getvalue()

    return run


def test_rows_columns_and_costs_are_by_the_labels(board, data):
    status, document, _ = board(judge(data), "--only=own_notes")
    assert status == 0
    rows = {r["measure"]: r for r in document["results"]["rows"] if r["set"] == "own_notes"}
    chosen = rows["both sides among 5"]["columns"]
    assert list(chosen) == list(COLUMNS)
    assert chosen[PLAIN]["mean"] == 0.0  # the first five share most words and all take one side
    assert chosen[POINTWISE]["mean"] < chosen[OURS]["mean"] == chosen[LLM]["mean"] == 1.0
    assert rows["both sides among 5"]["ahead"]["mean"] >= 0
    assert rows["sides told apart (AUC)"]["columns"][OURS]["mean"] == 1.0
    assert rows["true of listed"]["columns"][LLM]["mean"] == 1.0
    assert rows["opposing of listed"]["columns"][OURS]["mean"] == 0.0
    assert rows["listed of all support"]["columns"][LLM]["mean"] == 1.0
    cost = document["results"]["cost"]["own_notes"]
    assert (cost["one call a list"]["calls"], cost["one call a pair"]["calls"]) == (1, 20)
    assert cost["one call a list"]["in"] < cost["one call a pair"]["in"]
    assert "untouched" in page(document)


def test_a_row_that_falls_fails_a_sample_and_one_that_holds_does_not(board, data):
    board(judge(data))
    assert board(judge(data), "--sample")[0] == 0
    status, _, said = board(judge(data, right=False), "--sample", "--only=own_notes")
    assert status == 1
    assert "own_notes, sides told apart (AUC), packaged: FELL" in said
    assert "language model: FELL" not in said


def test_what_less_is_better_of_falls_when_it_grows():
    low, high = ({"parts": p, "wholes": "1 1 1 1"} for p in ("0 0 0 0", "1 1 1 1"))
    assert fall(high, low, lower=False, seed=1) == fall(low, high, lower=True, seed=1) == 0.0
    assert fall(low, high, lower=False, seed=1) == fall(high, low, lower=True, seed=1) == 1.0


def test_the_kind_of_a_set_is_what_was_fitted_on_it():
    def kind(*how):
        return kind_of({"sets": {"a": {"fitted": [{"how": each} for each in how]}}}, "a")

    assert (kind(), kind("elsewhere")) == (UNTOUCHED, UNTOUCHED)
    assert (kind("folds"), kind("folds", "all")) == (CROSS_FITTED, TUNED)
    with pytest.raises(ConfigError, match="does not say what was fitted on 'b'"):
        kind_of({"sets": {}}, "b")
