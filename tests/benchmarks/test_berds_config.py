"""Validating a configuration: what the file may say, what the verdict says, what the status is."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.berds.arguments import parser
from benchmarks.berds.command import main
from benchmarks.berds.config import arguments_of, validation_of
from benchmarks.berds.schema import THRESHOLDS
from benchmarks.core import results
from perspective_rag import ConfigError, MissingDependency, Passage
from perspective_rag.testing import RuleJudge

TOPICS = ("zoos", "cars", "exams", "cash")


def options_of(*arguments):
    return parser().parse_args(list(arguments))


def written(tmp_path, text):
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


# --- the file -------------------------------------------------------------------------------------


def test_a_file_becomes_the_same_options_as_flags(tmp_path):
    path = written(
        tmp_path,
        """
        [run]
        questions = "q"
        retriever = ["bm25", "mine:make"]
        limit = 20
        strict = true
        streamed = false
        mmr-embedder = "minilm"
        [pipeline]
        judge_k = 10
        coverage_weight = 0.5
        lambda_mult = 0.9
        fusion = "round-robin"
        [thresholds]
        min_coverage = 0.5
        max_degradations = 0
        [prices]
        judge_pair = 0.001
        """,
    )
    options = options_of(*arguments_of(path))
    assert options.retriever == ["bm25", "mine:make"]
    assert (options.limit, options.strict, options.streamed) == (20, True, False)
    assert options.mmr_embedder == "minilm"
    validation = validation_of(options)
    assert validation.verdict == "pipeline"
    assert validation.pipeline == {
        "judge_k": 10,
        "coverage_weight": 0.5,
        "mmr_lambda": 0.9,
        "fusion": "round-robin",
    }
    assert validation.thresholds == {"min_coverage": 0.5, "max_degradations": 0}
    assert validation.prices == {"judge_pair": 0.001}
    assert validation.approaches(None) == ("default", "pipeline")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[run]\nretreiver = 'bm25'",
            r"\[run\]: unknown key 'retreiver'; did you mean 'retriever'",
        ),
        ("[runs]\nlimit = 1", "unknown section 'runs'; did you mean 'run'"),
        ("run = 3", r"\[run\] must be a section"),
        ("questions = 'q'", r"'questions' is a key of the section \[run\]"),
        ("[run]\nlimit = 0", "limit must be an integer, at least 1, got 0"),
        ("[run]\nlimit = 2.5", "limit must be an integer"),
        ("[run]\nlimit = true", "limit must be an integer"),
        ("[run]\ndepth = 200", r"depth must be an integer in \[10, 100\], got 200"),
        ("[run]\nmmr_weight = 1.5", r"mmr_weight must be a number in \[0, 1\], got 1.5"),
        ("[run]\nstrict = 'yes'", "strict must be true or false, got 'yes'"),
        ("[run]\nretriever = []", "retriever must be a string or a list of strings"),
        ("[run]\njudge = 3", "judge must be a string, got 3"),
        ("[run]\nsplit = 'tets'", "unknown split 'tets'; did you mean 'test'.*allowed: dev, test"),
        ("[run]\napproach = ['defualt']", "did you mean 'default'"),
        (
            "[pipeline]\nguard_serches = 1",
            "unknown option 'guard_serches'; did you mean 'guard_searches'",
        ),
        (
            "[pipeline]\nmmr_lambda = 2",
            r"mmr_lambda must be a number in \[0, 1\]; got 2",
        ),
        ("[pipeline]\nfusion = 'rff'", "did you mean 'rrf'"),
        ("[pipeline]\nk = 7", "k is set by the benchmark"),
        (
            "[thresholds]\nmin_covrage = 0.5",
            "unknown key 'min_covrage'; did you mean 'min_coverage'",
        ),
        ("[thresholds]\nmin_coverage = 70", r"min_coverage must be a number in \[0, 1\], got 70"),
        ("[thresholds]\nmax_seconds = -1", "max_seconds must be a number, at least 0, got -1"),
        ("[thresholds]\nmax_lean = 'low'", r"max_lean must be a number in \[0, 1\], got 'low'"),
        ("[prices]\njudge_pairs = 1", "did you mean 'judge_pair'"),
        ("[run\n", "is not valid TOML"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_the_right_one(tmp_path, text, says):
    with pytest.raises(ConfigError, match=says):
        arguments_of(written(tmp_path, text))


def test_a_file_that_is_not_there_is_an_error_of_status_2(tmp_path):
    screen = io.StringIO()
    status = main([f"--config={tmp_path / 'no.toml'}"], console=Console(file=screen, width=200))
    assert status == 2
    assert "cannot be read" in screen.getvalue()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--threshold", "min_coverage"], "takes NAME=VALUE"),
        (["--threshold", "min_coverage=high"], "must be a number"),
        (["--option", "judge_k=-1"], "judge_k must be a whole number, at least 0"),
        (["--option", "judge_k=3", "--verdict", "pipeline, no guard"], "validate it, not"),
        (["--verdict", "mmr"], "not asked in other words"),
        (["--verdict", "pipeline", "--selector", "none"], "needs a judge that selects"),
    ],
)
def test_flags_are_checked_alike(arguments, says):
    with pytest.raises(ConfigError, match=says):
        validation_of(options_of(*arguments))


def test_without_a_verdict_nothing_is_validated():
    validation = validation_of(options_of())
    assert validation.verdict is None
    assert len(validation.approaches(None)) > 2
    assert validation.plan(None, [], [], options_of()) == []


# --- the verdict ----------------------------------------------------------------------------------


def takes_side(passage, perspective):
    """1 for a passage that opens with the side that the statement takes."""
    return float(passage.text.startswith("con" if "not" in perspective.text.split() else "pro"))


def scores():
    return RuleJudge(takes_side, "scores")


def selects():
    return RuleJudge(takes_side, "selects")


def one_sided():
    """Five supporting passages first, for whatever is asked; the opposing ones only further down."""

    def search(text, k):
        topic = next(each for each in TOPICS if each in text.lower())
        words = ["pro"] * 5 + ["con"] * 5 + ["none"] * 10
        found = [Passage(f"{topic}{n}", f"{w} {topic} <b>{n}</b>") for n, w in enumerate(words)]
        return found[:k]

    return search


def sycophant():
    """Agrees with whoever asks: in the words of one side it finds that side alone."""

    def search(text, k):
        topic = next(each for each in TOPICS if each in text.lower())
        word = "con" if "not" in text.split() else "pro"
        return [Passage(f"{topic}{word}{n}", f"{word} {topic} {n}") for n in range(k)]

    return search


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    rows = [
        {
            "id": topic,
            "question": f"Should {topic} be banned?",
            "perspectives": [f"{topic} should be banned.", f"{topic} should not be banned."],
        }
        for topic in TOPICS
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def make(**thresholds):
        lines = "\n".join(f"{name} = {value}" for name, value in thresholds.items())
        return written(
            tmp_path,
            f"""
            [run]
            questions = "{tmp_path / "mine.jsonl"}"
            retriever = "test_berds_config:one_sided"
            judge = "test_berds_config:scores"
            selector = "test_berds_config:selects"
            cache = "{tmp_path / "cache"}"
            out = "{tmp_path / "out" / "my.json"}"
            no_figures = true
            [thresholds]
            {lines}
            [prices]
            judge_pair = 0.01
            """,
        )

    return make


def run(config, *arguments):
    screen = io.StringIO()
    status = main([f"--config={config}", *arguments], console=Console(file=screen, width=200))
    return status, screen.getvalue()


def test_the_verdict_knows_what_the_pipeline_gains_over_plain_top_k(config, tmp_path):
    status, screen = run(config(min_coverage=0.9, min_coverage_gain=0.5, max_lean=0.7))
    assert status == 0, screen
    verdict = results.read(tmp_path / "out" / "my.verdict.json")["results"]
    plain, own = verdict["rows"]
    assert plain["approach"] == "default"
    assert plain["coverage"]["mean"] == 0.0
    assert (plain["supporting"], plain["opposing"]) == (20, 0)
    assert plain["lean"]["mean"] == 1.0
    assert own["coverage"]["mean"] == 1.0
    assert own["opposing"] >= 4
    assert own["lean"]["mean"] == pytest.approx((own["supporting"] - own["opposing"]) / 20)
    assert own["gains"]["coverage"]["mean"] == 1.0
    assert plain["sycophancy"]["mean"] == 0.0
    assert own["sycophancy"] is not None
    assert own["judged_pairs"] > 0 == plain["judged_pairs"]
    assert verdict["passed"]
    assert verdict["missed"] == []
    assert "passed" in screen
    assert "cost: at most" in screen
    assert "Thresholds: min_coverage = 0.9" in screen


def test_a_retriever_that_agrees_with_whoever_asks_is_fully_sycophantic(config, tmp_path):
    """And the pipeline over it is not: the words of the other side are always searched too."""
    sycophantic = "--retriever=test_berds_config:sycophant"
    status, screen = run(config(max_sycophancy=0.9), sycophantic)
    assert status == 0, screen
    rows = results.read(tmp_path / "out" / "my.verdict.json")["results"]["rows"]
    plain, own = (row for row in rows if row["retriever"].endswith("sycophant"))
    assert plain["sycophancy"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert abs(own["sycophancy"]["mean"]) <= 0.2
    assert own["coverage"]["mean"] == 1.0 > plain["coverage"]["mean"]


def breaks():
    def rule(passage, perspective):
        if "cars" in passage.text:
            raise RuntimeError("the judge is down")
        return takes_side(passage, perspective)

    return RuleJudge(rule, "breaks")


def test_pairs_the_scorer_could_not_judge_miss_the_limit_and_mark_the_page(config, tmp_path):
    judge = "--judge=test_berds_config:breaks"
    status, screen = run(config(max_degradations=0), judge)
    assert status == 1
    assert re.search(r"max_degradations = 0: degradations is \d\d", screen)
    assert re.search(r"with \d\d degradations in all", screen)
    assert re.search(r"judge: mine/cars p[01]: .*(not )?be banned", screen)
    page = (tmp_path / "out" / "my.html").read_text()
    assert page.index("degradations: the figures hold for what did not fail") < page.index("<svg")
    assert run(config(), judge, "--strict")[0] == 2


def raising(error):
    def rule(passage, perspective):
        raise error

    return rule


def down():
    return RuleJudge(raising(RuntimeError("connection refused")), "down")


def not_there():
    return RuleJudge(raising(MissingDependency("judge", "judging with 'x'")), "not there")


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        ("down", r"down judged none of 3\d pairs: connection refused; .*same command"),
        ("not_there", r"\[judge\]"),
    ],
)
def test_a_judge_that_is_down_ends_the_run_with_status_2(config, tmp_path, judge, says):
    """Else it would write a report in which no passage supports anything."""
    status, screen = run(config(), f"--judge=test_berds_config:{judge}")
    assert status == 2
    assert re.search(says, screen), screen
    assert not list((tmp_path / "out").glob("*.html"))


def test_an_approach_without_its_model_is_left_out_with_a_word_and_an_error_where_strict(config):
    expansion = "--approach=expansion"
    status, screen = run(config(), expansion)
    assert status == 0
    assert "Left out, their models being absent: expansion." in screen
    status, screen = run(config(), expansion, "--strict")
    assert status == 2
    assert "nothing to run expansion with" in screen


def test_what_cannot_be_written_is_said_before_anything_is_judged(config, tmp_path):
    (tmp_path / "file").write_text("in the way")
    status, screen = run(config(), f"--out={tmp_path / 'file' / 'my.json'}")
    assert status == 2
    assert "cannot be written" in screen
    assert not list((tmp_path / "cache").rglob("verdicts*"))


@pytest.mark.parametrize(
    ("retriever", "says"),
    [
        ("bm52", "unknown retriever 'bm52'; did you mean 'bm25'"),
        ("contreiver", "did you mean 'contriever'"),
        ("bm52+minilm", "did you mean 'bm25'"),
        ("test_berds_config:one_side", "has no 'one_side'"),
        ("nowhere:make", "the module cannot be imported"),
        ("none.jsonl", "no such file of retrieval output"),
    ],
)
def test_a_wrong_retriever_is_said_before_anything_is_read(config, retriever, says):
    status, screen = run(config(), f"--retriever={retriever}", "--corpus=nowhere")
    assert status == 2
    assert says in screen
    assert "nowhere does not exist" not in screen


def test_a_missed_threshold_is_status_1_and_said(config, tmp_path):
    status, screen = run(config(max_lean=0.0, max_judged_pairs=1))
    assert status == 1
    assert "max_judged_pairs = 1: judged pairs is" in screen
    assert "max_judged_pairs = 1" in (tmp_path / "out" / "my.html").read_text()
    assert run(config(max_judged_pairs=1000))[0] == 0


def test_the_page_holds_the_worst_questions_escaped_and_fetches_nothing(config, tmp_path):
    assert run(config())[0] == 0
    page = (tmp_path / "out" / "my.html").read_text()
    assert "worst questions" in page
    for topic in TOPICS:
        assert f"Should {topic} be banned?" in page
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    assert "<b>0</b>" not in page
    assert "<svg" in page
    assert not re.search(r"<script|<link|<img|@import|src=", page)


def test_flags_come_after_the_file(config, tmp_path):
    status, screen = run(
        config(), "--threshold=min_coverage_gain=0.1", "--limit=2", "--no-sycophancy"
    )
    assert status == 0, screen
    assert "2 questions" in screen
    row = results.read(tmp_path / "out" / "my.verdict.json")["results"]["rows"][0]
    assert row["sycophancy"] is None
    status, screen = run(config(), "--threshold=max_sycophancy=1", "--no-sycophancy")
    assert status == 1
    assert "nothing to measure it on" in screen


def test_the_options_reach_the_pipeline_and_are_not_taken_for_others(config, tmp_path):
    run(config())
    before = results.read(tmp_path / "out" / "my.verdict.json")["results"]["rows"][1]
    run(config(), "--option=judge_k=0", "--option=guard_searches=0")
    after = results.read(tmp_path / "out" / "my.verdict.json")["results"]["rows"][1]
    assert before["judged_pairs"] > 0
    assert after["judged_pairs"] == 0
    assert after["coverage"]["mean"] < before["coverage"]["mean"]


def test_every_threshold_is_measured(config):
    values = {name: (0 if name.startswith("max") else 1) for name in THRESHOLDS}
    status, screen = run(config(**values))
    assert status == 1
    missed = screen.partition("missed:")[2]
    assert "max_seconds = 0" in missed
    assert "max_judged_pairs = 0" in missed
    assert "min_precision_gain = 1" in missed
    assert "min_coverage = 1:" not in missed  # reached
    assert "max_degradations = 0" not in missed


def test_the_example_of_the_documentation_is_valid(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml[^\n]*\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        validation_of(options_of(*arguments_of(written(tmp_path, block))))


@pytest.mark.parametrize("name", ["measured.toml", "measured-dense.toml"])
def test_the_measured_configurations_are_valid(name):
    options = options_of(*arguments_of(results.CHECKOUT / "benchmarks" / "berds" / name))
    assert options.judge != options.selector
    assert options.depth == 100
    assert (options.tuning_share, options.decision) == (0.5, "compared")
    assert "default" in validation_of(options).approaches(options.approach)
