"""When a passage is listed: known verdicts, and what holds for any numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.errors import ConfigError
from perspective_rag.judge.support import contradictions, related
from perspective_rag.listing import ListingRule, RelevanceFloor
from perspective_rag.results import Coverage
from perspective_rag.types import Candidate, Passage, Perspective

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
        ((0.5, 0.1), ("leaning", "silent")),
        ((0.5, 0.45), ("mixed", "mixed")),
        ((0.5, 0.35), ("leaning", "silent")),
        ((0.3, 0.2), ("silent", "silent")),
        ((0.9, np.nan), ("clear", "silent")),
        ((np.nan, np.nan), ("silent", "silent")),
        ((0.8, 0.8), ("mixed", "mixed")),
    ],
)
def test_of_contradicting_perspectives_a_passage_stands_under_one_by_a_lead(support, verdicts):
    assert RULE.verdicts(np.array([support]), OPPOSED)[0].tolist() == list(verdicts)


def test_perspectives_that_do_not_contradict_may_share_a_passage():
    assert RULE.verdicts(np.array([[0.9, 0.8]])).tolist() == [["clear", "clear"]]


def test_without_a_lead_a_tie_is_mixed():
    rule = ListingRule(0.5, 0.5)
    assert rule.verdicts(np.array([[0.8, 0.8]]), OPPOSED).tolist() == [["mixed", "mixed"]]
    assert rule.verdicts(np.array([[0.8, 0.7]]), OPPOSED)[0, 0] == "clear"


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


def test_coverage_counts_what_is_listed_and_says_where_a_corpus_says_nothing():
    support = np.array([[0.9, 0.8], [0.1, 0.75]])
    coverage = Coverage(SIDES, support, RULE, OPPOSED)
    assert [p.id for p in coverage.covered] == ["con"]
    assert [p.id for p in coverage.missing] == ["pro"]
    assert not coverage.says_nothing
    unjudged = Coverage(SIDES, np.full((2, 2), np.nan), RULE, OPPOSED)
    assert len(unjudged.unjudged) == 2
    silent = Coverage(SIDES, np.full((2, 2), np.nan), RULE, OPPOSED, np.array([False, False]))
    assert silent.says_nothing
    assert (len(silent.missing), len(silent.unjudged)) == (2, 0)
    assert silent.to_dict()["says_nothing"] is True
