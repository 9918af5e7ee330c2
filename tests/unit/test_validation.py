"""Options at the edge: what is taken, and what the message says."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag import ConfigError
from perspective_rag.errors import between, count, is_number


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_a_count_is_a_plain_int(value):
    assert count("k", value) == int(value)
    assert type(count("k", value)) is int


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "1", None, float("nan")])
def test_no_count(value):
    with pytest.raises(ConfigError, match="k must be a whole number, at least 1; got"):
        count("k", value)


def test_a_count_may_begin_elsewhere():
    assert count("judge_k", 0, least=0) == 0
    with pytest.raises(ConfigError, match="at least 2; got 1"):
        count("judge_k", 1, least=2)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25)])
def test_a_number_between_is_a_plain_float(value):
    assert between("share", value) == float(value)
    assert type(between("share", value)) is float


@pytest.mark.parametrize("value", [-0.01, 1.01, True, "0.5", None, float("nan"), [0.5]])
def test_no_number_between(value):
    with pytest.raises(ConfigError, match=r"share must be a number in \[0, 1\]; got"):
        between("share", value)


def test_limits_are_the_callers():
    assert between("seconds", 12, high=float("inf")) == 12.0
    with pytest.raises(ConfigError, match=r"in \[-1, 1\]; got 2"):
        between("cosine", 2, -1.0, 1.0)


def test_a_bool_is_no_number():
    assert [is_number(each) for each in (1, 1.5, np.int8(1), True, "1", None)] == [True] * 3 + [
        False
    ] * 3
