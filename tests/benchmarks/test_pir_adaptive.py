"""The comparison of the adaptive choice: its protocol, the re-ordering on a task, and its cost."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.core.results import check
from benchmarks.pir import adaptive as comparison
from benchmarks.pir.adaptive_report import sections
from benchmarks.pir.cost import measure
from benchmarks.pir.left_out import left_out
from benchmarks.pir.left_out import main as left_out_main
from benchmarks.pir.rewording import reworded
from benchmarks.pir.stance import BEFORE, other_side_last, reranked, sides_found
from perspective_rag.flow.request import Recorder
from perspective_rag.testing import TableJudge
from tests.benchmarks.pir_samples import letter_retriever, sample_task, write_json, write_jsonl

LOW = {"a": 100.0, "b": 0.0, "c": 0.0}
HIGH = {"a": 0.0, "b": 100.0, "c": 60.0}
HALF = {"a": 50.0, "b": 50.0, "c": 50.0}


def test_constants_are_chosen_without_the_task_that_is_scored():
    (found,) = left_out([{"low": LOW, "high": HIGH}], [HALF], 1)
    # Without a: high (80 against 0). Without b: low (50 against 30). Without c: low, the first.
    assert found["chosen"] == {"a": "high", "b": "low", "c": "low"}
    assert found["tasks"] == {"a": 0.0, "b": 0.0, "c": 0.0}
    assert found["over_plain"] == found["least_over_plain"] == -50.0
    (two,) = left_out([{"low": LOW, "high": HIGH}], [HALF], 2)
    assert len(two["chosen"]) == 3


def test_with_two_encoders_the_task_is_left_out_of_both_and_the_choice_is_one():
    first, second = left_out(
        [{"low": LOW, "high": HIGH}, {"low": {"a": 0.0, "b": 0.0}, "high": {"a": 9.0, "b": 90.0}}],
        [HALF, {"a": 50.0, "b": 50.0}],
        1,
    )
    # Without b: low is 50 and 0, high 30 and 9, so low; without c: 50 and 0 against 50 and 49.5.
    assert first["chosen"] == second["chosen"] == {"a": "high", "b": "low", "c": "high"}
    assert first["tasks"] == {"a": 0.0, "b": 0.0, "c": 60.0}
    assert second["tasks"] == {"a": 9.0, "b": 0.0}
    assert second["least_over_plain"] == -50.0


def test_a_group_with_as_many_tasks_as_are_left_out_has_no_such_protocol():
    assert left_out([{"low": {"a": 100.0}}], [{"a": 50.0}], 1) == [{}]
    assert left_out([{}], [HALF], 1) == [{}]


def test_other_words_change_what_frames_a_query_and_keep_its_root():
    task = sample_task()
    other = reworded(task)
    assert other.queries[1].text.startswith("I would like to see text that disagrees with")
    for old, new in zip(task.queries, other.queries, strict=True):
        assert new.text.endswith(old.root)
        assert (new.root, new.gold) == (old.root, old.gold)


def asking_for_sides():
    """The sample's queries in words that the rules read a side from."""
    task = sample_task()
    queries = tuple(
        replace(q, text=f"Find a claim that {q.perspective.split()[3]} the claim: {q.root}")
        for q in task.queries
    )
    return replace(task, queries=queries)


def test_the_side_asked_for_comes_first_within_the_limit():
    task = asking_for_sides()
    scores = np.tile(np.linspace(0.9, 0.4, 6), (5, 1))
    judge = TableJudge({("2", "oppose"): 0.9, ("5", "oppose"): 1.0}, default=0.1)
    result, pairs = reranked(judge, task, scores, limit=4)
    assert pairs == 4 * 5
    assert np.argsort(-result[1]).tolist() == [2, 0, 1, 3, 4, 5]
    assert result[1][2] == pytest.approx(BEFORE + 0.9 * scores[1][2])
    assert np.argsort(-result[0]).tolist() == [0, 1, 2, 3, 4, 5]


def test_what_could_not_be_judged_is_recorded():
    book = Recorder()
    judge = TableJudge(failing=frozenset(["0"]))
    scores = np.tile(np.linspace(0.9, 0.4, 6), (5, 1))
    reranked(judge, asking_for_sides(), scores, book=book)
    assert len(book.degradations) == 5  # one batch of each query


def test_gold_of_the_other_side_comes_last_and_all_else_keeps_its_place():
    task = asking_for_sides()
    scores = np.tile(np.linspace(0.9, 0.4, 6), (5, 1))
    found = other_side_last(task, scores)
    # d1 supports the tolls and d0 opposes them; the last root has one query and no other side.
    assert np.argsort(-found[0]).tolist() == [1, 2, 3, 4, 5, 0]
    assert np.argsort(-found[1]).tolist() == [0, 2, 3, 4, 5, 1]
    np.testing.assert_array_equal(found[4], scores[4])
    np.testing.assert_array_equal(other_side_last(plain_words(task), scores), scores)
    # What is gold for both sides keeps its place.
    first = replace(task.queries[0], gold=frozenset({0, 1}))
    both = replace(task, queries=(first, *task.queries[1:]))
    np.testing.assert_array_equal(other_side_last(both, scores)[0], scores[0])


def test_the_first_are_counted_by_the_side_they_are_gold_for():
    task = asking_for_sides()
    scores = np.tile(np.linspace(0.9, 0.4, 6), (5, 1))
    # The first three are d0, d1, d2: one of each side of the tolls, and for the bees, whose sides
    # are d2 and d3, one, which is of the other side for who opposes; nothing for the trains.
    found = sides_found(task, scores, 3)
    assert found == pytest.approx({"asked": 3 / 15, "other": 3 / 15, "neither": 9 / 15}, abs=1e-6)
    assert sides_found(plain_words(task), scores, 3) == {"asked": 0, "other": 0, "neither": 0}


def plain_words(task):
    """The task with queries that ask for no side."""
    return replace(task, queries=tuple(replace(q, text="bridges") for q in task.queries))


def test_a_query_that_asks_for_no_side_keeps_its_scores():
    plain = plain_words(sample_task())
    scores = np.random.default_rng(0).standard_normal((5, 6))
    result, pairs = reranked(TableJudge(), plain, scores)
    assert pairs == 0
    np.testing.assert_array_equal(result, scores)


def test_the_command_writes_every_row_with_its_provenance(tmp_path):
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    write_jsonl(tasks / "one.jsonl")
    write_json(tasks / "two.json")
    out = tmp_path / "out.json"
    arguments = ["--data", str(tasks), "--rerank", "--reworded", "--cache", str(tmp_path / "c")]
    status = comparison.main(
        [*arguments, "--out", str(out)], retriever=letter_retriever(), judge=TableJudge()
    )
    assert status == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    check(document)
    (group,) = document["results"]["groups"].values()
    assert set(group["rows"]["merged"]) >= {"none", "pap", "adaptive", "adaptive + stance rerank"}
    for rows in group["rows"].values():
        assert rows["none"]["over_plain"] == 0.0
        for row in rows.values():
            assert set(row["tasks"]) == {"one", "two"}
            assert 0.0 <= row["mean"] <= 100.0
            assert row["cuts"]["25"] == {"one": 100.0, "two": 100.0}  # of six documents
            assert row["cuts"]["1"]["one"] <= row["tasks"]["one"] <= row["cuts"]["10"]["one"]
    ids = {"name", "threshold", "files"}
    assert set(document["judge"]) == ids
    assert set(group["left_out_one"]["merged"]["chosen"]) == {"one", "two"}
    assert len(group["grid"]["apart"]) == 9
    chosen = tmp_path / "left_out.json"
    assert left_out_main([str(out), str(out), "--group", "tasks", "--out", str(chosen)]) == 0
    document = json.loads(chosen.read_text(encoding="utf-8"))
    check(document)
    (together,) = document["results"]["merged"]["left_out_1"].values()
    assert together == group["left_out_one"]["merged"]
    assert left_out_main([str(out), "--out", str(chosen)]) == 2  # no such group
    assert set(group["reworded"]) == {"none", "adaptive"}


def test_the_sections_of_the_docs_are_made_from_the_results(tmp_path):
    tasks = tmp_path / "pir_demo"
    tasks.mkdir()
    task = asking_for_sides()
    rows = [{"kind": "doc", "id": str(i), "text": text} for i, text in enumerate(task.corpus)]
    for q in task.queries:
        row = {"text": q.text, "root": q.root, "perspective": q.perspective}
        rows.append({"kind": "query", **row, "gold": [str(i) for i in q.gold]})
    lines = "\n".join(map(json.dumps, rows))
    (tasks / "perspectrum.jsonl").write_text(lines, encoding="utf-8")
    (tasks / "story.jsonl").write_text(lines, encoding="utf-8")
    folder = tmp_path / "results"
    given = ["--data", str(tasks), "--rerank", "--reworded", "--cache", str(tmp_path / "c")]
    out = folder / "pir_adaptive.json"
    status = comparison.main(
        [*given, "--out", str(out)], retriever=letter_retriever(), judge=TableJudge(default=0.5)
    )
    assert status == 0
    assert left_out_main([str(out), "--out", str(folder / "pir_left_out.json")]) == 0
    (group,) = json.loads(out.read_text(encoding="utf-8"))["results"]["groups"].values()
    found = sections(folder)
    assert set(found) >= {"adaptive-demo", "adaptive-stance", "adaptive-parts", "adaptive-reworded"}
    row = group["rows"]["merged"]["none"]
    cells = [f"{row['tasks'][name]:.1f}" for name in ("story", "perspectrum")]
    assert (
        f"| plain cosine | {' | '.join(cells)} | {row['mean']:.1f} | = |" in found["adaptive-demo"]
    )
    sides = " / ".join(
        f"{100 * share:.1f}" for share in group["sides"]["perspectrum"]["none"].values()
    )
    assert sides in found["adaptive-stance"]
    assert "adaptive-full" not in found  # no such results
    assert "adaptive-cost" not in found
    assert sections(tmp_path) == {}


def test_the_cost_is_measured_for_each_way():
    row = measure(500, 16, queries=5, fetch_k=10, seed=1)
    assert {"plain_ms", "pap_ms", "adaptive_ms", "pap_times_plain"} <= set(row)
    assert all(value >= 0.0 for value in row.values())
