"""The default choice: plain search's own passages, exchanged where the judged gain is real."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag import ConfigError, PerspectivePipeline
from perspective_rag.extend import (
    MMR,
    Choice,
    GreedyCoverage,
    JointCoverage,
    PlainFirst,
    Selection,
    Selector,
    TopK,
    XQuAD,
)
from perspective_rag.local.callables import CallableStore
from perspective_rag.maths.ranking import plain_first
from perspective_rag.maths.vectors import overlaps
from perspective_rag.testing import TableJudge
from perspective_rag.types import Passage

NAN, INF = float("nan"), float("inf")


def test_the_plain_result_stands_where_no_verdict_tells():
    unknown = np.full((6, 2), NAN)
    assert plain_first(unknown, 3, plain=[4, 1, INF, 2, 3, INF]).indices == (1, 3, 4)
    assert plain_first(np.zeros((3, 2)), 2, plain=[3, 2, 1]).indices == (2, 1)
    assert plain_first(np.zeros((0, 2)), 2, plain=[]).indices == ()


def test_a_passage_for_the_missing_side_takes_the_place_of_the_last():
    support = np.array([[0.8, 0], [0.8, 0], [0.8, 0], [0, 0.7], [0, 0.8]])
    picked = plain_first(support, 3, plain=[1, 2, 3, 4, INF])
    assert set(picked.indices) == {0, 1, 4}
    assert list(picked.scores) == sorted(picked.scores, reverse=True)


def test_at_most_half_of_the_places_are_exchanged():
    support = np.array([[0.1, 0.1]] * 5 + [[0.9, 0.0], [0.0, 0.9]] * 5)
    plain = np.arange(1.0, 16.0)
    assert len(set(plain_first(support, 5, plain=plain).indices) & set(range(5))) == 3
    assert len(set(plain_first(support, 4, plain=plain).indices) & set(range(4))) == 2
    assert plain_first(support, 5, plain=plain, relevance_weight=1.0).indices == (0, 1, 2, 3, 4)
    (only,) = plain_first(support, 1, plain=plain, relevance_weight=0.0).indices
    assert only >= 5  # the one place there is can be given away too


def test_what_overlaps_with_another_of_the_set_takes_nobodys_place():
    support = np.array([[0.6, 0.0], [0.5, 0.0], [0.0, 0.9], [0.0, 0.5]])
    alike = [frozenset({2}), frozenset(), frozenset({0}), frozenset()]
    free = plain_first(support, 2, plain=[1, 2, INF, INF])
    assert set(free.indices) == {0, 2}
    held = plain_first(support, 2, plain=[1, 2, INF, INF], overlaps=alike)
    assert 2 not in held.indices or 0 not in held.indices


def test_too_few_plain_ones_are_filled_up_with_what_covers_most():
    support = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.4]])
    assert set(plain_first(support, 2, plain=[1, INF, INF]).indices) == {0, 2}


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_no_set_loses_expected_coverage_and_half_of_plain_stays(seed, k):
    rng = np.random.default_rng(seed)
    support = rng.random((9, 2)) ** 2 / 2
    plain = rng.permutation(9) + 1.0
    picked = plain_first(support, k, plain=plain, relevance_weight=0.0)

    def covered(members):
        parts = 1 - np.prod(1 - support[list(members)], axis=0)
        return float(np.prod((parts + 0.1) / 1.1))

    first = np.argsort(plain)[:k].tolist()
    assert len(set(picked.indices)) == k
    assert covered(picked.indices) >= covered(first) - 1e-9
    assert len(set(first) - set(picked.indices)) <= max(1, k // 2)
    near = [
        (set(picked.indices) - {out}) | {new}
        for out, new in itertools.product(picked.indices, range(9))
        if new not in picked.indices
    ]
    allowed = [each for each in near if len(set(first) - each) <= max(1, k // 2)]
    assert all(covered(each) <= covered(picked.indices) + 1e-6 for each in allowed)


def test_places_and_support_must_fit():
    with pytest.raises(ConfigError, match="one row for each of 2"):
        plain_first([[0.5, 0.5]], 1, plain=[1, 2])
    with pytest.raises(ConfigError, match="relevance_weight"):
        plain_first([[0.5]], 1, plain=[1], relevance_weight=2)


def test_windows_of_one_document_overlap_and_others_do_not():
    words = [f"word{i}" for i in range(60)]
    window = [" ".join(words[i : i + 30]) for i in (0, 20, 30)]
    assert overlaps(window) == [frozenset({1}), frozenset({0, 2}), frozenset({1})]
    assert overlaps(["short text", "short text"]) == [frozenset(), frozenset()]


def passages():
    return [
        Passage(name, f"zoos: {text}")
        for name, text in [
            ("pro1", "should be closed, says one"),
            ("pro2", "should be closed, says another"),
            ("none", "cost ten pounds to enter"),
            ("con1", "should stay open, says one"),
            ("con2", "should stay open, says another"),
        ]
    ]


JUDGE = TableJudge(
    {(f"pro{i}", "p1"): 0.9 for i in (1, 2)} | {(f"con{i}", "p2"): 0.9 for i in (1, 2)}
)


def asked(selector, judge=JUDGE, **options):
    store = CallableStore(lambda text, k: passages()[:k])
    made = PerspectivePipeline(store, judge=judge, selector=selector, k=2, guard_searches=0)
    sides = ["Zoos should be closed", "Zoos should stay open"]
    return made.retrieve("Should zoos be closed?", perspectives=sides, **options)


@pytest.mark.parametrize(
    ("selector", "both"),
    [(None, True), (PlainFirst(), True), (JointCoverage(), True), (GreedyCoverage(), True),
     (TopK(), False)],
)  # fmt: skip
def test_selectors_are_parts_of_one_shape(selector, both):
    assert selector is None or isinstance(selector, Selector)
    result = asked(selector)
    assert not result.trace.degradations
    assert result.coverage.complete == both
    assert len(result.passages) == 2


def test_where_plain_search_is_one_sided_the_other_side_has_its_share():
    names = [f"pro{i}" for i in range(5)] + [f"con{i}" for i in range(5)]
    judge = TableJudge({(name, "p1" if name[:3] == "pro" else "p2"): 1.0 for name in names})
    store = CallableStore(
        lambda text, k: [Passage(n, f"{n}: zoos, as {n} puts it") for n in names][:k]
    )
    made = PerspectivePipeline(store, judge=judge, k=5, guard_searches=0)
    result = made.retrieve("Should zoos be closed?", perspectives=["Close them", "Keep them open"])
    assert sorted(each.passage.id[:3] for each in result.candidates) == ["con"] * 2 + ["pro"] * 3


def test_a_selector_of_ones_own_is_given_arrays_and_chooses():
    class Last:
        def select(self, choice, k):
            assert isinstance(choice, Choice)
            assert choice.support.shape == choice.listed.shape == choice.nearness.shape == (5, 2)
            assert choice.plain.tolist() == [1, 2, 3, 4, 5]
            assert choice.quotas == [1, 1]
            assert choice.embeddings is None
            return Selection((4, 2), (2.0, 1.0))

    result = asked(Last())
    assert [each.id for each in result.passages] == ["con2", "none"]
    assert [each.score for each in result.candidates] == [2.0, 1.0]
    with pytest.raises(ConfigError, match="selector must be a Selector"):
        asked(lambda choice, k: None)


class Broken:
    def select(self, choice, k):
        return Selection((7,), (1.0,))


@pytest.mark.parametrize("selector", [Broken(), MMR(), XQuAD()])
def test_a_selector_that_fails_is_recorded_and_the_default_chooses(selector):
    """MMR and xQuAD need vectors, which this store and pipeline have not."""
    result = asked(selector)
    assert result.coverage.complete
    assert [each.stage for each in result.trace.degradations] == ["select"]
    with pytest.raises(ConfigError):
        asked(selector, strict=True)
