"""Queries without repeats, and rankings that become candidates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.flow.driver import run
from perspective_rag.perspectives.queries import NoExpansion, StatementExpander, unique_queries
from perspective_rag.perspectives.sides import both_sides
from perspective_rag.search.candidates import fuse
from perspective_rag.search.search import Ranking
from perspective_rag.types import (
    Hit,
    Passage,
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
