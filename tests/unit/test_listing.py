"""When a passage is listed: known verdicts, and what holds for any numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.errors import ConfigError
from perspective_rag.judge.support import contradictions, related, says_nothing
from perspective_rag.types import (
    Candidate,
    Coverage,
    ListingRule,
    Passage,
    Perspective,
    RelevanceFloor,
    RetrievalResult,
    Trace,
)

RULE = ListingRule(0.7, 0.4, 0.2)
OPPOSED = np.array([[False, True], [True, False]])
SIDES = (Perspective("pro", "yes"), Perspective("con", "no"))


@pytest.mark.parametrize(
    ("support", "verdicts"),
    [
        ((0.9, 0.1), ("clear", "silent")),
        ((0.1, 0.7), ("silent", "clear")),
        ((0.8, 0.65), ("mixed", "mixed")),  # neither leads by 0.2
        ((0.75, 0.5), ("clear", "silent")),  # a clear lead over one that leans too
        ((0.5, 0.1), ("leaning", "unsorted")),
        ((0.5, 0.01), ("leaning", "silent")),
        ((0.5, 0.45), ("mixed", "mixed")),
        ((0.5, 0.35), ("leaning", "unsorted")),
        ((0.3, 0.2), ("unsorted", "unsorted")),
        ((0.02, 0.0), ("silent", "silent")),
        ((0.03, 0.0), ("unsorted", "silent")),
        ((0.9, np.nan), ("clear", "silent")),
        ((np.nan, np.nan), ("unsorted", "unsorted")),
        ((0.8, 0.8), ("mixed", "mixed")),
    ],
)
def test_of_contradicting_perspectives_a_passage_stands_under_one_by_a_lead(support, verdicts):
    assert RULE.verdicts(np.array([support]), OPPOSED)[0].tolist() == list(verdicts)


@given(
    arrays(float, (5, 2), elements=st.floats(0, 1) | st.just(np.nan)),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_no_passage_is_listed_under_both_of_two_contradicting_perspectives(support, a, b, lead):
    rule = ListingRule(max(a, b), min(a, b), lead)
    found = rule.verdicts(support, OPPOSED)
    clear = found == "clear"
    assert not (clear[:, 0] & clear[:, 1] & (np.nan_to_num(support) > 0).all(axis=1)).any()
    assert (np.nan_to_num(support, nan=-1.0)[clear] >= rule.threshold).all()
    assert ((found[:, 0] == "mixed") == (found[:, 1] == "mixed")).all()


@pytest.mark.parametrize("values", [(0.4, 0.5, 0.0), (1.1, 0.5, 0.0), (0.5, 0.5, -0.1)])
def test_a_rule_that_makes_no_sense_is_refused(values):
    with pytest.raises(ConfigError, match="leaning <= threshold"):
        ListingRule(*values)


def test_the_two_stances_on_one_claim_contradict_and_named_sides_where_they_are_exclusive():
    pro, con = (Perspective(s, s, s, "zoos") for s in ("support", "oppose"))
    other = Perspective("support2", "x", "support", "parks")
    assert contradictions([pro, con, other]).tolist() == [
        [False, True, False],
        [True, False, False],
        [False, False, False],
    ]
    assert not contradictions(SIDES).any()
    assert contradictions(SIDES, exclusive=True).tolist() == OPPOSED.tolist()


def candidate(name, relevance):
    return Candidate(Passage(name, name), 1.0, {"relevance": relevance})


def test_what_is_about_the_question_is_told_by_two_floors():
    floor = RelevanceFloor(0.3, 0.5)
    near = [candidate("a", 0.6), candidate("b", 0.35), candidate("c", 0.1)]
    assert related(near, floor).tolist() == [True, True, False]
    assert related(near[1:], floor).tolist() == [False, False]
    unknown = Candidate(Passage("x", "x"), 1.0)
    assert related([unknown], floor).tolist() == [True]
    assert related([*near, unknown], floor).tolist() == [True, True, False, True]
    assert related([near[1], unknown], floor).tolist() == [False, False]
    with pytest.raises(ConfigError, match="passage <= topic"):
        RelevanceFloor(0.6, 0.5)


def test_a_passage_takes_no_side_only_where_the_judge_is_sure_and_it_is_about_the_question():
    support = np.array([[0.9, 0.1], [0.8, 0.8], [0.01, 0.02], [0.01, 0.02], [0.2, 0.01]])
    support = np.vstack([support, [[np.nan, np.nan]], [[0.0, np.nan]]])
    about = np.array([1, 1, 1, 0, 1, 1, 1], dtype=bool)
    coverage = Coverage(SIDES, support, RULE, OPPOSED, about)
    assert coverage.states == (
        "takes a side",
        "argues both ways",
        "takes no side",
        "not sorted",
        "not sorted",
        "not sorted",
        "not sorted",
    )
    assert coverage.to_dict()["states"] == list(coverage.states)
    assert set(replace(coverage, judged=False).states) == {"not judged"}
    assert replace(coverage, rule=ListingRule(0.7, 0.4, 0.2, 0.0)).states[2] == "not sorted"


def test_the_corpus_says_nothing_only_by_two_witnesses():
    floor = RelevanceFloor(0.3, 0.5)

    def says(*texts, near=0.1, question="Should zoos be closed to visitors?"):
        found = [Candidate(Passage(t, t), 1.0, {"relevance": near}) for t in texts]
        return says_nothing(question, found, floor)

    assert says("Tariffs raise prices.", "A visitor came.")
    assert not says("Tariffs raise prices.", "A zoo had visitors.")
    assert not says("Tariffs raise prices.", near=0.35), "near enough to be on the topic"
    assert says("Tariffs raise prices.", near=0.34)
    assert not says("Tariffs raise prices.", near=np.nan)
    assert not says("Tariffs raise prices.", question="What do you think?")
    assert not says()


def test_coverage_counts_what_is_listed():
    support = np.array([[0.9, 0.8], [0.1, 0.75]])
    coverage = Coverage(SIDES, support, RULE, OPPOSED)
    assert [p.id for p in coverage.covered] == ["con"]
    assert [p.id for p in coverage.missing] == ["pro"]
    unjudged = Coverage(SIDES, np.full((2, 2), np.nan), RULE, OPPOSED)
    assert len(unjudged.unjudged) == 2
    unread = replace(unjudged, related=np.array([False, False]))
    assert (len(unread.missing), len(unread.unjudged)) == (0, 2), "nobody looked"
    some = replace(unjudged, support=np.array([[0.1, 0.1], [np.nan, np.nan]]))
    assert (len(some.missing), len(some.unjudged)) == (0, 2)
    some = replace(some, related=np.array([True, False]))
    assert (len(some.missing), len(some.unjudged)) == (2, 0), "the other is about something else"


def test_a_result_always_has_a_coverage():
    found = (candidate("a", 0.6),)
    for sides in ((), SIDES):
        result = RetrievalResult("q", found, sides, None, Trace())
        assert (result.coverage.judged, result.coverage.complete) == (False, False)
        assert (result.coverage.covered, result.coverage.missing) == ((), ())
        assert result.coverage.unjudged == sides
        assert result.coverage.states == ("not judged",)
        assert result.verdicts_on(found[0]) == {}
        assert result.to_dict()["coverage"]["judged"] is False


@given(st.floats(0, 1), st.floats(0.05, 0.5), st.floats(0.55, 0.95))
def test_moved_support_gets_the_verdict_that_it_had(value, leaning, threshold):
    own, other = ListingRule(0.8, 0.3), ListingRule(threshold, leaning)
    moved = own.moved(np.array([[value]]), other)
    for bound in (own.silent, own.leaning, own.threshold):
        if abs(value - bound) < 1e-9:
            return  # rounding decides
    assert other.verdicts(moved).tolist() == own.verdicts(np.array([[value]])).tolist()
