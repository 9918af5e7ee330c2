"""Judging best first: order, budget, early stop, failures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.cover.select import repair
from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.support import (
    BATCH,
    coverage_of,
    judge_best_first,
    quotas,
    support_matrix,
)
from perspective_rag.testing import TableJudge
from perspective_rag.types import Candidate, ListingRule, Passage, Perspective, RelevanceFloor

PRO, CON = Perspective("pro", "yes"), Perspective("con", "no")


def candidates(n):
    return [Candidate(Passage(f"d{i}", f"text {i}"), 1.0 / (i + 1)) for i in range(n)]


def judged(judge, n, k=2, limit=100, book=None, strict=False):
    flow = judge_best_first(
        judge,
        [PRO, CON],
        candidates(n),
        k=k,
        limit=limit,
        rule=ListingRule(judge.threshold, judge.threshold),
    )
    return run(flow, book or Recorder(strict=strict))


def test_stops_as_soon_as_k_passages_cover_everything():
    judge = TableJudge({("d1", "pro"): 0.9, ("d2", "con"): 0.8})
    result = judged(judge, 100)
    assert len(judge.judged) == 2 * BATCH
    assert [bool(c.support) for c in result] == [True] * BATCH + [False] * (100 - BATCH)


def test_goes_on_until_the_rare_side_is_found():
    judge = TableJudge({("d0", "pro"): 0.9, ("d30", "con"): 0.8})
    result = judged(judge, 100)
    assert result[30].support["con"] == 0.8
    assert len(judge.judged) < 2 * 100


def test_never_judges_more_than_the_limit():
    judge = TableJudge()
    judged(judge, 100, limit=13)
    assert len({passage for passage, _ in judge.judged}) == 13


def test_what_was_judged_is_not_judged_again():
    judge = TableJudge(default=0.1)
    first = judged(judge, 10)
    run(judge_best_first(judge, [PRO, CON], first, k=2, limit=100, rule=ListingRule(0.5, 0.5)))
    assert len(judge.judged) == len(set(judge.judged)) == 20


def test_a_failing_batch_stays_unjudged_is_recorded_and_the_next_is_judged():
    judge = TableJudge({("d9", "pro"): 0.9}, failing=frozenset({"d0"}))
    book = Recorder()
    result = judged(judge, 3 * BATCH, book=book)
    assert all(not c.support for c in result[:BATCH])
    assert result[9].support == {"pro": 0.9, "con": 0.0}
    assert [d.stage for d in book.degradations] == ["judge"]


def test_two_failures_in_a_row_end_it():
    judge = TableJudge(failing=frozenset({"d0", "d8"}))
    book = Recorder()
    judged(judge, 5 * BATCH, book=book)
    assert len(book.degradations) == 2
    assert len(judge.judged) == 2 * BATCH * 2


def test_two_batches_in_a_row_without_a_verdict_end_it_too():
    judge = TableJudge(default=math.nan)
    judged(judge, 5 * BATCH)
    assert len(judge.judged) == 2 * BATCH * 2


def test_strict_mode_raises():
    with pytest.raises(JudgeError, match="table"):
        judged(TableJudge(failing=frozenset({"d0"})), 3, strict=True)


@pytest.mark.parametrize("bad", [np.full((3, 1), 0.5), np.full((3, 2), 1.5), np.full((2, 2), 0.5)])
def test_a_judge_that_returns_nonsense_is_recorded(bad):
    class Nonsense(TableJudge):
        def judge(self, perspectives, passages):
            return bad
            yield

    book = Recorder()
    result = judged(Nonsense(), 3, book=book)
    assert all(not c.support for c in result)
    assert len(book.degradations) == 1


def test_nan_means_not_judged_never_no():
    class Unsure(TableJudge):
        def judge(self, perspectives, passages):
            return np.array([[0.9, math.nan]] * len(passages))
            yield

    result = judged(Unsure(), 2)
    assert result[0].support == {"pro": 0.9}
    coverage = coverage_of(result, [PRO, CON], ListingRule(0.5, 0.5))
    assert coverage.covered == (PRO,)
    assert coverage.unjudged == (CON,)
    assert coverage.missing == ()


def test_missing_means_judged_everywhere_and_found_nowhere():
    result = judged(TableJudge({("d0", "pro"): 0.5}), 2)
    coverage = coverage_of(result, [PRO, CON], ListingRule(0.5, 0.5))
    assert (coverage.covered, coverage.missing, coverage.unjudged) == ((PRO,), (CON,), ())
    assert not coverage.complete
    assert coverage.to_dict()["missing"] == ["con"]


def test_repair_replaces_the_last_one_that_nothing_depends_on():
    support = np.array([[0.9, 0.0], [0.8, 0.1], [0.7, 0.0], [0.0, 0.6], [0.0, 0.9]])
    assert repair([0, 1, 2], support >= 0.5, support) == [0, 1, 4]


def test_repair_leaves_alone_what_is_needed():
    support = np.array([[0.9, 0.0], [0.0, 0.9]])
    assert repair([0], support >= 0.5, support) == [0]
    assert repair([0, 1], support >= 0.5, support) == [0, 1]


def test_repair_ignores_nan():
    support = np.array([[0.9, np.nan], [0.1, np.nan], [0.2, 0.8]])
    assert repair([0, 1], support >= 0.5, support) == [0, 2]


def test_repair_fills_the_places_a_perspective_is_due():
    support = np.array([[0.9, 0.0]] * 5 + [[0.0, 0.6], [0.0, 0.9], [0.0, 0.7]])
    assert repair(range(5), support >= 0.5, support, [1, 1]) == [0, 1, 2, 3, 6]
    assert repair(range(5), support >= 0.5, support, [1, 2]) == [0, 1, 2, 7, 6]
    assert repair(range(5), support >= 0.5, support, [3, 2]) == [0, 1, 2, 7, 6]
    assert repair(range(5), support >= 0.5, support, [4, 2]) == [
        0,
        1,
        2,
        3,
        6,
    ]  # more due than places
    assert repair(range(5), support >= 0.5, support, [1, 5]) == [0, 1, 5, 7, 6]  # all there are


def test_shares_become_places_without_rounding_errors():
    sides = [Perspective("a", "A", share=0.3), Perspective("b", "B", share=0.21)]
    assert quotas(sides, 10) == [3, 3]
    assert quotas(sides, 1) == [1, 1]
    assert quotas([Perspective("a", "A")], 50) == [1]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match="share"):
            Perspective("a", "A", share=wrong)


@given(
    arrays(np.float64, (8, 3), elements=st.floats(0, 1)),
    st.integers(1, 6),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
)
def test_swapping_never_takes_from_a_perspective_what_it_is_due(support, k, due):
    before = (support[:k] >= 0.5).sum(axis=0)
    chosen = repair(range(k), support >= 0.5, support, due)
    after = (support[chosen] >= 0.5).sum(axis=0)
    assert len(set(chosen)) == k
    assert (after >= np.minimum(before, due)).all()


def test_support_matrix_of_nothing_has_the_right_shape():
    assert support_matrix([], [PRO, CON]).shape == (0, 2)


def test_what_is_found_later_is_judged_where_an_earlier_candidate_reached_the_topic():
    """A guard's find need not reach the topic itself, only be about the question as a passage."""
    floor = RelevanceFloor(topic=0.6, passage=0.3)

    def with_relevance(relevance):
        return Candidate(Passage(f"r{relevance}", "text"), 1.0, scores={"relevance": relevance})

    def read(found, beside):
        judge = TableJudge()
        flow = judge_best_first(
            judge, [PRO, CON], found, k=2, limit=9, rule=None, floor=floor, beside=beside
        )
        result = run(flow, Recorder())
        assert [c.passage.id for c in result] == [c.passage.id for c in found]
        return {passage for passage, _ in judge.judged}

    found = [with_relevance(0.5), with_relevance(0.2)]
    assert read(found, [with_relevance(0.7)]) == {"r0.5"}
    assert read(found, [with_relevance(0.55)]) == set()
    assert read(found, []) == set()
