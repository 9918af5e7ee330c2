"""Every row of PIR Tables 4 and 8 against the definition, written out with projected copies."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.errors import ConfigError
from perspective_rag.maths import projection
from perspective_rag.maths.projection import DOCUMENT_SIDE, project_query, projected_scores
from perspective_rag.options import PROJECTIONS as OPTIONS

# The adaptive one is chosen from these parts and tested in test_adaptive.
PROJECTIONS = [name for name in OPTIONS if name != "adaptive"]
TURNING = [name for name in PROJECTIONS if name != "none"]
QUERY_SIDE = [name for name in PROJECTIONS if name not in DOCUMENT_SIDE]


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error", RuntimeWarning)
        yield


# The definitions, one candidate at a time


def length(x):
    return float(np.sqrt((x * x).sum()))


def cos(x, y):
    below = length(x) * length(y)
    return float((x * y).sum() / below) if below > 0 else 0.0


def off(x, p):
    return x - (x * p).sum() / (p * p).sum() * p


ROWS = {
    "none": lambda q, r, p, c: cos(q, c),
    "pap": lambda q, r, p, c: cos(off(q, p), c),
    "pap+": lambda q, r, p, c: cos(off(q, p), off(c, p)),
    "add": lambda q, r, p, c: cos(r + p, c),
    "add+": lambda q, r, p, c: cos(q + p, c),
    "concat": lambda q, r, p, c: cos(np.concatenate([r, p]), np.concatenate([c, p])),
    "concat+": lambda q, r, p, c: cos(np.concatenate([q, p]), np.concatenate([c, p])),
    "cast": lambda q, r, p, c: cos(q - p, c),
    "cast+": lambda q, r, p, c: cos(q - p, c - p),
    "dual-sum": lambda q, r, p, c: cos(r, c) + cos(p, c),
    "tri-sum": lambda q, r, p, c: cos(r, c) + cos(p, c) + cos(q, c),
}


def reference(method, candidates, q, r, p):
    return np.array([ROWS[method](q, r, p, c) for c in candidates])


def problem(seed, n=40, d=12):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.2, 3, (n, 1)), *rng.standard_normal((3, d))


def ranking(scores):
    return np.argsort(-scores, kind="stable").tolist()


def test_every_row_has_a_reference_and_is_an_option():
    assert set(ROWS) == set(PROJECTIONS) == set(projection._QUERY_SIDE)


@pytest.mark.parametrize("method", PROJECTIONS)
@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_the_definition(method, seed):
    candidates, q, r, p = problem(seed)
    scores = projected_scores(method, candidates, q, r, p)
    assert scores.shape == (40,)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, reference(method, candidates, q, r, p), rtol=0, atol=1e-12)


def test_known_answers():
    # q is half topic (x), half perspective (y); the root is the topic.
    q, r, p = np.array([1.0, 1, 0]), np.array([1.0, 0, 0]), np.array([0.0, 2, 0])
    candidates = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [3, 0, 4]])
    half = np.sqrt(0.5)
    expected = {
        "none": [half, half, 1, 3 * half / 5],
        "pap": [1, 0, half, 0.6],
        "pap+": [1, 0, 1, 0.6],
        "add": np.array([1, 2, 3 * half, 0.6]) / np.sqrt(5),
        "add+": np.array([1, 3, 4 * half, 0.6]) / np.sqrt(10),
        "cast": [half, -half, 0, 3 * half / 5],
        "cast+": [3 / np.sqrt(10), half, 1, 5 / np.sqrt(58)],
        "concat": [1, 4 / 5, 5 / np.sqrt(30), 7 / np.sqrt(145)],
        "concat+": [5 / np.sqrt(30), 5 / np.sqrt(30), 1, 7 / np.sqrt(174)],
        "dual-sum": [1, 1, 2 * half, 0.6],
        "tri-sum": [1 + half, 1 + half, 1 + 2 * half, 0.6 + 3 * half / 5],
    }
    for method, values in expected.items():
        scores = projected_scores(method, candidates, q, r, p)
        np.testing.assert_allclose(scores, values, atol=1e-12, err_msg=method)


small = st.integers(-3, 3).map(float)


@st.composite
def problems(draw):
    d = draw(st.integers(1, 5))
    n = draw(st.integers(1, 6))
    vectors = [draw(arrays(float, d, elements=small)) for _ in range(3)]
    return draw(arrays(float, (n, d), elements=small)), *vectors


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from(TURNING))
def test_whole_numbers_bring_out_every_degenerate_case(given_problem, method):
    candidates, q, r, p = given_problem
    scores = projected_scores(method, candidates, q, r, p)
    _, why = project_query(method, q, r, p)
    most = {"dual-sum": 2, "tri-sum": 3}.get(method, 1)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= most
    if why is not None and method != "cast+":
        expected = reference("none", candidates, q, r, p)
    else:
        assume(p.any() and (q != p).any())
        expected = reference(method, candidates, q, r, p)
    there = candidates.any(axis=1)
    if method == "pap+":
        lefts = np.array([length(off(c, p)) if p.any() else 1.0 for c in candidates])
        expected = np.where(lefts > 1e-9, expected, 0.0) if why is None else expected
    np.testing.assert_allclose(scores, np.where(there, expected, 0.0), rtol=0, atol=1e-9)


# The query side


@pytest.mark.parametrize("method", QUERY_SIDE)
@pytest.mark.parametrize("seed", range(3))
def test_searching_with_the_vector_gives_the_order_of_the_method(method, seed):
    candidates, q, r, p = problem(seed)
    vector, why = project_query(method, q, r, p)
    assert why is None
    by_store = np.array([cos(vector, c) for c in candidates])
    scores = projected_scores(method, candidates, q, r, p)
    assert ranking(by_store) == ranking(scores)
    np.testing.assert_allclose(scores * by_store.max(), by_store * scores.max(), atol=1e-12)


@pytest.mark.parametrize("method", ["concat", "concat+"])
def test_concat_of_unit_documents_ranks_as_the_root_or_query_alone(method):
    candidates, q, r, p = problem(3)
    units = candidates / np.linalg.norm(candidates, axis=1, keepdims=True)
    vector, _ = project_query(method, q, r, p)
    assert ranking(projected_scores(method, units, q, r, p)) == ranking(units @ vector)
    assert cos(vector, r if method == "concat" else q) == pytest.approx(1)
    # With documents of several lengths it is another ranking: the second stage is needed.
    by_cosine = np.array([cos(vector, c) for c in candidates])
    assert ranking(projected_scores(method, candidates, q, r, p)) != ranking(by_cosine)


@pytest.mark.parametrize("method", TURNING)
def test_the_vector_keeps_the_query_s_length_and_dtype(method):
    _, q, r, p = (np.asarray(x, dtype=np.float32) for x in problem(2))
    vector, _ = project_query(method, q, r, p)
    assert vector.dtype == np.float32
    assert length(vector) == pytest.approx(length(q), rel=1e-6)


# PAP and PAP+


def test_pap_plus_ranks_differently_once_documents_are_renormalised():
    q, r, p = np.array([1.0, 0, 1]), np.array([1.0, 0, 0]), np.array([0.0, 0, 1])
    # The second lies mostly along p; what is left of it points exactly where q_p does.
    candidates = np.array([[0.8, 0.6, 0], [0.6, 0, 0.8]])
    assert ranking(projected_scores("pap", candidates, q, r, p)) == [0, 1]
    assert ranking(projected_scores("pap+", candidates, q, r, p)) == [1, 0]
    np.testing.assert_allclose(projected_scores("pap+", candidates, q, r, p), [0.8, 1.0])


def test_float32_candidates_close_to_p_keep_their_digits():
    rng = np.random.default_rng(0)
    q, r, p = rng.standard_normal((3, 64))
    candidates = (p + 1e-4 * rng.standard_normal((20, 64))).astype(np.float32)
    expected = reference("pap+", candidates.astype(float), q, r, p)
    np.testing.assert_allclose(projected_scores("pap+", candidates, q, r, p), expected, atol=1e-6)


def test_many_candidates_are_scored_in_blocks(monkeypatch):
    monkeypatch.setattr(projection, "_ROWS_AT_ONCE", 7)
    candidates, q, r, p = problem(4)
    scores = projected_scores("pap+", candidates, q, r, p)
    np.testing.assert_allclose(scores, reference("pap+", candidates, q, r, p), atol=1e-12)


# Degenerate cases


@pytest.mark.parametrize("method", ["pap", "pap+"])
@pytest.mark.parametrize("factor", [1.0, -2.5, 1e-3])
def test_p_parallel_to_q_is_the_plain_query_and_says_so(method, factor):
    candidates, q, r, _ = problem(6)
    p = factor * q * (1 + 1e-9)
    vector, why = project_query(method, q, r, p)
    np.testing.assert_array_equal(vector, q)
    assert why == "p is parallel to q: projection left nothing; searched with the plain query"
    plain = projected_scores("none", candidates, q, r, p)
    np.testing.assert_array_equal(projected_scores(method, candidates, q, r, p), plain)


@pytest.mark.parametrize(
    ("method", "build", "words"),
    [
        ("add", lambda q: (q, -2 * q, 2 * q), "r and p cancel out"),
        ("add+", lambda q: (q, q, -q), "q and p cancel out"),
        ("cast", lambda q: (q, q, q), "p equals q"),
        ("cast+", lambda q: (q, q, q), "p equals q"),
        ("concat", lambda q: (q, 0 * q, q), "r is zero"),
        ("dual-sum", lambda q: (q, 3 * q, -q), "r and p cancel out"),
        *((method, lambda q: (q, q, 0 * q), "p is zero") for method in TURNING),
    ],
)
def test_nothing_left_of_a_sum_is_the_plain_query_and_says_why(method, build, words):
    candidates, *_ = problem(8)
    q, r, p = build(np.arange(1.0, 13.0))
    vector, why = project_query(method, q, r, p)
    np.testing.assert_array_equal(vector, q)
    assert words in why
    assert why.endswith("searched with the plain query")
    plain = projected_scores("none", candidates, q, r, p)
    np.testing.assert_array_equal(projected_scores(method, candidates, q, r, p), plain)


def test_cast_plus_stays_exact_where_only_its_first_stage_falls_back():
    candidates, q, r, _ = problem(9)
    vector, why = project_query("cast+", q, r, 0.5 * q)
    assert "parallel" in why
    np.testing.assert_array_equal(vector, q)
    scores = projected_scores("cast+", candidates, q, r, 0.5 * q)
    np.testing.assert_allclose(scores, reference("cast+", candidates, q, r, 0.5 * q), atol=1e-12)


@pytest.mark.parametrize("method", PROJECTIONS)
def test_zero_candidates_score_zero_and_all_zero_is_not_nan(method):
    candidates, q, r, p = problem(12)
    candidates[3] = 0
    assert projected_scores(method, candidates, q, r, p)[3] == 0
    nothing = np.zeros(12)
    assert not projected_scores(method, candidates, nothing, nothing, nothing).any()
    vector, _ = project_query(method, nothing, nothing, nothing)
    assert not vector.any()
    assert projected_scores(method, candidates[:0], q, r, p).shape == (0,)


def test_candidates_along_p_score_zero():
    _, q, r, p = problem(13)
    for method, candidates in (("pap+", [p, -3 * p, 1e-3 * p]), ("cast+", [p, p, p])):
        assert not projected_scores(method, np.array(candidates), q, r, p).any(), method
        narrow = np.array(candidates, dtype=np.float32)
        exact = projected_scores(method, narrow, q, r, narrow[0])
        assert not exact.any(), method


@pytest.mark.parametrize(
    "function", [project_query, lambda m, q, r, p: projected_scores(m, q[None], q, r, p)]
)
def test_what_cannot_be_used_is_refused(function):
    q = np.ones(4)
    with pytest.raises(ConfigError, match=r"unknown projection 'papp'.*did you mean 'pap"):
        function("papp", q, q, q)
    with pytest.raises(ConfigError, match="perspective has 3 dimensions where 4"):
        function("pap", q, q, q[:3])
    with pytest.raises(ConfigError, match="root holds NaN"):
        function("pap", q, q * np.nan, q)


def test_inputs_are_left_as_they_were():
    vectors = problem(14)
    before = [x.copy() for x in vectors]
    for method in PROJECTIONS:
        projected_scores(method, *vectors)
        project_query(method, *vectors[1:])
    for x, y in zip(vectors, before, strict=True):
        np.testing.assert_array_equal(x, y)
