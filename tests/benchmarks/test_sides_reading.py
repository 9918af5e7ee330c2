"""What people read and mark: extracted sides, audits, labels over a large corpus."""

from __future__ import annotations

import io
import json
from typing import ClassVar

import pytest
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.results import CHECKOUT
from benchmarks.sides.__main__ import main
from benchmarks.sides.labels import Labels, Wanted, read_labels, take_work, write_work
from perspective_rag import ConfigError, CorpusError
from perspective_rag.testing import HashEmbedder, TableJudge
from tests.benchmarks.sides_samples import TOPICS, write_pools


def command(judge, *arguments):
    """Exit status and output of the command line."""
    screen = io.StringIO()
    status = main(
        list(map(str, arguments)),
        embedder=HashEmbedder(dimensions=256),
        judge=judge,
        console=Console(file=screen, width=250),
    )
    return status, screen.getvalue()


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def sample(tmp_path):
    return write_pools(tmp_path)


@pytest.fixture
def given(sample, tmp_path):
    return [
        f"--data={sample.path}",
        f"--cache={tmp_path / 'cache'}",
        f"--out={tmp_path / 'out.json'}",
    ]


def test_extracted_sides_count_once_a_person_said_whose_they_are(sample, given, tmp_path):
    sides = tmp_path / "sides.jsonl"
    judge = sample.judge()
    # The rules call them support and oppose, of "... should be banned by law".
    judge.table |= {
        (passage, name): judge.table[passage, own]
        for passage in sample.labels
        for name, own in (("support", "p1"), ("oppose", "p2"))
    }
    run = [*given, "--extract", f"--sides={sides}"]
    status, screen = command(judge, *run)
    assert status == 0
    assert "12 extracted perspectives wait for a side" in screen
    before = results.read(tmp_path / "out.json")["results"]
    at = before["rows"]["guarded, question alone"]["at"]["5"]
    assert at["listed"]["count"] == 0
    assert at["listed"]["other"] > 0
    assert before["extraction"]["not_said_yet"] == 12
    rows = lines_of(sides)
    assert len(rows) == 12
    assert {row["side"] for row in rows} == {""}
    for row in rows:
        row["side"] = "opposite" if " not " in row["perspective"] else "statement"
    write_lines(sides, rows)
    status, screen = command(judge, *run)
    assert status == 0
    assert "wait for a side" not in screen
    after = results.read(tmp_path / "out.json")["results"]
    at = after["rows"]["guarded, question alone"]["at"]["5"]
    assert at["listed"]["true"]["mean"] == 1.0
    assert at["claims"]["proved"]["mean"] == 1.0
    assert after["extraction"]["questions"] == {"both sides": len(TOPICS)}
    assert lines_of(sides) == rows  # nothing is asked twice
    rows[0]["side"] = "left"
    write_lines(sides, rows)
    status, screen = command(judge, *run)
    assert status == 2
    assert "the side is one of" in screen


def test_an_audit_is_written_without_answers_marked_and_read_back(sample, given, tmp_path):
    file = tmp_path / "audit.jsonl"
    judge = TableJudge({(name, "p1"): 0.9 for name in sample.labels}, default=0.1)
    status, screen = command(judge, *given, "--audit-sample=20", f"--audit-file={file}")
    assert status == 0
    assert "20 of 30 listed supports" in screen
    rows = lines_of(file)
    assert set(rows[0]) == {
        *("question_id", "question", "side", "perspective", "passage_id", "text", "mark")
    }
    status, screen = command(judge, *given, "--audit-sample=20", f"--audit-file={file}")
    assert status == 2  # marks are never written over
    status, screen = command(judge, *given, f"--read-audit={file}")
    assert (status, "nothing is marked yet" in screen.replace("\n", " ")) == (2, True)
    true = {"statement": "SsM", "opposite": "OoM"}
    for row in rows[:-1]:
        label = sample.labels[row["passage_id"]]
        row["mark"] = "yes" if label in true[row["side"]] else "no" if label == "N" else "opposes"
    write_lines(file, rows)
    status, screen = command(judge, *given, f"--read-audit={file}")
    assert status == 0
    assert "19 of 19" in screen
    assert "1 are not marked yet" in screen
    rows[0]["mark"] = "perhaps"
    write_lines(file, rows)
    assert command(judge, *given, f"--read-audit={file}")[0] == 2


def test_what_is_listed_wrongly_can_be_read(sample, given, tmp_path):
    file = tmp_path / "errors.jsonl"
    judge = TableJudge({(name, "p1"): 0.9 for name in sample.labels}, default=0.1)
    status, screen = command(judge, *given, f"--errors={file}")
    assert status == 0
    rows = lines_of(file)
    assert f"{len(rows)} of 30 listed supports are wrong" in screen
    assert all(row["label"] not in "M" for row in rows)
    assert command(sample.judge(), *given, f"--errors={file}")[0] == 0
    assert lines_of(file) == []


def test_an_audit_needs_a_file(sample, given):
    status, screen = command(sample.judge(), *given, "--audit-sample=20")
    assert status == 2
    assert "--audit-file" in screen


def test_a_label_speaks_for_the_opposite_too_unless_that_has_its_own():
    labels = Labels()
    labels.add("Zoos should close.", "a", "S", "Zoos should stay.")
    labels.add("Zoos should close.", "b", "o", "Zoos should stay.")
    labels.add("Zoos should close.", "c", "N", "Zoos should stay.")
    labels.add("Zoos should stay", "c", "s")
    assert [labels.of("zoos should  close", each) for each in "abc"] == ["S", "o", "N"]
    assert [labels.of("Zoos should stay.", each) for each in "abc"] == ["O", "s", "s"]
    assert labels.of("Zoos should stay.", "d") is None
    with pytest.raises(ConfigError, match="a label is one of"):
        labels.add("x", "a", "Q")


def test_of_a_pair_of_opposites_one_is_read():
    labels = Labels()
    labels.add("A.", "known", "S")
    wanted = [
        Wanted("q", "A.", "known", "B."),
        Wanted("q", "A.", "new", "B."),
        Wanted("q", "B.", "new", "A."),
        Wanted("q", "a", "new"),
        Wanted("q", "C.", "new"),
    ]
    assert [(each.statement, each.passage_id) for each in labels.lacking(wanted)] == [
        ("A.", "new"),
        ("C.", "new"),
    ]


def test_texts_of_the_data_stay_outside_the_repository(tmp_path):
    with pytest.raises(ConfigError, match="within the repository"):
        write_work([], {}, CHECKOUT / "benchmarks" / "work.jsonl")
    work, kept = tmp_path / "work.jsonl", tmp_path / "labels.jsonl"
    write_work([Wanted("q", "A.", "p", "B."), Wanted("q", "C.", "p")], {"p": "text"}, work)
    rows = lines_of(work)
    assert rows[0]["text"] == "text"
    rows[0]["label"] = "o"
    write_lines(work, rows)
    assert take_work(work, kept) == 1
    assert lines_of(kept) == [
        {"question_id": "q", "statement": "A.", "opposite": "B.", "passage_id": "p", "label": "o"}
    ]
    assert read_labels([kept]).of("B.", "p") == "s"
    assert take_work(work, kept) == 0
    rows[1]["label"] = "X"
    write_lines(work, rows)
    with pytest.raises(CorpusError, match="a label is one of"):
        take_work(work, kept)
    write_lines(kept, [{"statement": "A."}])
    with pytest.raises(CorpusError, match="is no label"):
        read_labels([kept])


def test_questions_over_a_corpus_are_scored_by_labels_read(tmp_path):
    corpus, questions = tmp_path / "corpus.jsonl", tmp_path / "set.jsonl"
    texts = {
        "for": "zoos should be closed because animals suffer",
        "against": "zoos should not be closed because children learn",
        "aside": "zoos should be closed on mondays said the mayor",
    }
    write_lines(corpus, [{"id": name, "text": text} for name, text in texts.items()])
    write_lines(
        questions,
        [
            {
                "id": "1",
                "question": "Should zoos be closed?",
                "perspectives": ["Zoos should be closed.", "Zoos should not be closed."],
            }
        ],
    )
    said = {"for": (0.9, 0.1), "against": (0.1, 0.9), "aside": (0.9, 0.1)}
    table = {
        (passage, side): value
        for passage, values in said.items()
        for side, value in zip(("support", "oppose"), values, strict=True)
    }
    labels, work, out = (tmp_path / name for name in ("labels.jsonl", "work.jsonl", "out.json"))
    run = [
        f"--labels={labels}",
        f"--questions={questions}",
        f"--corpus={corpus}",
        f"--out={out}",
        f"--cache={tmp_path / 'cache'}",
        f"--work={work}",
        "--polar",
    ]
    status, screen = command(TableJudge(table), *run)
    assert status == 0
    assert "3 pairs lack a label" in screen
    rows = lines_of(work)
    assert {row["passage_id"] for row in rows} == set(texts)
    letters = {"for": "S", "against": "O", "aside": "N"}
    for row in rows:
        row["label"] = letters[row["passage_id"]]
    write_lines(work, rows)
    status, screen = command(TableJudge(table), f"--labels={labels}", f"--take={work}")
    assert (status, "3 labels added" in screen) == (0, True)
    status, screen = command(TableJudge(table), *run)
    assert status == 0
    assert "lack a label" not in screen
    found = results.read(out)["results"]
    guarded = found["rows"]["guarded, fast judge"]
    assert guarded["mrecall@5"]["mean"] == 1.0
    assert guarded["precision@5"]["mean"] == pytest.approx(2 / 5)
    assert guarded["listed"]["count"] == 3
    assert guarded["listed"]["true"]["mean"] == pytest.approx(2 / 3, abs=1e-5)
    assert guarded["claims"]["count"] == 1
    assert guarded["claims"]["true"]["mean"] == 1.0
    assert guarded["listed"]["of_present"]["mean"] == 1.0
    assert guarded["sides_among_k"] == {"all": 1, "some": 0, "none": 0}
    assert guarded["without_perspectives"] == 0
    assert found["sets"]["set"]["rows"]["guarded, fast judge"] == guarded
    assert "set, guarded, fast judge" in out.with_suffix(".md").read_text()
    assert found["pairs_without_label"] == 0
    status, screen = command(TableJudge(table), f"--labels={labels}")
    assert (status, "--questions" in screen) == (2, True)


def test_questions_over_a_corpus_go_on_where_a_run_was_killed(tmp_path):
    corpus, questions = tmp_path / "corpus.jsonl", tmp_path / "set.jsonl"
    write_lines(corpus, [{"id": "a", "text": "zoos and cars should be closed or banned"}])
    asked = [("1", "Should zoos be closed?"), ("2", "Should cars be banned?")]
    write_lines(
        questions,
        [{"id": each, "question": text, "perspectives": ["Yes.", "No."]} for each, text in asked],
    )

    class Killed(TableJudge):
        seen: ClassVar[list[str]] = []

        def judge(self, perspectives, passages):
            self.seen.append(perspectives[0].text)
            if self.killed and "ars" in perspectives[0].text:
                raise KeyboardInterrupt
            return super().judge(perspectives, passages)

    table = {("a", side): 0.1 for side in ("support", "oppose")}
    run = [
        f"--labels={tmp_path / 'labels.jsonl'}",
        f"--questions={questions}",
        f"--corpus={corpus}",
        f"--out={tmp_path / 'out.json'}",
        f"--cache={tmp_path / 'cache'}",
    ]
    for killed, status in ((True, 130), (False, 0), (False, 0)):
        Killed.killed = killed
        assert command(Killed(table), *run)[0] == status
    assert len([each for each in Killed.seen if "oos" in each]) == 1
    assert len([each for each in Killed.seen if "ars" in each]) == 2
