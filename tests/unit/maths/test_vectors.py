"""Shapes, zero and NaN: what comes in is checked, what goes out is finite."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.errors import ConfigError
from perspective_rag.maths.vectors import (
    as_matrix,
    as_vector,
    cosine,
    normalised,
)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize(
    ("given_type", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float64),
        (int, np.float64),
    ],
)
def test_single_and_double_precision_are_kept(given_type, kept):
    assert as_matrix(np.ones((2, 3), dtype=given_type), "rows").dtype == kept
    assert as_vector(np.ones(3, dtype=given_type), "row").dtype == kept


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_the_first_bad_row_is_named(bad):
    rows = np.ones((4, 2))
    rows[2, 1] = rows[3, 0] = bad
    with pytest.raises(ConfigError, match=r"things holds NaN or infinity in row 2 \(2 of 4 rows\)"):
        as_matrix(rows, "things")
    with pytest.raises(ConfigError, match="thing holds NaN"):
        as_vector([1.0, bad], "thing")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], r"things must have shape \(n, d\), got shape \(2,\)"),
        (3.0, r"got shape \(\)"),
        ([[1.0], [2.0, 3.0]], "things must be numbers of equal row length"),
        ([["a"]], "things must be numbers"),
        ([[None]], "things"),
        ([[1.0, 2.0, 3.0]], r"3 dimensions where 2 are expected: shape \(1, 3\)"),
    ],
)
def test_what_is_no_matrix_is_refused_by_name_and_shape(values, words):
    with pytest.raises(ConfigError, match=words):
        as_matrix(values, "things", columns=2)


def test_what_is_no_vector_is_refused():
    with pytest.raises(ConfigError, match=r"thing must have shape \(d,\), got shape \(1, 2\)"):
        as_vector([[1.0, 2.0]], "thing")
    with pytest.raises(ConfigError, match="2 dimensions where 3"):
        as_vector([1.0, 2.0], "thing", size=3)


def test_rows_become_unit_length_and_zero_rows_stay_zero():
    rows = np.array([[3.0, 4.0], [0, 0], [1e-9, 0], [0, -1e4]], dtype=np.float32)
    units = normalised(rows)
    assert units.dtype == np.float32
    np.testing.assert_allclose(units, [[0.6, 0.8], [0, 0], [0, 0], [0, -1]], rtol=1e-6)
    np.testing.assert_array_equal(rows[0], [3.0, 4.0])


def test_cosines_of_known_rows():
    left = np.array([[1.0, 0], [1, 1], [0, 0]])
    right = np.array([[2.0, 0], [0, -1]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(cosine(left, right), [[1, 0], [half, -half], [0, 0]], atol=1e-15)
    assert cosine(left[:0], right).shape == (0, 2)


sane = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-3 else x)


@settings(max_examples=100, deadline=None)
@given(arrays(float, (4, 3), elements=sane), st.floats(0.01, 100))
def test_cosines_are_in_range_symmetric_and_blind_to_length(rows, scale):
    values = cosine(rows, rows)
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= 1.0
    np.testing.assert_allclose(values, values.T, atol=1e-12)
    np.testing.assert_allclose(cosine(rows * scale, rows), values, atol=1e-9)
    np.testing.assert_allclose(np.diag(values), rows.any(axis=1).astype(float), atol=1e-12)
