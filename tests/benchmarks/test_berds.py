"""The BERDS benchmark from its command line to its files, over a corpus with known answers."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.berds import published, report
from benchmarks.berds.approaches import Found
from benchmarks.berds.command import main
from benchmarks.berds.estimate import estimate
from benchmarks.berds.judges import same_model
from benchmarks.berds.questions import Question
from benchmarks.berds.retrievers import StoreRetriever
from benchmarks.berds.run import BerdsConfig, Models, run_berds
from benchmarks.berds.stances import Stances, by_rule
from benchmarks.berds.verdicts import Verdicts
from benchmarks.core import results
from perspective_rag import (
    BM25Store,
    CallableStore,
    ConfigError,
    JudgeError,
    Passage,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.errors import LLMReplyError
from perspective_rag.testing import HashEmbedder, ScriptedLLM

ROOT = Path(__file__).parents[2]
TOPICS = ("zoos", "cars", "exams", "phones", "taxes", "drones", "pets", "schools")


class WordJudge:
    """Says that a passage supports a statement when both or neither hold "not" and a topic is shared.

    ``asked`` lists every pair; ``failing`` is a word whose passages it cannot judge; ``log`` a file in which each
    pair is written before it is answered, for runs that are killed.
    """

    threshold = 0.5

    def __init__(self, name="words", failing=None, log=None, delay=0.0):
        self.name, self.failing, self.log, self.delay = name, failing, log, delay
        self.asked = []

    def judge(self, perspectives, passages):
        time.sleep(self.delay)
        if self.failing and any(self.failing in each.text for each in passages):
            raise RuntimeError("broken")
        pairs = [(a.text, b.text) for a in passages for b in perspectives]
        self.asked += pairs
        if self.log:
            with open(self.log, "a", encoding="utf-8") as stream:
                stream.writelines(json.dumps(pair) + "\n" for pair in pairs)
        return [[float(self._supports(a.text, b.text)) for b in perspectives] for a in passages]

    def _supports(self, passage, statement):
        a, b = set(passage.lower().split()), set(statement.lower().strip(".").split())
        return ("not" in a) == ("not" in b) and bool(a & b & set(TOPICS))


def other_judge():
    """A factory for the command line."""
    return WordJudge("other words")


def slow_judge():
    """A factory whose judge writes down what it is asked, for the run that is killed."""
    return WordJudge(
        "slow words", log=os.environ["BERDS_LOG"], delay=float(os.environ["BERDS_DELAY"])
    )


@pytest.fixture
def data(tmp_path):
    """Two sets of four questions; of six passages on each topic the first three by BM25 support it."""
    (tmp_path / "q").mkdir()
    for name, topics in (("alpha", TOPICS[:4]), ("beta", TOPICS[4:])):
        rows = [
            {
                "id": topic,
                "question": f"Should {topic} be banned?",
                "perspectives": [f"{topic} should be banned.", f"{topic} are not harmful."],
                "generated_perspectives": [
                    {"name": "a", "text": f"{topic} harm"},
                    {"name": "b", "text": f"{topic} help"},
                ],
            }
            for topic in topics
        ]
        (tmp_path / "q" / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
    rows = [
        {"id": f"{topic}{i}", "title": "T", "text": text}
        for topic in TOPICS
        for i, text in enumerate(
            [f"{topic} banned banned harm {i}" for i in range(5)]
            + [f"{topic} are not harmful and not much else {i}" for i in range(3)]
        )
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def command(data, *arguments):
    return [
        f"--questions={data / 'q'}",
        f"--corpus={data / 'corpus.jsonl'}",
        "--mmr-embedder=minilm",
        f"--cache={data / 'cache'}",
        f"--out={data / 'out' / 'berds.json'}",
        *arguments,
    ]


def run(data, *arguments):
    screen = io.StringIO()
    status = main(command(data, *arguments), console=Console(file=screen, width=250))
    path = data / "out" / "berds.json"
    return status, results.read(path) if status == 0 else None, screen.getvalue()


@pytest.fixture
def judged(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return "--judge=test_berds:other_judge"


def test_the_whole_command_reproduces_known_figures(data, judged):
    status, document, screen = run(
        data,
        judged,
        "--mmr-weight=0.5",
        "--strict",
        "--approach=default",
        "--approach=mmr",
        "--approach=expansion",
        "--approach=expansion + mmr",
        "--selector=none",
    )
    assert status == 0, screen
    assert "at most" in screen
    assert "First answer after" in screen
    rows = {row["approach"]: row for row in document["results"]["rows"]}
    assert list(rows) == ["default", "mmr", "expansion", "expansion + mmr"]
    plain = rows["default"]["metrics"]
    # The five that support come first: both sides appear at rank 6, every passage is right.
    assert plain["mrecall@5"]["average"]["mean"] == 0.0
    assert plain["mrecall@10"]["average"]["mean"] == 1.0
    assert plain["precision@5"]["average"]["mean"] == 1.0
    assert plain["precision@10"]["average"]["mean"] == pytest.approx(0.8)
    assert plain["precision@1"]["beta"]["mean"] == 1.0
    assert plain["subtopic_recall@5"]["alpha"]["mean"] == 0.5
    assert rows["default"]["outcomes"] == {"supporting": 8, "opposing": 0, "both": 0, "neither": 0}
    assert document["results"]["sizes"]["bm25"]["size"]["mean"] == 6.0
    assert document["results"]["union"]["coverage"]["average"]["mean"] == 1.0
    # MMR brings the other side up, because it is worded unlike the rest.
    assert rows["mmr"]["metrics"]["mrecall@5"]["average"]["mean"] > 0.0
    change = rows["mmr"]["against_default"]["mrecall@5"]
    assert change["mean"] == rows["mmr"]["metrics"]["mrecall@5"]["average"]["mean"]
    leans = {row["asked_as"]: row for row in document["results"]["lean"]}
    assert leans["question"] == leans["question"] | {"p": 1.0, "n": 0.0, "delta": 1.0}
    # Asked in the opponents' words, their three passages come first.
    assert leans["opposing"] == leans["opposing"] | {"p": 0.4, "n": 0.6, "delta": -0.5}
    assert leans["supporting"]["delta"] == 1.0
    searches = {name: row["cost"]["searches"] for name, row in rows.items()}
    assert searches == {"default": 1, "mmr": 1, "expansion": 2, "expansion + mmr": 2}
    assert document["results"]["judged_for_both"] == 0.0
    assert document["degradations"] == 0
    assert document["judge"]["name"] == "other words"
    for row in rows.values():
        for by_set in row["metrics"].values():
            assert set(by_set) == {"alpha", "beta", "average"}
            assert all(
                each["low"] <= each["mean"] + 1e-9 and each["mean"] <= each["high"] + 1e-9
                for each in by_set.values()
            )
    text = (data / "out" / "berds.md").read_text()
    assert "published:" not in text  # these are not the paper's questions
    of_berds = dict.fromkeys(("arguana", "kialo", "opinionqa"), 3)
    tables = report.tables({**document["results"], "questions": of_berds})
    names = {row[0] for table in tables for row in table.rows}
    assert {"published: BM25, Sphere", "published: Contriever, Sphere, expansion"} <= names
    assert {path.name for path in (data / "out").glob("*.svg")} == {
        "berds-outcomes.svg",
        "berds-lean.svg",
    }


def test_the_pipeline_and_a_tuned_weight_run_beside_the_baselines(data, judged):
    status, document, screen = run(
        data, judged, "--selector=probe", "--limit=4", "--no-sycophancy", "--no-figures"
    )
    assert status == 0, screen
    assert [row["approach"] for row in document["results"]["rows"]][4:] == [
        "pipeline",
        "pipeline, no guard",
        "pipeline, no expansion",
        "pipeline, no judge",
    ]
    weights = document["results"]["mmr_weights"]["bm25"]
    assert set(weights) == {"default", "expansion"}
    assert weights["default"]["tuned_on"] >= 1
    costs = {row["approach"]: row["cost"] for row in document["results"]["rows"]}
    assert costs["pipeline"]["judged_pairs"] > 0
    assert costs["pipeline, no judge"]["judged_pairs"] == 0
    assert document["config"]["models"]["selector"]["name"].startswith("embedding-probe@")


def test_a_judge_is_refused_what_it_selected_unless_forced_and_then_the_report_says_so(
    data, judged
):
    same = [
        "--judge=test_berds:other_judge",
        "--selector=test_berds:other_judge",
        "--approach=default",
        "--approach=pipeline",
        "--no-sycophancy",
        "--no-figures",
    ]
    status, _, screen = run(data, *same)
    assert status == 2
    assert "same model" in screen
    assert not (data / "out").exists()
    status, document, screen = run(data, *same, "--force-same-judge")
    assert status == 0
    assert document["results"]["same_model_selects_and_scores"]
    assert "not to be trusted" in (data / "out" / "berds.md").read_text()


def test_the_same_files_are_the_same_model_whatever_they_are_called():
    first = {"name": "a", "files": "f00"}
    assert same_model(first, {"name": "b", "files": "f00"})
    assert not same_model(first, {"name": "a", "files": "f01"})
    assert same_model(
        {"name": "llm:m", "files": None}, {"name": "llm:m", "files": None, "prompt": "other"}
    )
    assert not same_model(first, None)


def library_run(data, judge, folder, *, strict=False, passages=None, **changes):
    questions = [
        Question(
            f"s/{t}",
            "s",
            f"Should {t} be banned?",
            (f"{t} should be banned.", f"{t} should not be banned."),
        )
        for t in TOPICS[:3]
    ]
    passages = passages or [
        Passage(f"{t}{i}", f"{t} is {'not ' if i % 2 else ''}fine {i}")
        for t in TOPICS[:3]
        for i in range(6)
    ]
    config = BerdsConfig(approaches=("default",), sycophancy=False, strict=strict, **changes)
    models = Models(judge, {"name": judge.name, "files": None})
    return run_berds(
        questions, [StoreRetriever("bm25", BM25Store(passages))], models, config, folder=folder
    )


def test_a_judge_that_fails_is_recorded_counted_as_unsupported_and_asked_again(tmp_path):
    broken = WordJudge(failing="cars is")
    result = library_run(None, broken, tmp_path)
    assert len(result.degradations) == 12
    assert all("s/cars" in each for each in result.degradations)
    with pytest.raises(JudgeError, match="s/cars"):
        library_run(None, WordJudge(failing="cars is"), tmp_path, strict=True)
    whole = WordJudge()
    again = library_run(None, whole, tmp_path, strict=True)
    assert again.degradations == ()
    assert {a.split()[0] for a, _ in whole.asked} == {"cars"}
    assert len(whole.asked) == again.judged == 12


def test_no_pair_is_judged_twice_and_titles_are_read_as_published(tmp_path):
    judge = WordJudge()
    library_run(None, judge, tmp_path / "a")
    assert len(judge.asked) == len(set(judge.asked)) == 36
    library_run(None, judge, tmp_path / "a")
    assert len(judge.asked) == 36
    titled = [Passage("x", "zoos text", {"title": "Zoo title"})]
    paper, code = WordJudge(), WordJudge()
    library_run(None, paper, tmp_path / "b", passages=titled)
    library_run(None, code, tmp_path / "c", passages=titled, as_published=True)
    assert {text for text, _ in paper.asked} == {"zoos text"}
    assert {text for text, _ in code.asked} == {"zoos text Zoo title"}


def asked_of(log):
    """The pairs of a log, without those that measure the judge's speed: they ask the question itself."""
    return [line for line in log.read_text().splitlines() if not line.endswith('?"]')]


@pytest.mark.slow
def test_a_killed_run_goes_on_without_repeating_or_losing_a_pair(data, judged):
    log = data / "asked.jsonl"
    arguments = command(
        data,
        "--judge=test_berds:slow_judge",
        "--approach=default",
        "--selector=none",
        "--no-figures",
    )
    environment = os.environ | {
        "BERDS_LOG": str(log),
        "BERDS_DELAY": "0.25",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}",
    }
    started = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.berds", *arguments],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    ledgers = data / "cache" / "berds"
    for _ in range(1200):
        kept = [
            line
            for path in ledgers.glob("verdicts*.jsonl")
            for line in path.read_text().splitlines()[1:]
        ]
        if len(kept) >= 32 or started.poll() is not None:
            break
        time.sleep(0.05)
    assert started.poll() is None, started.stderr.read().decode()
    started.send_signal(signal.SIGKILL)
    started.wait()
    started.stderr.close()
    [path] = ledgers.glob("verdicts*.jsonl")
    before = {
        json.loads(line)[0] for line in path.read_text().splitlines()[1:] if line.endswith("]")
    }
    answered = asked_of(log)
    with path.open("a") as stream:  # a line that the kill tore
        stream.write('["torn-i')
    log.unlink()
    environment["BERDS_DELAY"] = "0"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.berds", *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rest = asked_of(log)
    after = [json.loads(line)[0] for line in path.read_text().splitlines()[1:]]
    assert len(after) == len(set(after))
    assert before <= set(after)
    # Only the batch that was in the judge's hands when it was killed may be asked again.
    assert len(set(answered) & set(rest)) <= 16
    assert len(after) == len(set(answered) | set(rest))
    status, document, _ = run(
        data,
        "--judge=test_berds:other_judge",
        "--approach=default",
        "--selector=none",
        "--no-figures",
        "--cache",
        str(data / "fresh"),
    )
    resumed = results.read(data / "out" / "berds.json")
    assert status == 0
    assert resumed["results"]["rows"] == document["results"]["rows"]


def test_a_verdict_set_asks_each_passage_only_for_what_is_open(tmp_path):
    judge = WordJudge()
    one = Question("s/1", "s", "q", ("zoos are good", "zoos are not good"))
    two = Question("s/2", "s", "q", ("zoos are good", "zoos are big"))
    passages = {
        "a": Passage("a", "zoos x"),
        "b": Passage("b", "zoos y"),
        "copy": Passage("copy", "zoos x"),
    }
    with Verdicts.open(judge, {"name": "w"}, tmp_path, as_published=False) as verdicts:
        verdicts.complete([one], {"s/1": passages})
        verdicts.complete([two], {"s/2": passages})
        assert len(judge.asked) == len(set(judge.asked)) == 6
        assert verdicts.gold(two, passages) == {"0": {"a", "b", "copy"}, "1": {"a", "b", "copy"}}
        assert verdicts.missing([one, two], {"s/1": passages, "s/2": passages}) == 0


@pytest.mark.parametrize(
    ("question", "perspectives", "place", "by"),
    [
        (
            "Should zoos be banned?",
            ("Zoos should be banned.", "Zoos should not be banned."),
            0,
            "negation",
        ),
        (
            "Should zoos be banned?",
            ("Zoos should not be banned.", "Zoos should be banned."),
            1,
            "negation",
        ),
        (
            "Is it time to end zoos?",
            ("End them.", "They remain useful and should stay open."),
            0,
            "order in the data",
        ),
    ],
)
def test_supporting_and_opposing_by_rule(question, perspectives, place, by):
    assert by_rule(question, perspectives) == (place, by)


def test_supporting_and_opposing_by_a_language_model_with_the_rule_behind_it():
    sides = ("Zoos should be banned.", "Zoos should not be banned.")
    asked = [Question(f"s/{n}", "s", "Should zoos be banned?", sides) for n in range(4)]
    llm = ScriptedLLM(["2", "Answer: 1.", "1 or 2", LLMReplyError("x", reply="", prompt="stance")])
    stances = Stances(llm)
    for _ in range(2):  # each is asked once, so that no figure of a run has the sides swapped
        assert [stances.of(each) for each in asked] == [(1, 0), (0, 1), (0, 1), (0, 1)]
    assert len(llm.prompts) == 4
    assert stances.decided == {"language model": 2, "negation": 2}
    assert len(stances.failures) == 2
    assert stances.of(Question("s/5", "s", "q", ("a", "b", "c"))) is None
    assert "Zoos should not be banned." in llm.prompts[0].user


@pytest.mark.parametrize(
    "changes",
    [
        {"depth": 5},
        {"depth": 101},
        {"mmr_weight": 1.5},
        {"approaches": ("mmr",)},
        {"approaches": ("default", "mmrr")},
    ],
)
def test_settings_that_cannot_be_used_are_refused(changes):
    with pytest.raises(ConfigError):
        BerdsConfig(**changes)


def test_a_weight_must_be_given_where_there_is_nothing_to_tune_on(tmp_path):
    judge = WordJudge()
    models = Models(judge, {"name": "w"}, mmr_embedder=HashEmbedder())
    store = StoreRetriever("bm25", BM25Store([Passage("a", "zoos")]))
    question = Question("s/1", "s", "zoos", ("zoos",))
    with pytest.raises(PerspectiveRAGError, match="tuned"):
        run_berds(
            [question], [store], models, BerdsConfig(approaches=("default", "mmr")), folder=tmp_path
        )


def test_published_rows_agree_with_each_other():
    for key, row in published.APPROACHES.items():
        assert row[:2] == published.K5[key][6:8]
    for values in (
        *published.K5.values(),
        *(row for row in published.K10.values() if row[0] is not None),
    ):
        for offset in (0, 1):  # an average is that of the three sets, to rounding
            assert sum(values[offset:6:2]) / 3 == pytest.approx(values[6 + offset], abs=0.5)
    assert all(len(row) == 9 for row in published.K5.values())
    assert set(published.LAMBDAS) == set(published.SIZES) == set(published.APPROACHES)


def test_a_ranking_for_k_is_the_one_made_for_it():
    found = Found(
        {
            5: [Passage(str(i), "") for i in range(5)],
            10: [Passage(str(9 - i), "") for i in range(10)],
        }
    )
    assert [p.id for p in found.ranking(5)] == list("01234")
    assert [p.id for p in found.ranking(10)][:2] == ["9", "8"]
    assert found.ranking(100) == []
    assert report.percent({"mean": 0.5, "low": 0.25, "high": 0.75}) == "50.0 [25.0, 75.0]"


def test_what_a_file_of_output_cannot_answer_is_left_out_with_the_reason(data, judged):
    output = data / "theirs.jsonl"
    rows = [
        {
            "question": f"Should {topic} be banned?",
            "ctxs": [{"text": f"{topic} banned"}, {"text": f"{topic} are not harmful"}],
        }
        for topic in TOPICS
    ]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = (
        f"--retriever={output}",
        "--retriever=bm25",
        judged,
        "--mmr-weight=0.9",
        "--selector=none",
        "--no-figures",
    )
    status, document, screen = run(data, *arguments)
    assert status == 0
    figures = document["results"]
    ran = {(row["retriever"], row["approach"]) for row in figures["rows"]}
    assert ("theirs", "default") in ran
    assert ("theirs", "mmr") in ran
    assert ("bm25", "pipeline, no judge") in ran
    reasons = figures["not_served"]["theirs"]
    assert set(reasons) == {
        "expansion",
        "expansion + mmr",
        "pipeline, no judge",
        "asked as supporting",
        "asked as opposing",
    }
    assert "retrieval output" in reasons["pipeline, no judge"]
    assert figures["not_served"]["bm25"] == {}
    assert "Left out for theirs, expansion" in screen
    assert [row["asked_as"] for row in figures["lean"] if row["retriever"] == "theirs"] == [
        "question"
    ]
    assert run(data, *arguments, "--strict")[0] == 2
    status, _, screen = run(data, *arguments, "--verdict=pipeline, no judge")
    assert status == 1
    assert "theirs: pipeline, no judge was not run" in screen


def test_the_estimate_bounds_what_is_judged(tmp_path):
    questions = [
        Question(
            topic, "s", f"Should {topic} be banned?", (f"Ban {topic}.", f"{topic} are not bad.")
        )
        for topic in TOPICS
    ]
    judge, selector = WordJudge(), WordJudge("selects")
    models = Models(judge, {"name": "words", "threshold": 0.5}, selector, {"name": "selects"})
    config = BerdsConfig(approaches=("default", "pipeline"), pipeline={"judge_k": 4})
    plan = estimate(questions, [], 1, models, config)
    # 2 perspectives of 8 questions: 10 of the retriever, 10 of the pipeline, 5 for each wording.
    assert plan.judge_pairs == 16 * (10 + 10 + 10)
    # 4 candidates, thrice with the guard, of two sides, once for k = 5 and once for k = 10.
    assert plan.selector_pairs == 8 * 4 * 3 * 2 * 2
    assert 0 < plan.likely_seconds < plan.seconds
    judge.asked, selector.asked = [], []
    passages = [Passage(f"{t}{i}", f"{t} banned {i} not") for t in TOPICS for i in range(20)]
    retriever = StoreRetriever("bm25", BM25Store(passages))
    run_berds(questions, [retriever], models, config, folder=tmp_path)
    assert 0 < len(judge.asked) <= plan.judge_pairs
    assert 0 < len(selector.asked) <= plan.selector_pairs


def test_an_embedder_that_is_not_installed_is_said_before_anything_is_asked(
    data, judged, monkeypatch
):
    monkeypatch.setattr("benchmarks.berds.loading.find_spec", lambda name: None)
    status, _, screen = run(data, judged, "--mmr-embedder=WhereIsAI/UAE-Large-V1")
    assert status == 2
    assert "--mmr-embedder minilm" in screen
    assert "First answer" not in screen


def flaky(texts, broken):
    """BM25 that breaks on the words that are in ``broken`` at the time."""
    own = BM25Store([Passage(text, text) for text in texts])

    def search(text, k):
        if any(word in text.lower() for word in broken):
            raise ConnectionError("the store is down")
        return own.search(text, None, k=k)

    return CallableStore(search)


def over(store, folder, **changes):
    names = ("zoos", "cars")
    questions = [
        Question(
            f"s/{name}",
            "s",
            f"Should {name} be banned?",
            (f"{name} should be banned", f"{name} should not be banned"),
        )
        for name in names
    ]
    config = BerdsConfig(approaches=("default", "pipeline"), verdict="pipeline", **changes)
    models = Models(
        WordJudge("scores"), {"name": "scores"}, WordJudge("selects"), {"name": "selects"}
    )
    return run_berds(questions, [StoreRetriever("own", store)], models, config, folder=folder)


def test_a_search_that_fails_costs_its_question_is_said_and_is_tried_again(tmp_path):
    texts = ("zoos are bad", "zoos are not bad", "cars are bad", "cars are not bad")
    broken = ["zoos"]
    store = flaky(texts, broken)
    first = over(store, tmp_path)
    coverage = first.rows()[0]["metrics"]["mrecall@5"]["average"]["mean"]
    assert coverage == 0.5
    said = "\n".join(first.degradations)
    for place in ("default / s/zoos", "pipeline / s/zoos", "asked in other words / s/zoos"):
        assert f"own / {place}" in said
    assert "asked in other words / pipeline / s/zoos" in said
    assert "s/cars" not in said
    with pytest.raises(PerspectiveRAGError, match="store is down"):
        over(store, tmp_path, strict=True)
    broken.clear()
    again = over(store, tmp_path)
    assert again.degradations == ()
    assert again.rows()[1]["metrics"]["mrecall@5"]["average"]["mean"] == 1.0


def test_a_store_that_answers_nothing_ends_the_run(tmp_path):
    with pytest.raises(RetrievalError, match=r"every search of own failed.*store is down"):
        over(flaky(["zoos"], ["zoos", "cars"]), tmp_path)


def raises():
    """A factory that fails."""
    raise KeyError("no such index")


def test_what_breaks_in_a_factory_is_shown_with_status_2(data, judged, capsys):
    status, _, _ = run(data, judged, "--retriever=test_berds:raises", "--approach=default")
    assert status == 2
    assert "no such index" in capsys.readouterr().err
