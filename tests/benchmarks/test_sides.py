"""The benchmark of what is shown, from its command line to its files, over invented pools."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.bootstrap import ratio_interval
from benchmarks.sides.__main__ import main
from benchmarks.sides.data import read_pools, verdict
from benchmarks.sides.reading import Outcome, Shown
from benchmarks.sides.rows import GUARDED, PERFECT, PLAIN, rows
from benchmarks.sides.scoring import both_sides, listing, proved
from perspective_rag import CorpusError
from perspective_rag.testing import HashEmbedder, TableJudge
from tests.benchmarks.sides_samples import LABELS, TOPICS, write_pools


@pytest.fixture
def sample(tmp_path):
    return write_pools(tmp_path)


@pytest.fixture
def bench(sample, tmp_path):
    """Runs the command line: ``bench(judge, *arguments)`` gives exit status, document and output."""

    def run(judge, *arguments):
        out = tmp_path / "out.json"
        screen = io.StringIO()
        status = main(
            [f"--data={sample.path}", f"--cache={tmp_path / 'cache'}", f"--out={out}", *arguments],
            embedder=HashEmbedder(dimensions=256),
            judge=judge,
            console=Console(file=screen, width=250),
        )
        document = results.read(out) if status == 0 and out.exists() else None
        return status, document, screen.getvalue()

    return run


def test_a_judge_that_knows_the_labels_lists_and_claims_nothing_wrong(bench, sample, tmp_path):
    status, document, screen = bench(sample.judge(), "--strict")
    assert status == 0
    found = document["results"]["rows"]
    assert list(found) == [row.name for row in rows()]
    # Plain search's first five all support the statement; two give their places to the other side.
    # The one passage that argues for both sides is mixed: present twice, listed under neither.
    for k, of_present in (("5", 5 / 5), ("10", 8 / (8 + 2))):
        at = found[GUARDED]["at"][k]
        assert at["both_sides"]["mean"] == 1.0
        assert at["listed"]["true"]["mean"] == 1.0
        assert at["listed"]["of_present"]["mean"] == pytest.approx(of_present, abs=0.01)
        assert at["listed"]["opposing"]["mean"] == at["listed"]["silent"]["mean"] == 0.0
        assert at["claims"]["count"] == len(TOPICS)
        assert at["claims"]["true"]["mean"] == at["claims"]["proved"]["mean"] == 1.0
        assert at["abstained"] == 0
        assert at["pairs"] > 0
        perfect = found[PERFECT]["at"][k]
        assert perfect["both_sides"]["mean"] == perfect["listed"]["true"]["mean"] == 1.0
    # The first five of the plain order all support the statement.
    assert found[PLAIN]["at"]["5"]["both_sides"]["mean"] == 0.0
    assert found[PLAIN]["at"]["5"]["listed"] is None
    assert found[PLAIN]["at"]["5"]["pairs"] == 0
    assert found[PLAIN]["at"]["5"]["searches"] == 1.0
    assert found["question + negation, RRF"]["at"]["5"]["searches"] == 3.0
    assert found["MMR"]["chosen"]["5"].keys() == {"0", "1", "2"}
    judge = document["results"]["judge"]
    assert judge["whole pools"]["order"] == {
        "support_against_rest": 1.0,
        "support_against_opposing": 1.0,
    }
    assert judge["whole pools"]["pairs"] == 2 * len(TOPICS) * len(LABELS)
    assert GUARDED in screen
    assert (tmp_path / "out-calibration.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_results_carry_provenance_and_no_text_of_the_data(bench, sample, tmp_path):
    _, document, _ = bench(sample.judge())
    results.check(document)
    assert document["command"].startswith("python -m benchmarks.sides --data=")
    assert document["data"]["fingerprint"] == read_pools(sample.path).fingerprint
    assert document["judge"] == {"name": "table", "threshold": 0.5, "files": None}
    written = json.dumps(document["results"]) + (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "banned by law" not in written
    assert "Law should" not in written


def test_a_judge_that_says_yes_to_one_side_lists_what_opposes_and_what_is_silent(bench, sample):
    judge = TableJudge({(name, "p1"): 0.9 for name in sample.labels}, default=0.1)
    _, document, _ = bench(judge, "--only", "defaults")
    at = document["results"]["rows"][GUARDED]["at"]["10"]
    labels = at["listed"]
    assert labels["count"] == 10 * len(TOPICS)
    assert labels["under_both"] == 0
    total = sum(labels[kind]["mean"] for kind in ("true", "opposing", "silent"))
    assert total == pytest.approx(1.0, abs=1e-5)
    assert labels["opposing"]["mean"] > 0
    assert at["claims"]["count"] == 0
    assert list(document["results"]["rows"]) == [PLAIN, GUARDED]


def test_a_judge_that_says_no_to_everything_lists_and_claims_nothing(bench):
    _, document, _ = bench(TableJudge(default=0.1), "--only", "defaults")
    at = document["results"]["rows"][GUARDED]["at"]["5"]
    assert at["abstained"] == 0  # the passages are about the questions
    assert at["listed"]["true"] is at["claims"]["true"] is None
    assert at["claims"]["count"] == at["listed"]["count"] == 0


def test_seconds_are_taken_with_nothing_kept_where_they_are_asked_for(bench, sample):
    _, document, _ = bench(sample.judge(), "--only", "defaults")
    assert {row["seconds_p50"] for row in document["results"]["rows"].values()} == {None}
    judge = sample.judge()
    status, document, _ = bench(judge, "--only", "defaults", "--time=2")
    assert status == 0
    assert all(row["seconds_p50"] > 0 for row in document["results"]["rows"].values())
    assert document["results"]["timed"] == 2
    # One question more warms up, and what was judged for it is judged again.
    assert judge.judged.count(("zoos-0", "p1")) >= 2 + 2


def test_stages_tell_where_a_side_is_lost(bench, sample):
    status, document, screen = bench(sample.judge(), "--stages")
    assert status == 0
    stages = document["results"]["stages"]
    assert [each["lost_here"] for each in stages.values()] == [0] * 7
    assert all(each["both_sides"]["mean"] == 1.0 for each in stages.values())
    assert "among the 5 returned" in screen
    # Blind to the opposite side: nothing is judged true there, and nothing of it is listed.
    blind = sample.judge()
    blind.table = {pair: 0.1 if pair[1] == "p2" else p for pair, p in blind.table.items()}
    _, document, _ = bench(blind, "--stages")
    stages = document["results"]["stages"]
    judged = stages["judged true by the judge's threshold"]
    assert judged["both_sides"]["mean"] == 0.0
    assert judged["sides_left"] == len(TOPICS)
    lost = sum(each["lost_here"] for each in stages.values())
    missing = 2 * len(TOPICS) - stages["listed under its side"]["sides_left"]
    assert lost == missing == len(TOPICS)


def test_over_a_corpus_that_lacks_the_topics_claims_are_counted(bench, sample, tmp_path):
    corpus = tmp_path / "other.jsonl"
    rows_ = [{"id": f"x{i}", "text": f"the law of tides should be taught {i}"} for i in range(6)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows_), "utf-8")
    status, document, screen = bench(sample.judge(), f"--lacking={corpus}")
    assert status == 0
    over = document["results"]["over"]
    assert over["other.jsonl"]["claimed"]["mean"] == 0.0
    assert over["other.jsonl"]["listed"] == 0
    assert over["their own pools"]["abstained"]["mean"] == 0.0
    assert over["their own pools"]["claimed"]["mean"] == 1.0
    assert "their own pools" in screen


def test_labels_say_what_a_passage_does_to_each_side(tmp_path):
    assert [verdict(label, "statement") for label in "SsNoOM"] == [
        *["true"] * 2,
        "silent",
        *["opposing"] * 2,
        "true",
    ]
    assert [verdict(label, "opposite") for label in "SsNoOM"] == [
        *["opposing"] * 2,
        "silent",
        *["true"] * 3,
    ]
    question = read_pools(write_pools(tmp_path).path).questions[0]
    shown = [
        Shown("statement", "zoos-0", 0.9, True),
        Shown("statement", "zoos-6", 0.8, True),
        Shown("opposite", "zoos-9", 0.7, True),
        Shown("opposite", "zoos-6", 0.4, False),
        Shown("other", "zoos-0", 0.9, True),
    ]
    outcome = Outcome(("zoos-0", "zoos-6", "zoos-9"), True, tuple(shown))
    counts = listing(outcome, question)
    assert (counts.listed, counts.true, counts.opposing, counts.silent) == (3, 1, 1, 1)
    assert (counts.other, counts.present, counts.twice) == (1, 2, 0)
    assert both_sides(outcome, question)
    assert not proved(outcome, question)
    assert not both_sides(Outcome(("zoos-0",)), question)
    assert both_sides(Outcome(("zoos-8",)), question)  # it argues both


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"kind": "doc", "id": 1}', "is neither a passage nor a question"),
        ('{"kind": "thing"}', "unknown kind"),
        ("{", "is neither"),
        (
            '{"kind": "query", "id": 1, "question": "q", "statement": "a", "opposite": "b", '
            '"labels": {"zoos-0": "X"}, "fold": 0}',
            "unknown label 'X'",
        ),
        (
            '{"kind": "query", "id": 1, "question": "q", "statement": "a", "opposite": "b", '
            '"labels": {"absent": "S"}, "fold": 0}',
            "names no passage: 'absent'",
        ),
    ],
)
def test_pools_that_cannot_be_used_are_refused(sample, line, message):
    with gzip.open(sample.path, "at", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(CorpusError, match=message):
        read_pools(sample.path)


def test_errors_of_the_command_line_are_one_line(bench, sample, tmp_path):
    status, _, screen = bench(sample.judge(), "--only", "MRM")
    assert status == 2
    assert "ConfigError" in screen
    status, _, screen = bench(sample.judge(failing=frozenset({"zoos-0"})), "--strict")
    assert status == 2
    assert "JudgeError" in screen
    screen = io.StringIO()
    assert main([], embedder=HashEmbedder(), console=Console(file=screen)) == 2
    assert "--data is needed" in screen.getvalue()


def test_a_share_of_sums_is_resampled_by_question():
    found = ratio_interval([1, 0, 4], [2, 0, 8], seed=13)
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)
    wide = ratio_interval([10, 0], [10, 10], seed=13)
    assert (wide.mean, wide.low, wide.high) == (0.5, 0.0, 1.0)
    with pytest.raises(ValueError, match="not paired"):
        ratio_interval([1], [1, 2], seed=13)
    with pytest.raises(ValueError, match="share of nothing"):
        ratio_interval([0, 0], [0, 0], seed=13)
