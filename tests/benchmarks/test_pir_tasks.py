"""PIR tasks: three formats read alike, merging, and what is wrong is named."""

from __future__ import annotations

import gzip
import json

import pytest

from benchmarks.pir.data import read_group, read_groups, without_labels
from benchmarks.pir.hub import hub_task, read_hub_folder
from benchmarks.pir.tasks import PirQuery, Task, read_task
from perspective_rag import ConfigError, CorpusError
from tests.benchmarks.pir_samples import (
    query_row,
    sample_task,
    write_hub_folder,
    write_json,
    write_jsonl,
)


def test_the_three_formats_give_the_same_task(tmp_path):
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(write_jsonl(tmp_path / "a.jsonl").read_bytes()))
    tasks = [
        read_task(tmp_path / "a.jsonl", name="sample"),
        read_task(packed, name="sample"),
        read_task(write_json(tmp_path / "b.json"), name="sample"),
    ]
    assert all(task == sample_task() for task in tasks)
    hub = read_hub_folder(write_hub_folder(tmp_path / "perspectrum"), name="perspectrum")
    assert hub == sample_task("perspectrum")  # labels come from the perspective's words


def test_a_downloaded_set_is_read_from_its_snapshot(tmp_path, monkeypatch):
    import huggingface_hub

    asked = {}

    def snapshot(source, **options):
        asked.update(source=source, **options)
        return str(write_hub_folder(tmp_path / "snapshot"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert hub_task("perspectrum") == sample_task("perspectrum")
    assert asked["source"] == "trumancai/perspective-information-retrieval-perspectrum"
    assert asked["repo_type"] == "dataset"
    assert "qrels/test.jsonl" in asked["allow_patterns"]


def test_what_the_hub_cannot_give_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(CorpusError, match="trumancai/perspective-information-retrieval-story"):
        hub_task("story", cache_dir=tmp_path)


def test_queries_of_equal_text_are_merged_with_their_gold():
    rows = [query_row("R", "supports", "s", [gold]) for gold in (0, 2)]
    rows.append(query_row("R", "opposes", "o", [1]))
    queries = tuple(PirQuery(**{**row, "gold": frozenset(row["gold"])}) for row in rows)
    task = Task("t", ("a", "b", "c"), queries).merged()
    assert [query.gold for query in task.queries] == [{0, 2}, {1}]
    assert task.merged() == task


def test_extended_gold_goes_to_the_first_query_of_each_root_alone():
    task = sample_task().extended()
    assert [query.gold for query in task.queries] == [{0, 1}, {0}, {2, 3}, {3}, {4}]


def test_root_queries_take_any_gold_of_their_root():
    roots = sample_task().root_queries()
    assert [query.gold for query in roots.queries] == [{0, 1}, {2, 3}, {4}]
    assert [query.text for query in roots.queries] == list(sample_task().roots)


def test_the_fingerprint_changes_with_any_gold():
    task = sample_task()
    changed = task.extended()
    assert len({task.fingerprint, changed.fingerprint, sample_task().fingerprint}) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"kind": "query", "text": "t", "root": "r", "perspective": "p", "gold": ["d9"]}', "d9"),
        ('{"kind": "query", "text": "t", "root": "r", "gold": ["d0"]}', "perspective"),
        ('{"kind": "answer"}', "unknown kind 'answer'"),
        ('{"kind": "doc", "id": "d0", "text": "again"}', "there twice"),
        ('{"kind": "query", "text": "t", "root": "r", "perspective": "p", "gold": []}', "gold"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, said):
    path = write_jsonl(tmp_path / "task.jsonl")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(CorpusError, match=said) as raised:
        read_task(path)
    assert "task.jsonl" in str(raised.value)


def test_a_demo_file_with_gold_outside_the_corpus_is_refused(tmp_path):
    path = write_json(tmp_path / "task.json")
    values = json.loads(path.read_text())
    values["key_ref"]["0"] = [6]
    path.write_text(json.dumps(values))
    with pytest.raises(CorpusError, match="not positions in a corpus of 6"):
        read_task(path)


def test_a_folder_is_a_group_and_says_what_it_left_out(tmp_path):
    folder = tmp_path / "mine"
    write_hub_folder(folder / "hubbish")
    write_json(folder / "one.json")
    (folder / "quiz.jsonl").write_text('{"source": "s", "choices": []}\n')
    group = read_group(str(folder))
    assert group.name == "mine"
    assert sorted(task.name for task in group.tasks) == ["hubbish", "one"]
    assert group.left_out == ("quiz.jsonl",)


def test_files_of_one_folder_are_one_group(tmp_path):
    paths = [write_json(tmp_path / "a.json"), write_jsonl(tmp_path / "b.jsonl")]
    [group] = read_groups([str(path) for path in paths])
    assert [task.name for task in group.tasks] == ["a", "b"]
    with pytest.raises(ConfigError, match="two tasks of one name"):
        read_groups([str(paths[0])] * 2)


def test_labels_can_be_left_out(tmp_path):
    groups = [read_group(str(write_json(tmp_path / "a.json")))]
    [kept] = without_labels(groups, [f"{tmp_path.name}/a=support"])
    assert {query.label for query in kept.tasks[0].queries} == {"undermine"}
    with pytest.raises(CorpusError, match="no label 'nobody'"):
        without_labels(groups, [f"{tmp_path.name}/a=nobody"])
    with pytest.raises(ConfigError, match="no task is named"):
        without_labels(groups, ["elsewhere/a=support"])
