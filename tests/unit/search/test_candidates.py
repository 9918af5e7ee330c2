"""Queries without repeats, rankings that become candidates, and their order by stance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import CapabilityError, ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.support import stance_asked
from perspective_rag.perspectives.queries import NoExpansion, StatementExpander, unique_queries
from perspective_rag.perspectives.reading import both_sides, extract_by_rule
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.search.candidates import fuse, rerank_by_stance, stance_scores
from perspective_rag.search.search import Ranking
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
from perspective_rag.types import (
    Candidate,
    Extraction,
    Hit,
    Passage,
    Perspective,
    Query,
    passage_key,
)

SIDES = both_sides("Zoos should close")


def ranking(text, *hits, perspective=None):
    return Ranking(Query(text, perspective), [Hit(Passage(i, f"text {i}"), s) for i, s in hits])


def merged(rankings, fusion="seats", key=passage_key):
    return fuse(rankings, [[key(hit.passage) for hit in each.hits] for each in rankings], fusion)


def test_each_perspective_is_a_query_with_or_without_the_question():
    alone = run(StatementExpander().expand("Q?", SIDES))
    assert [(q.text, q.perspective) for q in alone] == [
        ("Zoos should close", "support"),
        ("Zoos should not close", "oppose"),
    ]
    both = run(StatementExpander(with_question=True).expand("Q?", SIDES))
    assert [q.text for q in both] == ["Q? Zoos should close", "Q? Zoos should not close"]
    assert run(NoExpansion().expand("Q?", SIDES)) == []


def test_repeats_are_dropped_before_the_limit_counts():
    queries = [
        Query("zoos should close?"),
        Query("B"),
        Query("b!"),
        Query("  "),
        Query("C"),
        Query("D"),
    ]
    kept = unique_queries("Zoos should close", queries, limit=3)
    assert [q.text for q in kept] == ["Zoos should close", "B", "C"]


def test_every_perspective_has_a_query_before_one_has_a_second():
    written = [Query(f"{side} {n}", side) for side in ("a", "b", "c") for n in range(3)]
    kept = unique_queries("q", written, limit=5)
    assert [each.text for each in kept] == ["q", "a 0", "b 0", "c 0", "a 1"]
    whole = unique_queries("q", written, limit=10)
    assert [each.text for each in whole] == ["q", *(each.text for each in written)]


@given(st.text(min_size=1), st.lists(st.text()), st.integers(1, 9))
def test_the_question_is_always_first_and_the_limit_is_kept(question, texts, limit):
    kept = unique_queries(question, [Query(t) for t in texts], limit=limit)
    assert kept[0].text == question
    assert len(kept) <= limit


def test_a_passage_found_twice_is_one_candidate_that_says_so():
    found = merged(
        [
            ranking("q", ("a", 0.9), ("b", 0.8)),
            ranking("con", ("b", 0.7), ("c", 0.6), perspective="oppose"),
        ],
        fusion="rrf",
    )
    assert [c.passage.id for c in found] == ["b", "a", "c"]
    assert found[0].scores == {
        "search:question": 0.8,
        "search:oppose": 0.7,
        "fused": pytest.approx(2 / 62 + 1 / 61),
        "plain": 1 / 2,
    }
    assert found[1].scores["plain"] == 1.0
    assert "plain" not in found[2].scores  # the question did not find it
    assert found[0].found_by == ("q", "con")
    assert found[0].score == found[0].scores["fused"]


def test_question_and_perspectives_have_seats_of_their_own():
    rankings = [
        ranking("q", ("a", 1), ("b", 1), ("c", 1), ("d", 1)),
        ranking("for", ("b", 1), ("a", 1), ("x", 1), perspective="for"),
        ranking("against 1", ("y", 1), ("c", 1), perspective="against"),
        ranking("against 2", ("z", 1), ("y", 1), perspective="against"),
    ]
    found = merged(rankings)
    # The two queries of one side are fused first (y before z) and share its seats.
    assert [c.passage.id for c in found] == ["a", "b", "y", "c", "x", "z", "d"]
    brought = {c.passage.id: c.found_by[0] for c in found}
    assert brought == {
        "a": "q", "c": "q", "d": "q", "b": "for", "x": "for", "y": "against 1", "z": "against 2",
    }  # fmt: skip
    assert found[1].found_by == ("for", "q")
    assert [c.score for c in found[:3]] == [1, 1 / 2, 1 / 3]
    assert [round(1 / c.scores["plain"]) for c in found if "plain" in c.scores] == [1, 2, 3, 4]
    plain = merged(rankings[:1])
    assert [c.passage.id for c in plain] == ["a", "b", "c", "d"]


def test_a_vector_that_any_search_returned_is_kept():
    vector = np.ones(3)
    bare = Ranking(Query("q"), [Hit(Passage("a", "t"), 0.5)])
    placed = Ranking(Query("r"), [Hit(Passage("a", "t"), 0.4, vector)])
    (only,) = merged([bare, placed])
    assert only.embedding is vector


def test_passages_without_ids_are_told_apart_by_source_and_text():
    hits = [
        Hit(Passage("", "Same text", {"source": "x"})),
        Hit(Passage("", "same  TEXT", {"source": "x", "tags": ["unhashable"]})),
        Hit(Passage("", "Same text", {"source": "y"})),
    ]
    assert len(merged([Ranking(Query("q"), hits)])) == 2


def test_passages_that_share_a_key_are_one_and_keep_their_own_vectors():
    row = np.ones(3)
    first = Hit(Passage("1", "one", {"url": "x"}), 0.2)
    second = Hit(Passage("2", "two", {"url": "x"}), 0.9, row)
    rankings = [Ranking(Query("Q"), [first]), Ranking(Query("S", "s"), [second])]
    (only,) = merged(rankings, fusion="rrf", key=lambda passage: passage.metadata["url"])
    assert only.passage.id == "1"
    assert only.found_by == ("Q", "S")
    assert only.embedding is None  # the vector is another text's
    assert only.score == pytest.approx(2 / 61 + 1 / 61)
    assert len(merged(rankings)) == 2


# By stance

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


def test_it_needs_a_judge():
    with pytest.raises(CapabilityError, match="judge="):
        pipeline(rerank="stance")
    with pytest.raises(ConfigError, match="rerank"):
        pipeline(rerank="stances", judge=TableJudge())
