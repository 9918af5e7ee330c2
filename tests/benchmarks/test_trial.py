import json
from pathlib import Path

import pytest

from benchmarks.core.results import CHECKOUT
from benchmarks.trial import __main__ as trial
from benchmarks.trial.asking import QUESTIONS, key_of, statements
from perspective_rag import Corpus, local_pipeline
from perspective_rag.commands.ask import answered, proofs_of
from perspective_rag.storage.files import json_lines


def test_every_label_is_of_a_question_that_is_asked():
    asked = {row["id"] for _, row in json_lines(QUESTIONS)}
    lines = [line.split("\t") for line in trial.LABELS.read_text("utf-8").splitlines()]
    assert {len(line) for line in lines} == {5}
    assert {line[0] for line in lines} == asked
    assert len({tuple(line[:4]) for line in lines}) == len(lines)


def test_a_passage_has_one_label_wherever_it_is_shown_and_other_words_are_read_again():
    listed = key_of("d01", "listed 2", "p", "A / B", "text")
    assert listed == key_of("d01", "not sorted", "p", "A / B", "another")
    assert listed != key_of("d01", "listed 2", "p", "A / C", "text")
    assert key_of("d01", "headline", "", "A / B", "1 for") != key_of(
        "d01", "headline", "", "A / B", "2 for"
    )


@pytest.mark.parametrize(
    ("kind", "label", "verdict"),
    [
        ("listed 1", "1", "true"),
        ("listed 1", "both", "true"),
        ("listed 1", "2", "opposing"),
        ("listed 1", "silent", "silent"),
        ("takes no side", "off topic", "true"),
        ("takes no side", "2", "takes one"),
        ("argues both ways", "1", "1"),
        ("not sorted", "1", "takes a side"),
        ("sentence", "true", "true"),
        ("nothing sorted 2", "", "beside one"),
        ("nothing sorted 3", "", "beside none"),
    ],
)
def test_what_a_label_makes_of_a_statement(kind, label, verdict):
    assert trial.verdict_of(kind, label, ["1", "2", "silent"]) == verdict


def test_what_nobody_has_read_is_counted_and_listed(tmp_path: Path, monkeypatch, capsys):
    labels = tmp_path / "labels.tsv"
    labels.write_text("d01\tpassage\ta\tx\t1\nd01\tpassage\tb\tx\tsilent\n")
    monkeypatch.setattr(trial, "LABELS", labels)
    rows = [
        {"key": ["d01", "passage", name, "x"], "kind": "listed 1", "claim": "A / B", "text": "t"}
        for name in ("a", "b", "new")
    ]
    path = tmp_path / "out.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert trial.main(["report", str(path)]) == 0
    unread, *table = capsys.readouterr().out.splitlines()
    assert unread.split("\t")[:3] == ["d01", "passage", "new"]
    assert "| listed | 3 | 1 | 50 [9, 91] | 1 silent |" in table


def test_all_that_the_screen_claims_is_a_statement():
    pipeline = local_pipeline(Corpus.example(), k=6, discover=2)
    result, answer = answered(pipeline, "Should zoos be closed?", None)
    found = list(statements(result, answer, proofs_of(pipeline, result)))
    kinds = [kind for kind, *_ in found]
    assert kinds[:2] == ["sides", "headline"]
    listed = sum(len(result.supporting(each)) for each in result.perspectives)
    assert sum(kind.startswith("listed") for kind in kinds) == kinds.count("mark") == listed
    assert kinds.count("sentence") == len(answer.claims)
    states = [state for state in result.coverage.states if state != "takes a side"]
    assert [kind for kind in kinds if kind in states] == states


def test_texts_stay_outside_the_repository(tmp_path: Path):
    out = str(CHECKOUT / "out.jsonl")
    with pytest.raises(SystemExit, match="within the repository"):
        trial.main(["ask", "--debates", str(tmp_path), "--notes", str(tmp_path), "--out", out])
