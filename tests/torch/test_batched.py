"""Projection and MMR for many queries at once, beside the numpy reference, on CPU tensors."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.project.batched import BatchSearch, project_queries
from perspective_rag.project.table import project_query, projected_scores
from perspective_rag.select.mmr import mmr_from_embeddings
from perspective_rag.select.mmr_batch import mmr_batch

METHODS = ("none", "pap", "pap+")


def problem(seed, b, n, d):
    """Random vectors with the hard cases among them: zero, parallel, equal, tiny."""
    rng = np.random.default_rng(seed)
    passages, queries, sides = (rng.standard_normal((rows, d)) for rows in (n, b, b))
    if n > 3 and b:
        passages[0] = 0.0
        passages[1] = 3.0 * sides[0]
        passages[2] = passages[3]
    if b > 4:
        sides[1] = 0.0
        queries[2] = -2.0 * sides[2]
        queries[3] = 0.0
        sides[4] = 1e-8
    return passages, queries, sides


def reference(method, passages, queries, sides):
    rows = [
        projected_scores(method, passages, q, q, p) for q, p in zip(queries, sides, strict=True)
    ]
    return np.array(rows).reshape(len(queries), len(passages))


shapes = given(
    seed=st.integers(0, 2**31),
    b=st.integers(0, 9),
    n=st.integers(0, 40),
    d=st.integers(1, 12),
    cells=st.integers(1, 60),
)


@settings(max_examples=80, deadline=None)
@shapes
@example(seed=1, b=6, n=30, d=5, cells=7)
@example(seed=1, b=0, n=5, d=3, cells=1)
@example(seed=1, b=3, n=0, d=3, cells=1)
def test_scores_and_vectors_are_those_of_the_reference(seed, b, n, d, cells):
    passages, queries, sides = problem(seed, b, n, d)
    search = BatchSearch(passages, cells_at_once=cells)
    for method in METHODS:
        found = search.scores(method, queries, sides)
        np.testing.assert_allclose(
            found.numpy(), reference(method, passages, queries, sides), atol=1e-7
        )
    vectors, fell_back = project_queries(queries, sides)
    for i in range(b):
        vector, problem_ = project_query("pap", queries[i], queries[i], sides[i])
        np.testing.assert_allclose(vectors[i].numpy(), vector, atol=1e-9)
        assert bool(fell_back[i]) == (problem_ is not None)


@settings(max_examples=80, deadline=None)
@shapes
@example(seed=3, b=6, n=30, d=5, cells=7)
def test_the_best_passages_are_those_of_the_reference(seed, b, n, d, cells):
    passages, queries, sides = problem(seed, b, n, d)
    for method in METHODS:
        for k in (1, 5, 50):
            found = BatchSearch(passages, cells_at_once=cells).search(method, queries, sides, k)
            assert found.indices.shape == found.scores.shape == (b, min(k, n))
            expected = reference(method, passages, queries, sides)
            best = -np.sort(-expected, axis=1)[:, :k]
            np.testing.assert_allclose(found.scores.numpy(), best, atol=1e-7)
            at = np.take_along_axis(expected, found.indices.numpy(), axis=1)
            np.testing.assert_allclose(at, best, atol=1e-7)
            assert all(len(set(row.tolist())) == len(row) for row in found.indices)


def test_equal_scores_come_in_the_order_of_the_passages():
    passages = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
    for cells in (1, 100):
        found = BatchSearch(passages, cells_at_once=cells).search("none", [[1.0, 0.0]], None, 4)
        assert found.indices.tolist() == [[0, 2, 3, 1]]
        assert found.fell_back.tolist() == [False]


def test_the_plain_query_stands_in_and_says_so():
    passages, queries, sides = problem(7, 6, 20, 4)
    search = BatchSearch(passages)
    found = search.search("pap+", queries, sides, 5)
    assert found.fell_back.tolist() == [False, True, True, True, True, False]
    plain = search.search("none", queries, None, 5)
    assert torch.equal(found.indices[1:5], plain.indices[1:5])


@pytest.mark.parametrize(
    ("dtype", "close"), [("float32", 2e-5), ("float16", 5e-3), ("bfloat16", 4e-2)]
)
def test_lower_precision_is_near_the_reference(dtype, close):
    rng = np.random.default_rng(0)
    passages, queries, sides = (rng.standard_normal((rows, 64)) for rows in (300, 5, 5))
    passages /= np.linalg.norm(passages, axis=1, keepdims=True)
    search = BatchSearch(passages, dtype=dtype)
    for method in METHODS:
        found = search.scores(method, queries, sides).numpy()
        expected = reference(method, passages, queries, sides)
        np.testing.assert_allclose(found, expected, atol=close)
        assert found.dtype == np.float32


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_passage_along_the_perspective_is_not_ranked_by_rounding(dtype):
    rng = np.random.default_rng(1)
    queries, sides = rng.standard_normal((2, 4, 96))
    found = BatchSearch(0.37 * sides, dtype=dtype).scores("pap+", queries, sides)
    assert found.diagonal().tolist() == [0.0] * 4


def test_what_is_no_batch_is_refused():
    search = BatchSearch(np.eye(3))
    with pytest.raises(ConfigError, match="did you mean"):
        search.search("papp", np.eye(3), np.eye(3), 1)
    with pytest.raises(ConfigError, match="2 dimensions where the passages have 3"):
        search.search("pap", np.ones((1, 2)), np.ones((1, 2)), 1)
    with pytest.raises(ConfigError, match="same shape"):
        search.search("pap", np.ones((2, 3)), np.ones((1, 3)), 1)
    with pytest.raises(ConfigError, match="queries holds NaN"):
        search.search("pap", np.full((1, 3), np.nan), np.ones((1, 3)), 1)
    with pytest.raises(ConfigError, match="passages holds NaN"):
        BatchSearch(np.array([[1.0, np.inf]]))
    with pytest.raises(ConfigError, match="must have 2 dimensions"):
        BatchSearch(np.ones(3))
    with pytest.raises(ConfigError, match="dtype must be one of"):
        BatchSearch(np.eye(2), dtype="int8")
    with pytest.raises(ConfigError, match="equal row length"):
        BatchSearch([[1.0], [1.0, 2.0]])
    with pytest.raises(ConfigError, match="k must be"):
        search.search("none", np.eye(3), None, 0)


def check_picks(relevance, embeddings, k, weight, first, found):
    """Every pick is a best one, by the reference's criterion on the picks before it."""
    for row, (values, vectors) in enumerate(zip(relevance, embeddings, strict=True)):
        picks = found.indices[row].tolist()
        assert len(set(picks)) == len(picks) == min(k, len(values))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-6)
        for step, pick in enumerate(picks):
            near = (
                np.clip(units @ units[picks[:step]].T, -1, 1).max(axis=1)
                if step
                else np.zeros(len(values))
            )
            criterion = weight * values - (1 - weight) * near
            assert found.scores[row, step].item() == pytest.approx(criterion[pick], abs=1e-9)
            by = values if first == "relevance" and not step else criterion
            left = [i for i in range(len(values)) if i not in picks[:step]]
            assert by[pick] >= by[left].max() - 1e-9


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    b=st.integers(0, 6),
    n=st.integers(0, 20),
    d=st.integers(1, 8),
    k=st.integers(1, 24),
    weight=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    first=st.sampled_from(["criterion", "relevance"]),
)
def test_every_pick_is_one_that_the_criterion_allows(seed, b, n, d, k, weight, first):
    rng = np.random.default_rng(seed)
    relevance, embeddings = rng.uniform(-1, 1, (b, n)), rng.standard_normal((b, n, d))
    if n > 2:
        embeddings[:, 0] = 0.0
        embeddings[:, 1] = embeddings[:, 2]
    found = mmr_batch(relevance, embeddings, k, mmr_lambda=weight, first_pick=first)
    assert found.indices.shape == (b, min(k, n))
    check_picks(relevance, embeddings, k, weight, first, found)


@pytest.mark.parametrize("first", ["criterion", "relevance"])
def test_the_picks_are_those_of_the_reference(first):
    rng = np.random.default_rng(4)
    relevance, embeddings = rng.uniform(0, 1, (30, 50)), rng.standard_normal((30, 50, 16))
    found = mmr_batch(relevance, embeddings, 8, mmr_lambda=0.6, first_pick=first)
    for row in range(30):
        one = mmr_from_embeddings(
            relevance[row], embeddings[row], 8, mmr_lambda=0.6, first_pick=first
        )
        assert found.indices[row].tolist() == list(one.indices)
        np.testing.assert_allclose(found.scores[row].numpy(), one.scores, atol=1e-12)


def test_of_equal_candidates_the_first_is_picked():
    found = mmr_batch(np.ones((2, 4)), np.ones((2, 4, 3)), 3, mmr_lambda=1.0)
    assert found.indices.tolist() == [[0, 1, 2]] * 2


def test_what_cannot_be_chosen_from_is_refused():
    with pytest.raises(ConfigError, match=r"shape \(b, n, d\)"):
        mmr_batch(np.ones((2, 3)), np.ones((2, 4, 3)), 1, mmr_lambda=0.5)
    with pytest.raises(ConfigError, match="relevance holds NaN"):
        mmr_batch(np.full((1, 2), np.nan), np.ones((1, 2, 2)), 1, mmr_lambda=0.5)
    with pytest.raises(ConfigError, match="embeddings holds NaN"):
        mmr_batch(np.ones((1, 2)), np.full((1, 2, 2), np.inf), 1, mmr_lambda=0.5)
    with pytest.raises(ConfigError, match="mmr_lambda"):
        mmr_batch(np.ones((1, 2)), np.ones((1, 2, 2)), 1, mmr_lambda=2.0)
    with pytest.raises(ConfigError, match="did you mean"):
        mmr_batch(np.ones((1, 2)), np.ones((1, 2, 2)), 1, mmr_lambda=0.5, first_pick="relevnce")
