"""Intervals and paired tests where the answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.core.bootstrap import interval, paired_difference


def test_the_interval_holds_the_mean_and_narrows_with_more_questions():
    few = interval([0, 1] * 10, seed=1)
    many = interval([0, 1] * 1000, seed=1)
    assert few.low < few.mean == 0.5 == many.mean < few.high
    assert many.high - many.low < few.high - few.low


def test_the_interval_agrees_with_the_normal_approximation():
    sample = [0.0] * 60 + [1.0] * 140
    found = interval(sample, seed=2)
    margin = 1.96 * np.std(sample) / np.sqrt(200)
    assert (found.low, found.high) == pytest.approx((0.7 - margin, 0.7 + margin), abs=0.01)


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_values_that_are_all_equal_leave_no_doubt(value):
    found = interval([value] * 7, seed=3)
    assert (found.mean, found.low, found.high) == pytest.approx((value,) * 3)


def test_one_question_is_an_interval_of_one_point():
    assert interval([1.0], seed=3).to_dict() == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_equal_seeds_give_equal_intervals():
    sample = list(np.random.default_rng(0).random(30))
    assert interval(sample, seed=4) == interval(sample, seed=4)
    assert interval(sample, seed=4) != interval(sample, seed=5)


def test_rows_that_are_the_same_do_not_differ():
    found = paired_difference([1, 0, 1], [1, 0, 1], seed=6)
    assert found.p == 1.0
    assert found.interval.mean == found.interval.low == found.interval.high == 0.0


def test_the_p_value_is_that_of_all_sign_flips():
    ours = np.array([0.9, 0.8, 0.4, 0.7, 0.6, 0.9, 0.5, 0.8])
    base = np.array([0.5, 0.6, 0.5, 0.2, 0.5, 0.6, 0.4, 0.9])
    difference = ours - base
    flips = [abs((np.array(s) * difference).mean()) for s in itertools.product([-1, 1], repeat=8)]
    exact = np.mean(np.array(flips) >= abs(difference.mean()) - 1e-12)
    assert paired_difference(ours, base, seed=7).p == pytest.approx(exact, abs=0.01)


def test_a_gain_on_every_question_is_significant_and_its_sign_is_right():
    found = paired_difference([1] * 30, [0] * 30, seed=8)
    assert found.p == pytest.approx(1 / 10_001)
    assert found.interval.mean == 1.0
    assert paired_difference([0] * 30, [1] * 30, seed=8).interval.mean == -1.0


def test_what_is_not_paired_is_refused():
    with pytest.raises(ValueError, match="not paired: 2 values against 3"):
        paired_difference([1, 0], [1, 0, 1], seed=9)
    with pytest.raises(ValueError, match="one value a question"):
        interval([], seed=9)
