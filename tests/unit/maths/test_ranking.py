"""Fusion, and the choice of k of n, against the formulas term by term."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.maths.ranking import (
    coverage_greedy,
    mmr,
    plain_first,
    reciprocal_rank_fusion,
    round_robin,
    scale_relevance,
    seats,
    topk,
)

NAN, INF = float("nan"), float("inf")

rankings = st.lists(st.lists(st.integers(0, 8), max_size=7), min_size=1, max_size=4)


# Fusion


def test_ties_keep_the_order_of_first_appearance():
    # "a" stands at 1, 2, 7 and "b" at 7, 1, 2: the same ranks, whose plain sums differ in a bit.
    assert 1 / 61 + 1 / 62 + 1 / 67 != 1 / 67 + 1 / 61 + 1 / 62
    lists = [["a", *"cdefg", "b"], ["b", "a"], [*"hb", *"ijkl", "a"]]
    scores = reciprocal_rank_fusion(lists)
    assert scores["a"] == scores["b"]
    assert list(scores)[:2] == ["a", "b"]
    reordered = reciprocal_rank_fusion([lists[1], lists[2], lists[0]])
    assert list(reordered)[:2] == ["b", "a"]
    assert reordered == scores


def test_weights_are_honoured():
    lists = [["a", "b"], ["b", "a"]]
    assert next(iter(reciprocal_rank_fusion(lists, weights=[4, 1]))) == "a"
    assert next(iter(reciprocal_rank_fusion(lists, weights=[1, 4]))) == "b"
    assert reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 0])["b"] == 0.0


@settings(max_examples=150, deadline=None)
@given(rankings, st.data())
def test_raising_a_source_s_weight_never_lowers_its_top_document(lists, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(lists), max_size=len(lists)))
    chosen = data.draw(st.sampled_from([i for i, one in enumerate(lists) if one] or [None]))
    if chosen is None:
        return
    raised = [w + data.draw(st.integers(1, 9)) if i == chosen else w for i, w in enumerate(weights)]
    top = lists[chosen][0]
    before = list(reciprocal_rank_fusion(lists, weights=weights)).index(top)
    after = list(reciprocal_rank_fusion(lists, weights=raised)).index(top)
    assert after <= before


@settings(max_examples=100, deadline=None)
@given(rankings)
def test_scores_equal_the_formula_and_come_best_first(lists):
    scores = reciprocal_rank_fusion(lists)
    assert set(scores) == {i for one in lists for i in one}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    for identity, score in scores.items():
        uniques = [list(dict.fromkeys(one)) for one in lists]
        total = sum(1 / (61 + one.index(identity)) for one in uniques if identity in one)
        assert score == pytest.approx(total)


def test_by_turns_and_by_seats():
    lists = [["a", "b", "c"], ["a", "b", "d"], ["a", "e"], []]
    assert round_robin(lists) == ["a", "b", "e", "c", "d"]  # who was late loses the turn
    assert seats(lists) == {"a": 0, "b": 1, "e": 2, "c": 0, "d": 1}  # or takes the next
    assert round_robin([[None, (1, 2)], [0, None]]) == [None, 0, (1, 2)]
    assert seats([]) == seats([[], []]) == {}
    assert round_robin([]) == round_robin([[], []]) == []


@given(st.lists(st.lists(st.integers(0, 20), unique=True), max_size=5))
def test_of_every_first_part_each_ranking_that_has_more_gave_the_same_share(lists):
    given_by = seats(lists)
    assert sorted(given_by) == sorted({each for one in lists for each in one})
    order = list(given_by.values())
    for end in range(1, len(order) + 1):
        counts = [order[:end].count(place) for place in range(len(lists))]
        taken = set(list(given_by)[:end])
        more = [n for n, one in zip(counts, lists, strict=True) if not set(one) <= taken]
        assert not more or max(more) - min(more) <= 1


# Top k and MMR


def test_topk_is_best_first_and_stable():
    picked = topk([0.1, 0.9, 0.5, 0.9, 0.5], 4)
    assert picked.indices == (1, 3, 2, 4)
    assert picked.scores == (0.9, 0.9, 0.5, 0.5)
    assert topk([0.1, 0.2], 9).indices == (1, 0)
    assert topk([], 3).indices == ()


def literal_mmr(relevance, similarity, k, weight, first_pick="criterion"):
    """Carbonell and Goldstein, literally: every maximum is taken anew."""
    picked, scores = [], []
    for _ in range(min(k, len(relevance))):
        values = {}
        for i in sorted(set(range(len(relevance))) - set(picked)):
            redundancy = max((similarity[i][j] for j in picked), default=0.0)
            values[i] = weight * relevance[i] - (1 - weight) * redundancy
        by = relevance if first_pick == "relevance" and not picked else values
        picked.append(max(values, key=lambda i: by[i]))
        scores.append(values[picked[-1]])
    return picked, scores


@pytest.mark.parametrize("first_pick", ["criterion", "relevance"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.95, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_mmr_equals_the_formula(seed, weight, first_pick):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((25, 6))
    rows[12] = rows[1]  # a duplicate
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    relevance = rng.uniform(-0.2, 1, 25)
    before = relevance.copy(), rows.copy()
    for k in (1, 7, 40):
        indices, scores = literal_mmr(relevance, units @ units.T, k, weight, first_pick)
        picked = mmr(relevance, rows, k, mmr_lambda=weight, first_pick=first_pick)
        np.testing.assert_allclose(picked.scores, scores, atol=1e-9)
        assert [i if i != 12 else 1 for i in picked.indices] == [
            i if i != 12 else 1 for i in indices
        ]
    np.testing.assert_array_equal(relevance, before[0])
    np.testing.assert_array_equal(rows, before[1])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 7), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.data())
def test_mmr_equals_the_formula_where_much_is_tied(n, weight, data):
    # Along the axes cosines are exact, so that ties and duplicates must agree too.
    axes = data.draw(st.lists(st.sampled_from([-2, -1, 0, 1, 2, 3]), min_size=n, max_size=n))
    rows = np.array([np.sign(a) * np.eye(4)[abs(a)] * (abs(a) + 1) for a in axes])
    relevance = [x / 8 for x in data.draw(st.lists(st.integers(-8, 8), min_size=n, max_size=n))]
    picked = mmr(relevance, rows, n, mmr_lambda=weight)
    cosines = (np.sign(rows) @ np.sign(rows).T).tolist()
    indices, scores = literal_mmr(relevance, cosines, n, weight)
    assert (list(picked.indices), list(picked.scores)) == (indices, scores)
    if weight == 1.0:
        assert picked == topk(relevance, n)


def test_relevance_is_scaled_by_its_highest_value():
    np.testing.assert_array_equal(scale_relevance([40.0, 10.0, 0.0]), [1.0, 0.25, 0.0])
    np.testing.assert_array_equal(scale_relevance([-1.0, -2.0]), [-1.0, -2.0])
    assert scale_relevance(np.float32([2, 1])).dtype == np.float64
    assert scale_relevance([]).shape == (0,)


@pytest.mark.parametrize(
    ("relevance", "rows", "k", "weight", "words"),
    [
        ([0.5, NAN], np.eye(2), 1, 0.5, "relevance holds NaN"),
        ([0.5, 0.1], [[1, NAN], [0, 1]], 1, 0.5, "embeddings holds NaN"),
        ([0.5, 0.1], np.eye(3), 1, 0.5, "one row for each of 2"),
        ([[0.5, 0.1]], np.eye(2), 1, 0.5, "relevance must have shape"),
        ([0.5], [[1.0]], 0, 0.5, "k must be"),
        ([0.5], [[1.0]], True, 0.5, "k must be"),
        ([0.5], [[1.0]], 1, 1.01, "mmr_lambda"),
        ([0.5], [[1.0]], 1, NAN, "mmr_lambda"),
    ],
)
def test_what_mmr_cannot_use_is_refused(relevance, rows, k, weight, words):
    with pytest.raises(ConfigError, match=words):
        mmr(relevance, rows, k, mmr_lambda=weight)


# Greedy coverage


def literal_coverage(relevance, support, k, weight, weights=None):
    n, m = np.shape(support)
    low, high = min(relevance), max(relevance)
    scaled = [(x - low) / (high - low) if high > low else 1.0 for x in relevance]
    weights = [1.0] * m if weights is None else weights
    known = [[0.0 if np.isnan(x) else x for x in row] for row in support]
    picked, scores = [], []
    for _ in range(min(k, n)):
        values = {}
        for i in sorted(set(range(n)) - set(picked)):
            added = 0.0
            for p in range(m):
                still_open = np.prod([1 - known[j][p] for j in picked])
                added += weights[p] / sum(weights) * known[i][p] * still_open
            values[i] = weight * scaled[i] + (1 - weight) * added
        picked.append(max(values, key=lambda i: values[i]))
        scores.append(values[picked[-1]])
    return picked, scores


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_coverage_equals_the_formula(seed, weight):
    rng = np.random.default_rng(seed)
    relevance, support = rng.standard_normal(15), rng.uniform(0, 1, (15, 4))
    support[rng.uniform(size=support.shape) < 0.2] = NAN
    for weights in (None, [1.0, 0.0, 3.0, 0.5]):
        picked = coverage_greedy(relevance, support, 9, relevance_weight=weight, weights=weights)
        indices, scores = literal_coverage(relevance, support, 9, weight, weights)
        assert list(picked.indices) == indices
        np.testing.assert_allclose(picked.scores, scores, atol=1e-12)


def test_coverage_of_what_is_tied_unknown_or_nothing():
    tied = coverage_greedy([3, 3, 3], np.zeros((3, 2)), 3, relevance_weight=0.5)
    assert (tied.indices, tied.scores) == ((0, 1, 2), (0.5, 0.5, 0.5))
    assert coverage_greedy([0.1, 0.9], np.full((2, 3), NAN), 2).indices == (1, 0)
    assert coverage_greedy([0.1, 0.9], np.zeros((2, 0)), 5).indices == (1, 0)
    assert coverage_greedy([], np.zeros((0, 2)), 5).indices == ()
    assert coverage_greedy([1.0], [[np.float32(1.0000001)]], 1).scores == (1.0,)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([NAN], [[0.5]], 1), {}, "relevance holds NaN"),
        (([1.0], [[0.5], [0.5]], 1), {}, "one row for each of 1"),
        (([1.0], [0.5], 1), {}, "support must have shape"),
        (([1.0], [[INF]], 1), {}, "support holds NaN or infinity"),
        (([1.0], [["yes"]], 1), {}, "support must be numbers"),
        (([1.0], [[3.2]], 1), {}, "turn logits into probabilities"),
        (([1.0], [[-0.1]], 1), {}, r"in \[0, 1\]"),
        (([1.0], [[0.5]], 0), {}, "k must be"),
        (([1.0], [[0.5]], 1), {"relevance_weight": 1.5}, "relevance_weight"),
        (([1.0], [[0.5]], 1), {"weights": [1, 1]}, "each of 1 perspectives"),
        (([1.0], [[0.5, 0.5]], 1), {"weights": [1, -1]}, "at least 0"),
        (([1.0], [[0.5, 0.5]], 1), {"weights": [0, 0]}, "not all 0"),
    ],
)
def test_what_coverage_cannot_use_is_refused(arguments, options, words):
    with pytest.raises(ConfigError, match=words):
        coverage_greedy(*arguments, **options)


# Plain search's own passages, exchanged where the judged gain is real


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
    few = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.4]])
    assert set(plain_first(few, 2, plain=[1, INF, INF]).indices) == {0, 2}


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
