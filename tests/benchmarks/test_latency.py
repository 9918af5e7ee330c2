"""The latency benchmark runs from its command line and says what its numbers belong to."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.core import results
from benchmarks.latency import end_to_end, mmr, pure
from benchmarks.latency.command import main
from benchmarks.latency.timing import alternately, percentiles
from perspective_rag import Corpus, Passage, PerspectivePipeline
from perspective_rag.testing import HashEmbedder, TableJudge

ROOT = Path(__file__).parents[2]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "passages.jsonl"
    rows = [
        {"id": f"p{i}", "text": f"zoos should {'not ' * (i % 2)}be closed, says passage {i}"}
        for i in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(*arguments, **parts):
    screen = io.StringIO()
    status = main(
        ["--seconds", "0.01", *arguments], console=Console(file=screen, width=200), **parts
    )
    return status, screen.getvalue()


@pytest.mark.slow
def test_every_part_is_measured_and_written_with_its_provenance(corpus, tmp_path):
    out = tmp_path / "latency.json"
    judge = TableJudge({("p0", "support"): 0.9, ("p1", "oppose"): 0.9})
    status, screen = run(
        *("--corpus", str(corpus), "--questions", "3", "--limit-corpus", "30", "--out", str(out)),
        "--strict",
        embedder=HashEmbedder(),
        judge=judge,
    )
    assert status == 0
    document = results.read(out)
    found = document["results"]
    assert set(found["pure"]["steps"]) >= {
        "projection",
        "merge",
        "MMR",
        "selection",
        "all together",
    }
    assert {(c["n"], c["k"], c["form"]) for c in found["mmr"]["cases"]} == {
        (n, k, form) for n in (100, 1000) for k in (5, 20) for form in ("array", "list")
    }
    assert all(case["same_choice"] for case in found["mmr"]["cases"])
    whole = found["end_to_end"]
    assert (whole["passages"], whole["questions"]) == (30, 3)
    assert set(whole["cold"]["stages"]) == {"end to end", "rest", "embed", "search", "judge"}
    for times in whole["warm"]["stages"].values():
        assert times["min_ms"] <= times["p50_ms"] <= times["p95_ms"]
        assert times["n"] == 3
    assert whole["cold"]["mean"]["judged_pairs"] > 0
    assert found["judge"]["pairs_per_second"] > 0
    assert document["data"]["passages"] == 30
    assert document["judge"]["name"] == "table"
    assert "Whole questions over 30 passages" in screen
    assert "| end to end |" in out.with_suffix(".md").read_text(encoding="utf-8")


def test_without_a_corpus_the_arithmetic_alone_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(mmr, "SIZES", (100,))
    out = tmp_path / "latency.json"
    assert run("--out", str(out))[0] == 0
    assert set(results.read(out)["results"]) == {"pure", "mmr"}


def test_a_corpus_that_is_not_there_is_said_in_words(tmp_path):
    status, screen = run(
        "--corpus", str(tmp_path / "absent.jsonl"), embedder=HashEmbedder(), judge=TableJudge()
    )
    assert status == 2
    assert "absent.jsonl" in screen


def test_the_invented_problem_takes_the_whole_path(monkeypatch):
    results_seen = []
    retrieve = PerspectivePipeline.retrieve

    def watched(self, *args, **kwargs):
        results_seen.append(retrieve(self, *args, **kwargs))
        return results_seen[-1]

    monkeypatch.setattr(PerspectivePipeline, "retrieve", watched)
    pure.measure(1, seconds=0.01)
    result = results_seen[-1]
    assert result.trace.calls["search"] == 1 + pure.PERSPECTIVES
    assert len(result.candidates) == pure.K
    assert len(result.candidates[0].support) == pure.PERSPECTIVES


def test_our_choice_is_langchains(monkeypatch):
    monkeypatch.setattr(mmr, "SIZES", (100,))
    case = mmr.measure(2, seconds=0.0)["cases"][0]
    assert case["same_choice"]
    assert case["ratio"] == pytest.approx(
        case["langchain"]["p50_ms"] / case["ours"]["p50_ms"], rel=0.05
    )


def test_a_thinned_corpus_keeps_passages_from_all_of_it():
    corpus = Corpus([Passage(str(i), "text") for i in range(10)])
    assert [p.id for p in end_to_end.thinned(corpus, 3).passages] == ["0", "3", "6"]
    assert end_to_end.thinned(corpus, 10) is corpus
    assert end_to_end.thinned(corpus, None) is corpus


def test_times_are_taken_in_turns():
    calls = []
    taken = alternately(
        [lambda: calls.append("a"), lambda: calls.append("b")], seconds=0.0, least=3
    )
    assert [len(each) for each in taken] == [3, 3]
    assert calls[-6:] == list("ababab")
    assert percentiles([1.0, 2.0, 3.0]) == {"p50_ms": 2.0, "p95_ms": 2.9, "min_ms": 1.0, "n": 3}


def test_one_blas_thread_is_asked_for_before_numpy_is_loaded():
    code = "from benchmarks.latency import ONE_BLAS_THREAD; import sys; print(ONE_BLAS_THREAD, 'numpy' in sys.modules)"
    environment = {"PATH": "/usr/bin", "PYTHONPATH": str(ROOT)}
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert output.stdout.split() == ["True", "False"]
