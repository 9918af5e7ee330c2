"""Answers from one passage: scores, data, and runs against a server."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.ambigqa.command import main
from benchmarks.ambigqa.data import read_answer_task
from benchmarks.ambigqa.scoring import contains, exact_match, f1, said
from benchmarks.ambigqa.summary import Row, summary
from benchmarks.core.results import read, write
from benchmarks.downstream import commands
from benchmarks.downstream.report import sections
from benchmarks.downstream.retrieving import CONDITIONS
from perspective_rag import CorpusError
from tests.benchmarks.downstream_samples import write_ambignq
from tests.benchmarks.pir_samples import write_json
from tests.contract import openai_server as scripted


def console():
    return Console(width=160, record=True, file=io.StringIO())


# Scores


@pytest.mark.parametrize(
    ("answer", "accepted", "equal"),
    [
        ("The Red House.", ["red house"], 1.0),
        ("red  HOUSE!", ["a red house"], 1.0),
        ("house red", ["red house"], 0.0),
        ("May 4, 1932", ["4 May 1932", "may 4 1932"], 1.0),
        ("1,000", ["1000"], 1.0),
        ("theatre", ["atre"], 0.0),
        ("", ["red"], 0.0),
        ("red", [], 0.0),
    ],
)
def test_exact_match_compares_words_without_case_punctuation_and_articles(answer, accepted, equal):
    assert exact_match(answer, accepted) == equal


@pytest.mark.parametrize(
    ("answer", "accepted", "expected"),
    [
        ("big red car", ["red big truck"], 2 * 2 / 6),  # two words in common, three each
        ("red red", ["red"], 2 * 1 / 3),  # a word counts as often as both have it
        ("red", ["blue", "dark red"], 2 * 1 / 3),  # the best of the accepted ones
        ("the red", ["red"], 1.0),
        ("green", ["red"], 0.0),
    ],
)
def test_f1_counts_words(answer, accepted, expected):
    assert f1(answer, accepted) == pytest.approx(expected)


def test_contains_takes_whole_words_in_their_order():
    assert contains("It opened on May 4, 1932, I think", ["4 May 1932", "may 4 1932"]) == 1.0
    for text in ("party", "smart", "arts"):
        assert contains(text, ["art"]) == 0.0
    assert contains("house of red", ["red house"]) == 0.0
    assert contains("anything", ["the", "?"]) == 0.0


@given(st.text(alphabet="abc .,", max_size=12), st.text(alphabet="abc .,", max_size=12))
def test_scores_are_ordered(answer, accepted):
    """An exact match has F1 1; F1 does not depend on which side is which."""
    if exact_match(answer, [accepted]):
        assert f1(answer, [accepted]) == 1.0
    assert f1(answer, [accepted]) == f1(accepted, [answer])
    assert 0.0 <= f1(answer, [accepted]) <= 1.0


def test_what_a_reply_says_is_its_first_line():
    assert said("\n  Answer: 1931\nbecause trams") == "1931"
    assert said("**Short answer:** 1931") in ("1931", "** 1931")
    assert said("\n\n") == ""
    assert said("Answer:\n1931") == "1931"


# Data


def test_meanings_are_asked_on_the_fragments_that_answer_them(tmp_path):
    found = read_answer_task(write_ambignq(tmp_path / "ambigqa"))
    task = found.task
    assert len(task.corpus) == 5  # one fragment is there twice
    assert [query.text for query in task.queries] == [
        "When did the Harbour Bridge open to trams?",
        "When did the Harbour Bridge open to cars?",
        "Who wrote the words of Lanterns?",
        "Who wrote the music of Lanterns?",
    ]
    # 19990 is not 1999, so the third meaning has no passage and is left out.
    assert [sorted(query.gold) for query in task.queries] == [[0, 1], [1], [3], [4]]
    assert found.answers[1] == ("4 May 1932", "May 4, 1932")
    assert task.queries[0].root == "when did the harbour bridge open"
    assert found.answered


def test_a_task_of_ones_own_may_have_answers(tmp_path):
    rows = [
        {"kind": "doc", "id": "d", "text": "It is red."},
        {"kind": "query", "text": "q", "root": "r", "perspective": "p", "gold": ["d"]},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, [rows[0], {**rows[1], "answers": ["red"]}])))
    assert read_answer_task(path).answers == (("red",),)
    path.write_text("\n".join(map(json.dumps, rows)))
    assert not read_answer_task(path).answered
    path.write_text("\n".join(map(json.dumps, [rows[0], {**rows[1], "answers": "red"}])))
    with pytest.raises(CorpusError, match=r"own\.jsonl:2.*list of texts"):
        read_answer_task(path)
    assert read_answer_task(write_json(tmp_path / "demo.json")).answers[0] == ()


def test_data_that_is_something_else_is_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"ambignq_dev\.jsonl"):
        read_answer_task(tmp_path)
    folder = write_ambignq(tmp_path / "other")
    (folder / "ambignq_dev.jsonl").write_text('{"question": "When?"}\n')
    with pytest.raises(CorpusError, match="disambiguations"):
        read_answer_task(folder)


def test_queries_without_an_answer_are_not_sampled(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [{"kind": "doc", "id": "d", "text": "t"}] + [
        {"kind": "query", "text": f"q{i}", "root": "r", "perspective": "p", "gold": ["d"]}
        | ({"answers": ["t"]} if i % 2 else {})
        for i in range(10)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    some = read_answer_task(path).sampled(4, seed=1)
    assert some.answered
    assert len(some.task.queries) == 4


# The table's numbers


def test_the_summary_of_replies_by_hand():
    rows = {
        "gold": Row(["Answer: Ida Holm", "1931"], [1.0, 1.0]),
        "plain": Row(["Ida", "It was 1931."], [1.0, 0.0]),
    }
    found = summary(rows, [("Ida Holm",), ("1931",)], seed=1, resamples=200)
    assert found["gold"]["exact_match"]["mean"] == 1.0
    assert found["plain"]["exact_match"]["mean"] == 0.0
    # F1: 2 * 1 / 3 for the name, 2 * 1 / 4 for the year.
    assert found["plain"]["f1"]["mean"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-6)
    assert found["plain"]["contains"]["mean"] == 0.5
    assert found["plain"]["hit"]["mean"] == 0.5
    assert found["gold"]["exact_match"]["against_plain"]["mean"] == 1.0
    assert found["plain"]["exact_match"]["against_plain"] is None
    without = summary(rows, [("Ida Holm",), ()], seed=1, resamples=50)
    assert set(without["plain"]) == {"hit", "agreement"}
    assert without["gold"]["agreement"]["mean"] == 1.0


# Whole runs


def reads(body, server):
    """A reader that knows nothing: it repeats the last two words of what it was given."""
    text = body["messages"][-1]["content"]
    knowledge = text.partition("\n\nQuestion:")[0] if "Knowledge:" in text else "no idea"
    return scripted.chat("Answer: " + " ".join(knowledge.rstrip(".").split()[-2:]))


def arguments(folder, server, tmp_path, *more):
    data = ["--data", str(folder), "--cache", str(tmp_path / "cache")]
    model = ["--llm", "tiny", "--base-url", server.url, "--resamples", "100"]
    return [*data, *model, "--out", str(tmp_path / "ambigqa-x.json"), *more]


def test_a_whole_run_resumes_and_makes_a_table(tmp_path):
    pytest.importorskip("openai")
    folder = write_ambignq(tmp_path / "ambigqa")
    with scripted.OpenAIServer(reads) as server:
        given = arguments(folder, server, tmp_path)
        assert main(given, console=console()) == 0
        asked = len(server.bodies)
        shown = console()
        assert main(given, console=shown) == 0
        assert len(server.bodies) == asked
        text = shown.export_text()
    assert "24 of 24 replies are known" in text
    assert "0 requests" in text
    assert "free" in text
    values = read(tmp_path / "ambigqa-x.json")
    found = values["results"]["conditions"]
    assert tuple(found) == CONDITIONS
    # The gold passages end in "Ida Holm", "Jon Reed", "in 1931" and "since 1931".
    assert found["gold"]["exact_match"]["mean"] == 0.5
    assert found["gold"]["contains"]["mean"] == 0.75
    assert found["no"]["contains"]["mean"] == 0.0
    assert found["gold"]["hit"]["mean"] == 1.0
    assert found["no"]["hit"]["mean"] == 0.0
    assert asked < 24  # conditions that find the same passage ask once
    assert values["results"]["tokens"] == {"in": 24 * 11, "out": 24 * 3}
    assert values["degradations"] == 0
    write(values, tmp_path / "results" / "ambigqa-x.json")
    texts = sections(tmp_path / "results")
    assert "| gold | 50.0 [" in texts["downstream-ambigqa"]
    assert "| 77.5 |" in texts["downstream-ambigqa"]
    assert "python -m benchmarks.ambigqa" in texts["downstream-commands"]


def test_a_task_without_answers_is_compared_with_the_reply_to_gold(tmp_path):
    pytest.importorskip("openai")
    path = write_json(tmp_path / "demo.json")
    with scripted.OpenAIServer(reads) as server:
        given = arguments(path, server, tmp_path, "--condition", "gold", "--condition", "no")
        assert main(given, console=console()) == 0
    found = read(tmp_path / "ambigqa-x.json")["results"]["conditions"]
    assert found["gold"]["agreement"]["mean"] == 1.0
    assert found["no"]["agreement"]["mean"] == 0.0
    assert "exact_match" not in found["no"]


def test_a_failing_server_ends_the_run_and_the_rest_is_asked_later(tmp_path):
    pytest.importorskip("openai")
    folder = write_ambignq(tmp_path / "ambigqa")

    def fails_late(body, server):
        return scripted.failure(400, "no more") if len(server.bodies) > 3 else reads(body, server)

    with scripted.OpenAIServer(fails_late) as server:
        given = arguments(folder, server, tmp_path, "--concurrency", "1")
        shown = console()
        assert main(given, console=shown) == 2
        assert "no more" in shown.export_text()
        assert not (tmp_path / "ambigqa-x.json").exists()
        server.behaviour = reads
        before = len(server.bodies)
        assert main(given, console=console()) == 0
        texts = [json.dumps(body["messages"]) for body in server.bodies]
    # Only the one that failed was sent twice.
    assert len(texts) - len(set(texts)) == 1
    assert texts[before] == texts[before - 1]


def test_a_paid_server_is_asked_only_when_that_was_agreed_to(tmp_path, monkeypatch):
    pytest.importorskip("openai")
    folder = write_ambignq(tmp_path / "ambigqa")
    monkeypatch.setattr(commands, "is_paid", lambda url: True)
    prices = ["--price-in", "1", "--price-out", "2", "--condition", "no"]
    with scripted.OpenAIServer(reads) as server:
        shown = console()
        given = arguments(folder, server, tmp_path, *prices)
        assert main(given, console=shown) == 2
        text = shown.export_text()
        assert "4 requests" in text
        assert "$0.00" in text
        assert "--yes" in text
        assert server.bodies == []
        assert main([*given, "--yes"], console=console()) == 0
        assert len(server.bodies) == 4


def test_what_cannot_be_read_is_said(tmp_path):
    shown = console()
    given = ["--data", str(tmp_path / "nothing.jsonl"), "--llm", "m", "--base-url", "http://x"]
    assert main(given, console=shown) == 2
    assert "nothing.jsonl" in shown.export_text()
