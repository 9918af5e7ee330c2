"""The re-ordering by stance: which side is asked for, the formula, budget, failures."""

from __future__ import annotations

import math

import pytest

from benchmarks.pir.stance import rerank_by_stance, stance_asked, stance_scores
from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.testing import TableJudge
from perspective_rag.types import Candidate, Extraction, Passage, Perspective

AGAINST = Perspective("oppose", "Zoos should not be closed.", "oppose", "Zoos should be closed.")


def candidates(n, **scores):
    return [
        Candidate(Passage(f"d{i}", f"text {i}"), 1.0, {"search:oppose": 1.0 - i / (2 * n)})
        for i in range(n)
    ]


def reranked(judge, n=10, limit=25, book=None):
    return run(rerank_by_stance(judge, AGAINST, candidates(n), limit=limit), book or Recorder())


def ids(ranked):
    return [c.passage.id for c in ranked]


@pytest.mark.parametrize(
    ("question", "stance"),
    [
        ("Find a claim that opposes the argument: zoos should be closed", "oppose"),
        ("Find an article which supports the view: zoos should be closed", "support"),
        ("arguments against closing zoos", "oppose"),
        ("Should zoos be closed?", None),
        ("zoo opening hours", None),
    ],
)
def test_the_side_that_a_question_asks_for(question, stance):
    asked = stance_asked(extract_by_rule(question))
    assert (asked.stance if asked else None) == stance


def test_a_perspective_that_is_no_side_of_a_claim_asks_for_none():
    assert stance_asked(Extraction("zoos", (Perspective("p1", "from Peru"),))) is None


def test_a_score_is_relevance_times_the_probability_of_the_side():
    assert stance_scores([0.5, 0.4, -0.1], [0.2, 0.5, 1.0]).tolist() == [0.1, 0.2, 0.0]


def test_what_was_not_judged_counts_as_the_mean_of_the_others():
    values = stance_scores([1.0, 1.0, 1.0], [0.2, math.nan, 0.6])
    assert values.tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert stance_scores([0.3, 0.2], [math.nan] * 2).tolist() == [0.3, 0.2]


@pytest.mark.parametrize(
    ("relevance", "support"), [([1.0], [0.1, 0.2]), ([1.0], [1.2]), ([1.0], [-0.1])]
)
def test_bad_input_is_refused(relevance, support):
    with pytest.raises(ConfigError):
        stance_scores(relevance, support)


def test_the_side_asked_for_comes_first_and_keeps_its_probability():
    judge = TableJudge({("d7", "oppose"): 0.9}, default=0.1)
    ranked = reranked(judge)
    assert ids(ranked) == ["d7", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d8", "d9"]
    assert ranked[0].support == {"oppose": 0.9}
    assert ranked[0].score == ranked[0].scores["stance"] == pytest.approx(0.9 * 0.65)


def test_no_more_than_the_limit_is_judged_all_of_it_and_the_pairs_are_counted():
    judge, book = TableJudge(default=1.0), Recorder()
    ranked = reranked(judge, n=40, limit=19, book=book)
    assert len(judge.judged) == 19
    assert book.counts["judged_pairs"] == 19
    assert ids(ranked[19:]) == [f"d{i}" for i in range(19, 40)]


def test_a_judge_that_fails_throughout_leaves_the_order():
    judge = TableJudge(failing=frozenset(f"d{i}" for i in range(40)))
    book = Recorder()
    assert ids(reranked(judge, n=40, book=book)) == [f"d{i}" for i in range(40)]
    assert len(book.degradations) == 2
