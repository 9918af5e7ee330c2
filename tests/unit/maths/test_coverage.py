"""Top k and greedy coverage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.maths.ranking import coverage_greedy, joint_coverage, topk

NAN = float("nan")


# Top k


def test_topk_is_best_first_and_stable():
    picked = topk([0.1, 0.9, 0.5, 0.9, 0.5], 4)
    assert picked.indices == (1, 3, 2, 4)
    assert picked.scores == (0.9, 0.9, 0.5, 0.5)
    assert all(type(i) is int for i in picked.indices)


def test_topk_of_more_than_there_are():
    assert topk([0.1, 0.2], 9).indices == (1, 0)
    assert topk([], 3).indices == ()
    assert topk([-2, -1], np.int64(1)).indices == (1,)


@pytest.mark.parametrize("k", [0, -3, 1.0, True, "2"])
def test_topk_refuses_a_k_that_is_no_count(k):
    with pytest.raises(ConfigError, match="k must be a whole number, at least 1"):
        topk([0.1], k)


@pytest.mark.parametrize("relevance", [[NAN], [float("inf")], [[0.1]], ["a"], 3.0])
def test_topk_refuses_what_is_no_list_of_numbers(relevance):
    with pytest.raises(ConfigError, match="relevance"):
        topk(relevance, 1)


# Greedy coverage


def brute_force(relevance, support, k, weight, weights=None):
    n, m = np.shape(support)
    low, high = min(relevance), max(relevance)
    scaled = [(x - low) / (high - low) if high > low else 1.0 for x in relevance]
    weights = [1.0] * m if weights is None else weights
    known = [[0.0 if np.isnan(x) else x for x in row] for row in support]
    picked, scores = [], []
    for _ in range(min(k, n)):
        values = {}
        for i in range(n):
            if i in picked:
                continue
            added = 0.0
            for p in range(m):
                still_open = 1.0
                for j in picked:
                    still_open *= 1 - known[j][p]
                added += weights[p] / sum(weights) * known[i][p] * still_open
            values[i] = weight * scaled[i] + (1 - weight) * added
        best = min(values, key=lambda i: (-values[i], i))
        picked.append(best)
        scores.append(values[best])
    return picked, scores


def test_known_answer():
    relevance = [1.0, 0.8, 0.0]
    support = [[0.9, 0.0], [0.9, 0.0], [0.0, 0.8]]
    picked = coverage_greedy(relevance, support, 3, relevance_weight=0.25)
    # First: 0.25 * 1 + 0.75 * 0.45; then 0.75 * 0.4 against 0.25 * 0.8 + 0.75 * 0.045.
    assert picked.indices == (0, 2, 1)
    np.testing.assert_allclose(picked.scores, [0.5875, 0.3, 0.23375])


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_equals_the_formula(seed, weight):
    rng = np.random.default_rng(seed)
    relevance, support = rng.standard_normal(15), rng.uniform(0, 1, (15, 4))
    support[rng.uniform(size=support.shape) < 0.2] = NAN
    for weights in (None, [1.0, 0.0, 3.0, 0.5]):
        picked = coverage_greedy(relevance, support, 9, relevance_weight=weight, weights=weights)
        indices, scores = brute_force(relevance, support, 9, weight, weights)
        assert list(picked.indices) == indices
        np.testing.assert_allclose(picked.scores, scores, atol=1e-12)


def test_relevance_alone_is_the_plain_top_k():
    relevance = [0.2, 0.9, 0.2, 0.5]
    support = np.random.default_rng(0).uniform(size=(4, 3))
    picked = coverage_greedy(relevance, support, 4, relevance_weight=1.0)
    assert picked.indices == topk(relevance, 4).indices


def test_coverage_alone_covers_every_perspective_before_any_twice():
    support = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    picked = coverage_greedy([5, 4, 3, 2, 1], support, 3, relevance_weight=0.0)
    assert picked.indices == (0, 2, 4)


def test_not_known_adds_nothing_and_takes_nothing_away():
    unknown = coverage_greedy(
        [1, 1, 1], [[NAN, 0.6], [0.5, NAN], [0.5, 0.2]], 3, relevance_weight=0
    )
    zero = coverage_greedy([1, 1, 1], [[0, 0.6], [0.5, 0], [0.5, 0.2]], 3, relevance_weight=0)
    assert unknown == zero
    nothing = coverage_greedy([0.1, 0.9], np.full((2, 3), NAN), 2)
    assert nothing.indices == (1, 0)


def test_a_perspective_that_matters_more_is_covered_first():
    support = [[0.9, 0.0], [0.0, 0.6]]
    assert coverage_greedy([0, 0], support, 1, relevance_weight=0).indices == (0,)
    weighted = coverage_greedy([0, 0], support, 1, relevance_weight=0, weights=[1, 2])
    assert weighted.indices == (1,)
    same = coverage_greedy([0, 0], support, 1, relevance_weight=0, weights=[10, 20])
    np.testing.assert_allclose(same.scores, weighted.scores)


def test_ties_go_to_the_lower_index_and_all_relevance_equal_is_one():
    picked = coverage_greedy([3, 3, 3], np.zeros((3, 2)), 3, relevance_weight=0.5)
    assert picked.indices == (0, 1, 2)
    assert picked.scores == (0.5, 0.5, 0.5)


def test_without_perspectives_or_candidates():
    assert coverage_greedy([0.1, 0.9], np.zeros((2, 0)), 5).indices == (1, 0)
    assert coverage_greedy([], np.zeros((0, 2)), 5).indices == ()


@settings(max_examples=80, deadline=None)
@given(st.floats(0.01, 1e3), st.floats(-100, 100), st.integers(0, 500))
def test_the_scale_of_relevance_does_not_matter(scale, shift, seed):
    rng = np.random.default_rng(seed)
    relevance, support = rng.standard_normal(8), rng.uniform(size=(8, 3))
    one = coverage_greedy(relevance, support, 8)
    other = coverage_greedy(relevance * scale + shift, support, 8)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)


def test_rounding_above_one_is_let_through_and_more_is_not():
    assert coverage_greedy([1.0], [[np.float32(1.0000001)]], 1).scores == (1.0,)
    with pytest.raises(ConfigError, match="turn logits into probabilities"):
        coverage_greedy([1.0], [[3.2]], 1)
    with pytest.raises(ConfigError, match=r"in \[0, 1\]"):
        coverage_greedy([1.0], [[-0.1]], 1)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([NAN], [[0.5]], 1), {}, "relevance holds NaN"),
        (([1.0], [[0.5], [0.5]], 1), {}, "one row for each of 1"),
        (([1.0], [0.5], 1), {}, "support must have shape"),
        (([1.0], [[float("inf")]], 1), {}, "support holds NaN or infinity"),
        (([1.0], [["yes"]], 1), {}, "support must be numbers"),
        (([1.0], [[0.5]], 0), {}, "k must be"),
        (([1.0], [[0.5]], 1), {"relevance_weight": 1.5}, "relevance_weight"),
        (([1.0], [[0.5]], 1), {"weights": [1, 1]}, "each of 1 perspectives"),
        (([1.0], [[0.5, 0.5]], 1), {"weights": [1, -1]}, "at least 0"),
        (([1.0], [[0.5, 0.5]], 1), {"weights": [0, 0]}, "not all 0"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, options, words):
    with pytest.raises(ConfigError, match=words):
        coverage_greedy(*arguments, **options)


def joint_value(chosen, relevance, support, weight, k):
    rel = np.asarray(relevance, float)
    rel = (
        (rel - rel.min()) / (rel.max() - rel.min()) if rel.max() > rel.min() else np.ones(len(rel))
    )
    covered = 1 - np.prod(1 - np.nan_to_num(support)[list(chosen)], axis=0)
    m = support.shape[1]
    product = np.prod(((covered + 0.1) / 1.1) ** (min(m, 2) / m)) if m else 1.0
    return weight * rel[list(chosen)].sum() / k + (1 - weight) * product


def test_the_joint_choice_takes_the_rare_side_where_a_sum_takes_a_second_of_the_common_one():
    support = np.array([[0.5, 0.0], [0.5, 0.0], [0.5, 0.0], [0.0, 0.2]])
    relevance = [4, 3, 2, 1]
    assert coverage_greedy(relevance, support, 2, relevance_weight=0.0).indices == (0, 1)
    assert joint_coverage(relevance, support, 2, relevance_weight=0.0).indices == (0, 3)


def test_the_joint_choice_follows_relevance_alone_when_asked_to_or_when_nothing_is_known():
    support = np.array([[0.0, 0.9], [0.9, 0.0], [0.0, 0.0]])
    assert joint_coverage([1, 2, 3], support, 2, relevance_weight=1.0).indices == (2, 1)
    assert joint_coverage([1, 2, 3], np.full((3, 2), NAN), 2).indices == (2, 1)
    assert joint_coverage([1, 2, 3], np.zeros((3, 0)), 5).indices == (2, 1, 0)
    assert joint_coverage([], np.zeros((0, 2)), 5).indices == ()


def test_one_perspective_that_nothing_supports_does_not_drown_the_others():
    support = np.zeros((6, 4))
    support[1, 0] = support[3, 1] = support[5, 2] = 0.9
    assert set(joint_coverage([6, 5, 4, 3, 2, 1], support, 3).indices) == {1, 3, 5}


def test_a_certain_judgement_is_no_trouble_and_weights_decide_between_two_sides():
    support = np.array([[1.0, 0.0], [0.0, 0.6]])
    assert set(joint_coverage([1, 1], support, 2).indices) == {0, 1}
    even = np.array([[0.6, 0.1], [0.1, 0.6]])
    assert joint_coverage([1, 1], even, 1, relevance_weight=0, weights=[1, 9]).indices == (1,)
    with pytest.raises(ConfigError):
        joint_coverage([1, 1], even, 1, weights=[0, 0])


@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([0.0, 0.2, 0.6]))
@example(1040, 3, 0.0)  # where the best candidate first, then exchanges, ends at 0.87 of the best
@example(9191, 1, 0.6)
@settings(max_examples=60, deadline=None)
def test_no_exchange_of_one_candidate_improves_the_joint_choice(seed, columns, weight):
    rng = np.random.default_rng(seed)
    relevance, support, k = rng.random(8), rng.random((8, columns)) ** 3, 3
    picked = joint_coverage(relevance, support, k, relevance_weight=weight)
    value = joint_value(picked.indices, relevance, support, weight, k)
    for place in range(k):
        for other in set(range(8)) - set(picked.indices):
            swapped = [*picked.indices[:place], other, *picked.indices[place + 1 :]]
            assert joint_value(swapped, relevance, support, weight, k) <= value + 1e-6
    best = max(
        joint_value(c, relevance, support, weight, k) for c in itertools.combinations(range(8), k)
    )
    assert value >= 0.95 * best
    assert list(picked.scores) == sorted(picked.scores, reverse=True)
