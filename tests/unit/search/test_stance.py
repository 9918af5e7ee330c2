"""The re-ordering by stance: which side is asked for, the formula, budget, failures, the pipeline."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import CapabilityError, ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.support import BATCH, stance_asked
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.search.candidates import rerank_by_stance, stance_scores
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
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


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1)), min_size=1, max_size=20),
    st.floats(0.01, 100),
)
def test_the_unit_of_relevance_changes_no_order(rows, factor):
    near, sides = (np.array(column) for column in zip(*rows, strict=True))
    one = stance_scores(near, sides)
    np.testing.assert_allclose(
        stance_scores(near * factor, sides), one * factor, rtol=1e-9, atol=1e-12
    )


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


def test_relevance_still_counts():
    judge = TableJudge({("d0", "oppose"): 0.6, ("d9", "oppose"): 0.7}, default=0.1)
    assert ids(reranked(judge))[:2] == ["d0", "d9"]


def test_no_more_than_the_limit_is_judged_all_of_it_and_the_pairs_are_counted():
    judge, book = TableJudge(default=1.0), Recorder()
    ranked = reranked(judge, n=40, limit=19, book=book)
    assert len(judge.judged) == 19
    assert book.counts["judged_pairs"] == 19
    assert ids(ranked[19:]) == [f"d{i}" for i in range(19, 40)]


def test_a_batch_that_fails_is_reported_and_the_rest_is_ranked():
    judge = TableJudge({("d1", "oppose"): 0.9}, default=0.1, failing=frozenset(["d9"]))
    book = Recorder()
    ranked = reranked(judge, n=BATCH + 3, book=book)
    assert ids(ranked)[0] == "d1"
    assert {c.passage.id for c in ranked} == {f"d{i}" for i in range(BATCH + 3)}
    assert [d.stage for d in book.degradations] == ["judge"]


def test_a_judge_that_fails_throughout_leaves_the_order():
    judge = TableJudge(failing=frozenset(f"d{i}" for i in range(40)))
    book = Recorder()
    assert ids(reranked(judge, n=40, book=book)) == [f"d{i}" for i in range(40)]
    assert len(book.degradations) == 2


def test_without_scores_the_place_is_the_relevance():
    plain = [Candidate(Passage(f"d{i}", "t"), 0.0) for i in range(3)]
    judge = TableJudge({("d0", "oppose"): 0.3, ("d1", "oppose"): 0.5, ("d2", "oppose"): 0.5})
    ranked = run(rerank_by_stance(judge, AGAINST, plain, limit=5))
    assert ids(ranked) == ["d1", "d0", "d2"] or ids(ranked) == ["d1", "d2", "d0"]
    assert [c.score for c in ranked] == sorted((c.score for c in ranked), reverse=True)
    assert ranked[0].score == pytest.approx(0.5 / math.log2(3))


PASSAGES = [
    Passage("a", "zoos should be closed because cages are cruel"),
    Passage("b", "zoos should be closed and the animals freed"),
    Passage("c", "zoos should be closed soon"),
    Passage("e", "zoos keep species alive and should stay"),
]


def pipeline(**options):
    embedder = HashEmbedder()
    return PerspectivePipeline(MemoryStore(PASSAGES, embedder), embedder=embedder, **options)


def test_the_pipeline_puts_the_side_asked_for_first():
    question = "Find a claim that opposes the argument: zoos should be closed"
    truth = {("e", "oppose"): 0.9, ("a", "oppose"): 0.1, ("b", "oppose"): 0.1}
    judge = TableJudge(truth)
    result = pipeline(judge=judge, rerank="stance", projection="adaptive", k=2).retrieve(question)
    assert result.passages[0].id == "e"
    assert result.trace.counts["judged_pairs"] == 4
    assert len(judge.judged) == 4  # nothing is judged twice
    assert result.candidates[0].scores["stance"] > result.candidates[1].scores["stance"]


def test_a_question_without_a_side_is_left_alone():
    judge = TableJudge(default=0.9)
    result = pipeline(judge=judge, rerank="stance", k=2).retrieve("Should zoos be closed?")
    assert all("stance" not in c.scores for c in result.candidates)


def test_it_needs_a_judge():
    with pytest.raises(CapabilityError, match="judge="):
        pipeline(rerank="stance")
    with pytest.raises(ConfigError, match="rerank"):
        pipeline(rerank="stances", judge=TableJudge())
