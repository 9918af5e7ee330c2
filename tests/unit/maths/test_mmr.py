"""MMR against the formula, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.maths.ranking import mmr, mmr_from_embeddings, scale_relevance, topk


def brute_force(relevance, similarity, k, weight, first_pick="criterion"):
    """Carbonell and Goldstein, literally: every maximum is taken anew."""
    picked, scores = [], []
    for _ in range(min(k, len(relevance))):
        best, best_value, best_score = None, None, None
        for i in range(len(relevance)):
            if i in picked:
                continue
            redundancy = max((similarity[i][j] for j in picked), default=0.0)
            score = weight * relevance[i] - (1 - weight) * redundancy
            value = relevance[i] if first_pick == "relevance" and not picked else score
            if best is None or value > best_value:
                best, best_value, best_score = i, value, score
        picked.append(best)
        scores.append(best_score)
    return picked, scores


def problem(seed, n=25, d=6):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    rows[n // 2] = rows[1]  # a duplicate
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rng.uniform(-0.2, 1, n), rows, units @ units.T


def test_known_answer():
    relevance = [0.9, 0.8, 0.7]
    similarity = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]
    picked = mmr(relevance, similarity, 3, mmr_lambda=0.5)
    assert list(picked.indices) == [0, 2, 1]
    np.testing.assert_allclose(picked.scores, [0.45, 0.35 - 0.05, 0.4 - 0.45])


@pytest.mark.parametrize("first_pick", ["criterion", "relevance"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_formula(seed, weight, first_pick):
    relevance, rows, similarity = problem(seed)
    for k in (1, 7, 25, 40):
        options = {"mmr_lambda": weight, "first_pick": first_pick}
        indices, scores = brute_force(relevance, similarity, k, weight, first_pick)
        picked = mmr(relevance, similarity, k, **options)
        assert list(picked.indices) == indices
        np.testing.assert_allclose(picked.scores, scores, atol=1e-12)
        np.testing.assert_allclose(
            mmr_from_embeddings(relevance, rows, k, **options).scores, scores, atol=1e-9
        )


tenths = st.integers(-10, 10).map(lambda x: x / 8)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 7), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.data())
def test_equals_the_formula_where_much_is_tied(n, weight, data):
    relevance = data.draw(st.lists(tenths, min_size=n, max_size=n))
    similarity = [data.draw(st.lists(tenths, min_size=n, max_size=n)) for _ in range(n)]
    similarity = [[similarity[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    picked = mmr(relevance, similarity, n, mmr_lambda=weight)
    indices, scores = brute_force(relevance, similarity, n, weight)
    assert (list(picked.indices), list(picked.scores)) == (indices, scores)


def test_embeddings_and_their_cosines_pick_the_same():
    # Axis-aligned rows: cosines are exact, so that ties and duplicates must agree too.
    rows = np.array([[2.0, 0, 0], [1, 0, 0], [0, 3, 0], [0, 0, -1], [0, 1, 0], [0, 0, 0]])
    cosines = np.sign(rows) @ np.sign(rows).T
    relevance = [0.5, 0.5, 0.25, 0.25, 0.5, 0.0]
    for weight in (0.0, 0.5, 0.75, 1.0):
        by_rows = mmr_from_embeddings(relevance, rows, 6, mmr_lambda=weight)
        assert by_rows == mmr(relevance, cosines, 6, mmr_lambda=weight)


def test_the_length_of_an_embedding_does_not_matter():
    relevance, rows, _ = problem(3)
    scaled = rows * np.linspace(0.1, 50, len(rows))[:, None]
    one = mmr_from_embeddings(relevance, rows, 10, mmr_lambda=0.6)
    other = mmr_from_embeddings(relevance, scaled, 10, mmr_lambda=0.6)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)


def test_duplicates_come_late_and_nothing_comes_twice():
    relevance, rows, similarity = [1.0, 0.99, 0.5], np.eye(3)[[0, 0, 1]], np.eye(3)[[0, 0, 1]]
    picked = mmr_from_embeddings(relevance, rows, 3, mmr_lambda=0.5)
    assert list(picked.indices) == [0, 2, 1]
    similarity = similarity @ similarity.T
    assert mmr(relevance, similarity, 3, mmr_lambda=0.5) == picked


@pytest.mark.parametrize("seed", range(4))
def test_relevance_alone_is_the_plain_top_k(seed):
    relevance, rows, similarity = problem(seed)
    relevance = np.round(relevance, 1)  # with ties
    assert mmr(relevance, similarity, 25, mmr_lambda=1.0) == topk(relevance, 25)
    assert mmr_from_embeddings(relevance, rows, 9, mmr_lambda=1) == topk(relevance, 9)


def test_diversity_alone_ignores_relevance_but_for_a_first_pick_by_relevance():
    relevance, similarity = [0.1, 0.9, 0.5], np.eye(3)
    assert mmr(relevance, similarity, 3, mmr_lambda=0.0).indices == (0, 1, 2)
    by_relevance = mmr(relevance, similarity, 3, mmr_lambda=0.0, first_pick="relevance")
    assert by_relevance.indices == (1, 0, 2)


def test_redundancy_counts_from_the_first_pick_even_where_all_similarities_are_negative():
    similarity = -np.ones((3, 3)) / 2 + 1.5 * np.eye(3)
    picked = mmr([1.0, 0.5, 0.4], similarity, 3, mmr_lambda=0.5)
    np.testing.assert_allclose(picked.scores, [0.5, 0.5, 0.45])


# The two published scalings


def test_scaling_by_the_data_set_or_by_the_list():
    scores = [40.0, 10.0, 0.0]
    np.testing.assert_array_equal(scale_relevance(scores, maximum=80), [0.5, 0.125, 0.0])
    np.testing.assert_array_equal(scale_relevance(scores), [1.0, 0.25, 0.0])
    assert scale_relevance(np.float32([2, 1])).dtype == np.float64


def test_the_scaling_decides_what_is_picked():
    scores, similarity = [40.0, 30.0, 10.0], [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    by_list = mmr(scale_relevance(scores), similarity, 2, mmr_lambda=0.51)
    by_data = mmr(scale_relevance(scores, maximum=80), similarity, 2, mmr_lambda=0.51)
    assert (by_list.indices, by_data.indices) == ((0, 1), (0, 2))


def test_a_list_without_a_positive_score_is_left_as_it_is():
    np.testing.assert_array_equal(scale_relevance([-1.0, -2.0]), [-1.0, -2.0])
    np.testing.assert_array_equal(scale_relevance([0.0, 0.0]), [0.0, 0.0])
    assert scale_relevance([]).shape == (0,)


@pytest.mark.parametrize("maximum", [0, -1.0, float("nan"), float("inf"), "80", True])
def test_a_maximum_that_cannot_be_used_is_refused(maximum):
    with pytest.raises(ConfigError, match="maximum must be a finite number above 0"):
        scale_relevance([1.0], maximum=maximum)


# What cannot be used


@pytest.mark.parametrize(
    ("relevance", "similarity", "words"),
    [
        ([0.5, np.nan], np.eye(2), "relevance holds NaN"),
        ([0.5, 0.1], [[1, np.nan], [0, 1]], "similarity holds NaN"),
        ([0.5, 0.1], np.eye(3), "similarity has 3 dimensions where 2"),
        ([0.5, 0.1], np.eye(2)[:1], "one row for each of 2"),
        ([[0.5, 0.1]], np.eye(2), "relevance must have shape"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(relevance, similarity, words):
    with pytest.raises(ConfigError, match=words):
        mmr(relevance, similarity, 1, mmr_lambda=0.5)


def test_embeddings_that_do_not_match_are_refused():
    with pytest.raises(ConfigError, match="one row for each of 2"):
        mmr_from_embeddings([0.5, 0.1], np.ones((3, 4)), 1, mmr_lambda=0.5)


@pytest.mark.parametrize("weight", [-0.01, 1.01, float("nan"), "0.5", None, True])
def test_a_weight_out_of_range_is_refused(weight):
    with pytest.raises(ConfigError, match="mmr_lambda"):
        mmr([0.5], [[1.0]], 1, mmr_lambda=weight)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, None])
def test_a_k_that_cannot_be_used_is_refused(k):
    with pytest.raises(ConfigError, match="k must be a whole number"):
        mmr([0.5], [[1.0]], k, mmr_lambda=0.5)


def test_an_unknown_first_pick_suggests_the_right_one():
    with pytest.raises(ConfigError, match="did you mean 'relevance'"):
        mmr([0.5], [[1.0]], 1, mmr_lambda=0.5, first_pick="relevanc")


def test_no_candidates_give_no_picks():
    assert mmr([], np.zeros((0, 0)), 3, mmr_lambda=0.5).indices == ()
    assert mmr_from_embeddings([], np.zeros((0, 4)), 3, mmr_lambda=0.5).indices == ()


def test_inputs_are_left_as_they_were():
    relevance, rows, similarity = problem(6)
    before = relevance.copy(), rows.copy(), similarity.copy()
    mmr(relevance, similarity, 5, mmr_lambda=0.5)
    mmr_from_embeddings(relevance, rows, 5, mmr_lambda=0.5)
    for x, y in zip((relevance, rows, similarity), before, strict=True):
        np.testing.assert_array_equal(x, y)
