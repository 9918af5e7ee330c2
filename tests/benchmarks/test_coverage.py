"""The coverage benchmark from its command line to its files, over a corpus with a known ceiling."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from dataclasses import asdict, dataclass, field

import pytest
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.command import INTERRUPTED
from benchmarks.core.gold import read_gold
from benchmarks.core.table import Table
from benchmarks.coverage.command import main
from benchmarks.coverage.configurations import (
    BASELINE,
    DISCOVERING,
    GUARDED,
    ablation_configurations,
    configurations,
    topic_configurations,
)
from benchmarks.coverage.outcomes import Outcome
from benchmarks.coverage.report import check_ceiling
from benchmarks.coverage.running import CUTS, Job
from benchmarks.coverage.topics import topic_of, topics_of
from perspective_rag import CorpusError
from perspective_rag.testing import HashEmbedder, TableJudge
from perspective_rag_train.append_log import AppendLog

TOPICS = ("zoos", "cars", "exams", "phones", "taxes", "guns", "drones", "pets")
ASKED = 6  # the last of these is the hard one
ECHOES = 30


@dataclass
class Written:
    """A gold file, and what a judge without errors says of its passages."""

    path: object
    table: dict = field(default_factory=dict)


@pytest.fixture
def gold(tmp_path):
    """Eight questions, each with two passages a side that share its words.

    Only the opposing passages of question 6 share none, and 30 unlabelled passages echo that question:
    among the first 20 of 62 passages one side is not to be had, among 100 everything is.
    """
    lines, questions, table = [], [], {}
    for number, topic in enumerate(TOPICS, start=1):
        sides = {"support": [], "oppose": []}
        for side, ids in sides.items():
            for copy in range(2):
                words = f"{topic} should be banned {side} {copy}"
                if number == ASKED:
                    words = (
                        f"{topic} should be banned{' banned' * copy}"
                        if side == "support"
                        else f"nothing alike {copy}"
                    )
                ids.append(len(lines))
                table[str(len(lines)), side] = 0.9
                lines.append({"kind": "doc", "id": len(lines), "text": words})
        questions.append(
            {"kind": "query", "id": number, "question": f"{topic} should be banned", "gold": sides}
        )
    for copy in range(ECHOES):
        text = f"{TOPICS[ASKED - 1]} should be banned echo{copy}"
        lines.append({"kind": "doc", "id": len(lines), "text": text})
    path = tmp_path / "gold.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in [*lines, *questions])
    return Written(path, table)


@pytest.fixture
def bench(gold, tmp_path):
    """Runs the command line: ``bench(judge, *arguments)`` gives exit status, document and output."""

    def run(judge, *arguments, cache="cache"):
        out = tmp_path / "out.json"
        screen = io.StringIO()
        status = main(
            [
                f"--data={gold.path}",
                f"--limit={ASKED}",
                f"--cache={tmp_path / cache}",
                f"--out={out}",
                *arguments,
            ],
            embedder=HashEmbedder(dimensions=512),
            judge=judge,
            console=Console(file=screen, width=250),
        )
        return status, results.read(out) if status == 0 else None, screen.getvalue()

    return run


def mean(document, row, metric):
    return document["results"]["rows"][row]["metrics"][metric]["mean"]


def test_the_ceiling_is_what_the_labels_allow(bench):
    status, document, _ = bench(None, "--judge", "none", "--strict")
    assert status == 0
    five_of_six = pytest.approx(5 / 6, abs=1e-6)
    assert mean(document, "perfect judge, top 20", "mrecall@5") == five_of_six
    assert mean(document, "perfect judge, top 20", "precision@5") == pytest.approx(
        (5 * 4 / 5 + 2 / 5) / 6, abs=1e-6
    )
    assert mean(document, "perfect judge, top 100", "mrecall@5") == 1.0
    assert mean(document, "perfect judge, top 100", "precision@5") == pytest.approx(0.8)
    assert mean(document, "perfect judge, top 100", "precision@10") == pytest.approx(0.4)
    assert mean(document, BASELINE, "mrecall@5") == five_of_six


def test_every_row_is_there_with_its_cost_and_the_words_name_the_best_rival(bench, gold):
    status, document, screen = bench(TableJudge(gold.table))
    assert status == 0
    rows = document["results"]["rows"]
    assert list(rows) == [row.name for row in configurations()]
    assert document["results"]["questions"] == ASKED
    for row in rows.values():
        assert set(row["metrics"]) == {"mrecall@5", "mrecall@10", "precision@5", "precision@10"}
        for bounds in row["metrics"].values():
            assert bounds["low"] <= bounds["mean"] <= bounds["high"]
        assert set(row["at"]) == {"5", "10"}
    assert rows[BASELINE]["at"]["5"]["searches"] == 1.0
    assert rows[BASELINE]["at"]["5"]["judged_pairs"] == 0.0
    assert rows[BASELINE]["at"]["5"]["said_covered"] is None
    assert rows[BASELINE]["against_baseline"]["mrecall@5"]["p"] == 1.0
    assert rows["with negation, rrf"]["at"]["5"]["searches"] == 2.0
    assert rows["judged choice, no guard"]["at"]["5"]["judged_pairs"] > 0
    guarded = rows[GUARDED]["at"]["5"]
    assert ASKED >= guarded["said_covered"] >= guarded["said_covered_rightly"] > 0
    assert guarded["balance"].keys() == {"support", "oppose"}
    words = document["results"]["statement"]
    assert "guarded" in words
    assert "perfect" not in words
    assert GUARDED in screen
    assert words in screen.replace("\n", " ")


def test_without_a_judge_its_rows_are_left_out_and_only_chooses_among_the_others(bench):
    _, document, _ = bench(None, "--judge", "none", "--only", "MMR 0.9")
    assert list(document["results"]["rows"]) == [BASELINE, "MMR 0.9", "MMR 0.95"]
    assert document["judge"] is None
    assert document["results"]["statement"] == "The guarded pipeline was not run."
    status, _, screen = bench(None, "--judge", "none", "--only", "MRM")
    assert status == 2
    assert "ConfigError" in screen


def interrupted_at_question(number):
    """What stops the program, as Ctrl-C does, at a judge's question of that number."""
    seen = set()

    def before(perspectives, passages):
        seen.update(p.claim for p in perspectives if p.id != "warm-up")
        if len(seen) == number:
            raise KeyboardInterrupt

    return before


def test_an_interrupted_run_goes_on_where_it_stopped_and_judges_nothing_twice(bench, gold):
    judged = ("--only", "judged", "--only", "guarded")
    whole = TableJudge(gold.table)
    _, expected, _ = bench(whole, *judged, cache="other")
    first = TableJudge(gold.table, before=interrupted_at_question(3))
    second = TableJudge(gold.table)
    status, _, screen = bench(first, *judged)
    assert status == INTERRUPTED
    assert "goes on from" in screen
    assert first.judged
    status, document, _ = bench(second, *judged)
    assert status == 0

    def pairs(*judges):
        return Counter(pair for j in judges for pair in j.judged if pair[0] != "warm-up")

    assert pairs(first, second) == pairs(whole)
    for name, row in expected["results"]["rows"].items():
        assert document["results"]["rows"][name]["metrics"] == row["metrics"]
    third = TableJudge(gold.table)
    bench(third, *judged)
    assert not third.judged


def test_another_judge_or_other_data_is_not_taken_for_this_one(bench, gold):
    bench(TableJudge(gold.table), "--only", "guarded")
    other = TableJudge(gold.table, threshold=0.6)
    bench(other, "--only", "guarded")
    assert other.judged
    with gzip.open(gold.path, "at", encoding="utf-8") as stream:
        stream.write(json.dumps({"kind": "doc", "id": "new", "text": "one more"}) + "\n")
    again = TableJudge(gold.table, threshold=0.6)
    bench(again, "--only", "guarded")
    assert again.judged


def test_degradations_are_counted_and_strict_mode_fails_on_them(bench, gold):
    broken = TableJudge(gold.table, failing=frozenset({"0"}))
    status, document, _ = bench(broken, "--only", "guarded")
    assert status == 0
    assert document["degradations"] > 0
    status, _, screen = bench(broken, "--only", "guarded", "--strict")
    assert status == 2
    assert "JudgeError" in screen
    # What degraded before is asked again, and counts no more once it works.
    status, document, _ = bench(TableJudge(gold.table), "--only", "guarded", "--strict")
    assert (status, document["degradations"]) == (0, 0)


def test_results_carry_their_provenance_and_a_table_lies_beside_them(bench, gold, tmp_path):
    _, document, _ = bench(TableJudge(gold.table), "--only", "guarded")
    results.check(document)
    assert document["benchmark"] == "coverage"
    assert document["command"].startswith("python -m benchmarks.coverage --data=")
    assert document["data"]["fingerprint"] == read_gold(gold.path).fingerprint
    assert document["data"]["questions"] == ASKED
    assert document["judge"] == {"name": "table", "threshold": 0.5, "files": None}
    assert document["embedder"] == "HashEmbedder"
    assert set(document["library"]) == {"version", "source", "commit", "changed_since"}
    assert document["config"]["rows"][GUARDED]["options"]["fetch_k"] == 100
    text = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert f"| {BASELINE} |" in text
    assert document["results"]["statement"] in text


@pytest.mark.parametrize("field_name", ["seed", "judge", "data", "results"])
def test_results_that_lack_a_field_are_refused(bench, gold, tmp_path, field_name):
    _, document, _ = bench(None, "--judge", "none", "--only", "MMR 0.9")
    path = tmp_path / "damaged.json"
    with pytest.raises(ValueError, match=field_name):
        results.write({k: v for k, v in document.items() if k != field_name}, path)
    with pytest.raises(ValueError, match=field_name):
        results.check({**document, field_name: "text"})
    with pytest.raises(ValueError, match="surprise"):
        results.check({**document, "surprise": 1})
    assert not path.exists()


def test_a_pipeline_below_its_ceiling_is_noticed(gold, tmp_path):
    data = read_gold(gold.path, limit=1)
    row = next(row for row in configurations() if row.kind == "ceiling")
    [question] = data.questions
    best = [min(ids) for ids in question.gold.values()]
    for ranking, fails in (
        (best[:1], True),
        ([*question.gold["support"], *question.gold["oppose"]], False),
    ):
        ledger = AppendLog(tmp_path, "row", {"ranking": ranking})
        ledger.add([(question.id, asdict(Outcome(tuple(ranking), 0.0)))])
        job = Job(row, CUTS[0], None, ledger, [])
        pool = [p.id for p in data.corpus.passages]
        if fails:
            with pytest.raises(ArithmeticError, match="is possible"):
                check_ceiling(job, {question.id: pool}, data)
        else:
            check_ceiling(job, {question.id: pool}, data)


def test_an_outcome_is_the_same_after_a_file():
    outcome = Outcome(("a", "b"), 0.1, {"search": 0.1}, 2, 3, True, ["judge: late"])
    assert Outcome.from_dict(json.loads(json.dumps(asdict(outcome)))) == outcome


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"kind": "doc", "id": 1}', "gold.jsonl:3 is neither"),
        ('{"kind": "thing"}', "unknown kind"),
        ("{", "gold.jsonl:3 is neither"),
        (
            '{"kind": "query", "id": 9, "question": "q", "gold": {"support": [77]}}',
            "names no passage: '77'",
        ),
    ],
)
def test_gold_that_cannot_be_used_names_the_line(tmp_path, line, message):
    path = tmp_path / "gold.jsonl"
    first = '{"kind": "doc", "id": 1, "text": "t"}'
    path.write_text(
        first + '\n{"kind": "query", "id": 1, "question": "q", "gold": {"a": [1]}}\n' + line,
        "utf-8",
    )
    with pytest.raises(CorpusError, match=message):
        read_gold(path)
    with pytest.raises(CorpusError, match="cannot be read"):
        read_gold(tmp_path / "absent.jsonl")


def test_a_table_reads_the_same_in_a_terminal_and_in_markdown():
    table = Table("Title", ["row", "value"])
    table.add("a | b", "1.0 [0.5, 1.5]")
    assert table.markdown().splitlines() == [
        "**Title**",
        "",
        "| row | value |",
        "| --- | ---: |",
        "| a \\| b | 1.0 [0.5, 1.5] |",
    ]
    screen = io.StringIO()
    Console(file=screen, width=80).print(table.rich())
    assert "1.0 [0.5, 1.5]" in screen.getvalue()
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        table.add("alone")


def test_questions_of_the_same_text_keep_their_own_labels(tmp_path):
    path = tmp_path / "twins.jsonl"
    docs = [{"kind": "doc", "id": i, "text": f"zoos should be banned {i}"} for i in range(8)]
    twins = [
        {
            "kind": "query",
            "id": 1,
            "question": "zoos should be banned",
            "gold": {"a": [0], "b": [1]},
        },
        {
            "kind": "query",
            "id": 2,
            "question": "zoos  should be banned",
            "gold": {"a": [6], "b": [7]},
        },
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*docs, *twins]), "utf-8")
    arguments = [f"--data={path}", "--judge=none", "--only=top 20", f"--cache={tmp_path}"]
    status = main(
        [*arguments, f"--out={tmp_path / 'out.json'}"],
        embedder=HashEmbedder(),
        console=Console(file=io.StringIO()),
    )
    assert status == 0
    document = results.read(tmp_path / "out.json")
    assert mean(document, "perfect judge, top 20", "mrecall@5") == 1.0


@pytest.mark.parametrize(
    ("statement", "topic"),
    [
        ("Homework should be banned.", "Homework"),
        ("Ban junk food from schools", "junk food from schools"),
        ("This House would close all zoos", "all zoos"),
        ("It should be easier to vote", None),
        ("Homework", None),
        ("", None),
    ],
)
def test_a_statement_is_cut_down_to_its_topic(statement, topic):
    assert topic_of(statement) == topic


def test_bare_topics_are_asked_without_their_statements(bench, gold):
    status, document, screen = bench(TableJudge(gold.table), "--topics")
    assert status == 0
    rows = document["results"]["rows"]
    assert list(rows) == [row.name for row in topic_configurations()]
    assert document["results"]["questions"] == ASKED
    assert document["data"]["fingerprint"] != read_gold(gold.path).fingerprint
    assert rows[BASELINE]["at"]["5"]["searches"] == 1.0
    assert rows[DISCOVERING]["at"]["5"]["searches"] > 1.0
    assert "guarded" in document["results"]["statement"]
    assert {each.question for each in topics_of(read_gold(gold.path)).questions} == set(TOPICS)
    assert DISCOVERING in screen


def test_an_ablation_leaves_out_one_stage_at_a_time_and_bounds_what_is_judged(bench, gold):
    status, document, _ = bench(TableJudge(gold.table), "--ablation")
    assert status == 0
    rows = {name: row["at"]["5"] for name, row in document["results"]["rows"].items()}
    assert list(rows) == [row.name for row in ablation_configurations()]
    assert rows["without the judge"]["judged_pairs"] == 0.0
    assert rows["without the judge"]["searches"] == 2.0
    assert rows["without the guard"]["searches"] == 2.0
    assert rows["without a query for each side"]["searches"] < rows[GUARDED]["searches"]
    pairs = [rows[f"judging at most {most}"]["judged_pairs"] for most in (5, 10, 50)]
    assert pairs == sorted(pairs)
    assert pairs[0] < pairs[-1]
