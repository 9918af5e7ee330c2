"""Essays with a stance: correlation, polarity, what a judge says, and a run against a server."""

from __future__ import annotations

import io
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.core.results import read, write
from benchmarks.downstream.published import AMBIGQA, ESSAY
from benchmarks.downstream.report import sections
from benchmarks.downstream.retrieving import CONDITIONS
from benchmarks.essay.command import main
from benchmarks.essay.scoring import Side, asked_for, pearson, polarity, side_taken
from benchmarks.essay.summary import Row, summary
from perspective_rag.testing import TableJudge
from tests.benchmarks.pir_samples import write_json
from tests.contract import openai_server as scripted

numbers = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=30)


def console():
    return Console(width=200, record=True, file=io.StringIO())


# Correlation


def test_correlations_by_hand():
    assert pearson([1, 2, 3], [2, 4, 6]).r == pytest.approx(1.0)
    assert pearson([1, 2, 3], [3, 2, 1]).r == pytest.approx(-1.0)
    # Deviations (-1.5, -.5, .5, 1.5) and (-1, 0, -1, 2): 4 / sqrt(5 * 6).
    assert pearson([0, 1, 2, 3], [0, 1, 0, 3]).r == pytest.approx(4 / math.sqrt(30))
    # p of t = r sqrt((n - 2) / (1 - r^2)) with two degrees of freedom: 1 - t / sqrt(2 + t^2).
    r = 4 / math.sqrt(30)
    t = r * math.sqrt(2 / (1 - r * r))
    assert pearson([0, 1, 2, 3], [0, 1, 0, 3]).p == pytest.approx(1 - t / math.sqrt(2 + t * t))


@given(numbers)
def test_correlation_agrees_with_scipy_and_numpy(pairs):
    from scipy import stats

    left, right = (list(map(float, side)) for side in zip(*pairs, strict=True))
    found = pearson(left, right)
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert (found.r, found.p) == (None, None)
        return
    expected = stats.pearsonr(left, right)
    assert found.r == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.r == pytest.approx(np.corrcoef(left, right)[0, 1])


def test_the_p_value_is_that_of_shuffling():
    generator = random.Random(5)
    left = [generator.gauss(0, 1) for _ in range(40)]
    right = [0.3 * x + generator.gauss(0, 1) for x in left]
    found = pearson(left, right)
    as_far = 0
    for _ in range(2000):
        generator.shuffle(right)
        as_far += abs(pearson(left, right).r) >= abs(found.r)
    assert as_far / 2000 == pytest.approx(found.p, abs=0.03)


def test_what_has_no_correlation_has_none():
    assert pearson([1, 1, 1, 1], [1, 2, 3, 4]).r is None
    assert pearson([1, 2], [1, 2]).p is None
    with pytest.raises(ValueError, match="not paired: 2 values against 3"):
        pearson([1, 2], [1, 2, 3])


# Polarity and the judge


def test_polarity_is_of_words_and_not_of_sides():
    assert polarity("A wonderful, excellent idea.") > 0.5
    assert polarity("A terrible, awful idea.") < -0.5
    assert polarity("") == 0.0
    # Against the topic "keep the awful tolls" both take the same side.
    assert polarity("Awful tolls must go.") < 0 < polarity("A world without tolls is wonderful.")


def test_the_judge_is_asked_about_the_side_and_not_the_topic():
    support, oppose = (asked_for("Tolls should be kept.", s) for s in ("support", "oppose"))
    assert (support.text, support.stance, support.claim) == (
        "Tolls should be kept",
        "support",
        "Tolls should be kept",
    )
    assert oppose.stance == "oppose"
    assert oppose.claim == "Tolls should be kept"
    assert "not" in oppose.text


def test_the_side_of_an_essay_and_of_its_sentences():
    # The passage "0" is the whole essay, the others are its sentences.
    judge = TableJudge(
        {("0", "stance"): 0.8, ("1", "stance"): 0.9, ("2", "stance"): 0.5, ("3", "stance"): 0.4}
    )
    found = side_taken(judge, "Tolls help. They pay. Or not? Who knows.", "Keep tolls", "support")
    assert found == Side(0.8, 2 / 4)
    assert len(judge.judged) == 5
    assert side_taken(judge, "  \n", "Keep tolls", "support") == Side(0.0, 0.0)


def test_what_could_not_be_judged_counts_as_no_and_is_counted():
    judge = TableJudge({("0", "stance"): math.nan, ("2", "stance"): math.nan}, default=0.9)
    found = side_taken(judge, "Tolls help. They pay.", "Keep tolls", "oppose")
    assert found == Side(0.0, 1 / 2, failed=2)


def test_our_judge_tells_the_sides_apart():
    from perspective_rag import CrossEncoderJudge

    judge = CrossEncoderJudge()
    essay = (
        "Zoos should be closed. Keeping wild animals in cages is cruel, and zoos do nothing to "
        "protect them."
    )
    topic = "Zoos should be closed"
    for_it, against = (side_taken(judge, essay, topic, s) for s in ("support", "oppose"))
    assert for_it.whole > against.whole
    assert for_it.share >= against.share


def test_the_summary_by_hand():
    sides = [Side(1.0, 0.5), Side(0.0, 0.5), Side(0.5, 0.5), Side(0.5, 0.5)]
    rows = {
        "plain": Row([0.0, 0.0, 0.0, 0.0], [Side(0.0, 0.0)] * 4, [0.2] * 4),
        "pap": Row([1.0, -1.0, 1.0, -1.0], sides, [1.0] * 4),
    }
    stances = ["support", "oppose", "support", "oppose"]
    found = summary(rows, stances, seed=1, resamples=100)
    assert found["pap"]["polarity"]["r"] == pytest.approx(1.0)
    assert found["plain"]["polarity"] == {"r": None, "p": None, "n": 4}
    assert found["pap"]["judge"]["mean"] == 0.5
    assert found["pap"]["judge"]["against_plain"]["mean"] == 0.5
    assert found["pap"]["sentences"]["mean"] == 0.5
    assert found["plain"]["judge"]["against_plain"] is None
    assert found["pap"]["gold"]["mean"] == 1.0
    flipped = summary(rows, stances[1:] + stances[:1], seed=1, resamples=100)
    assert flipped["pap"]["polarity"]["r"] == pytest.approx(-1.0)


def test_the_published_rows_are_table_5():
    assert set(AMBIGQA) == set(ESSAY) == set(CONDITIONS) - {"adaptive"}
    assert (AMBIGQA["gold"], ESSAY["gold"]) == (77.5, (38.7, True))
    assert ESSAY["plain"][0] == -2.4


# Whole runs


def writes(body, server):
    """Praise for "support", blame for "oppose"; without background it does not know which."""
    text = body["messages"][-1]["content"]
    if "Background:" not in text:
        return scripted.chat("There is a topic. It has two sides.")
    kind = "wonderful" if "Stance: support" in text else "terrible"
    return scripted.chat(f"This is a {kind} idea. It is {kind} for all.")


def arguments(path, server, tmp_path, *more):
    data = ["--data", str(path), "--cache", str(tmp_path / "cache"), "--resamples", "100"]
    model = ["--llm", "tiny", "--base-url", server.url]
    return [*data, *model, "--out", str(tmp_path / "essay-x.json"), *more]


def test_a_whole_run_resumes_and_makes_a_table(tmp_path):
    pytest.importorskip("openai")
    path = write_json(tmp_path / "stances.json")
    judge = TableJudge(default=0.75)
    with scripted.OpenAIServer(writes) as server:
        given = arguments(path, server, tmp_path)
        assert main(given, judge=judge, console=console()) == 0
        asked = len(server.bodies)
        assert main(given, judge=judge, console=console()) == 0
        assert len(server.bodies) == asked
        user = server.bodies[-1]["messages"][-1]["content"]
    assert "Find a text" not in user  # the topic is the root, not the query
    values = read(tmp_path / "essay-x.json")
    found = values["results"]["conditions"]
    assert tuple(found) == CONDITIONS
    assert found["gold"]["polarity"]["r"] == pytest.approx(1.0)
    assert found["gold"]["polarity"]["p"] < 0.05
    assert found["no"]["polarity"]["r"] is None
    assert found["plain"]["judge"]["mean"] == 0.75
    assert found["plain"]["sentences"]["mean"] == 1.0
    assert found["gold"]["gold"]["mean"] == 1.0
    # Five of six documents, one of them gold.
    assert found["plain"]["gold"]["mean"] <= 0.2
    assert values["results"]["support"] == 3
    assert values["judge"]["name"] == "table"
    write(values, tmp_path / "results" / "essay-x.json")
    text = sections(tmp_path / "results")["downstream-essay"]
    assert "| gold | +100.0 (0.0000) | 75.0 [75.0, 75.0]" in text
    assert "+38.7 (p < 0.05)" in text


def test_five_passages_reach_the_writer(tmp_path):
    pytest.importorskip("openai")
    path = write_json(tmp_path / "stances.json")
    with scripted.OpenAIServer(writes) as server:
        given = arguments(path, server, tmp_path, "--condition", "plain", "--examples", "2")
        assert main(given, judge=TableJudge(), console=console()) == 0
        assert len(server.bodies) == 2
        text = server.bodies[0]["messages"][-1]["content"]
    assert text.count("\n- ") == 5


def test_a_task_without_stances_is_refused(tmp_path):
    path = write_json(tmp_path / "other.json")
    path.write_text(path.read_text().replace('"support"', '"a"').replace('"undermine"', '"b"'))
    shown = console()
    assert main(["--data", str(path)], console=shown) == 2
    assert "no queries labelled support or undermine" in shown.export_text()
