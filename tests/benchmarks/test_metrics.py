"""Metrics on rankings small enough to check by eye."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.core.metrics import (
    balance_at_k,
    mrecall_at_k,
    oracle_ranking,
    precision_at_k,
)

GOLD = {"support": {"a", "b"}, "oppose": {"c"}}


@pytest.mark.parametrize(
    ("ranking", "k", "expected"),
    [
        ("abx", 3, 0.0),
        ("axc", 3, 1.0),
        ("axc", 2, 0.0),  # the opposing passage comes third
        ("x", 3, 0.0),
        ("", 3, 0.0),
        ("a", 1, 1.0),  # two perspectives, one place: one of them is enough
        ("x", 1, 0.0),
    ],
)
def test_mrecall_wants_every_perspective_or_k_of_them(ranking, k, expected):
    assert mrecall_at_k(list(ranking), GOLD, k) == expected


def test_with_more_perspectives_than_places_k_of_them_are_enough():
    gold = {name: {name} for name in "pqrs"}
    assert mrecall_at_k(["p", "q"], gold, 2) == 1.0
    assert mrecall_at_k(["p", "x"], gold, 2) == 0.0
    assert mrecall_at_k(["p", "q", "r"], gold, 5) == 0.0
    assert mrecall_at_k(["p", "q", "r", "s"], gold, 5) == 1.0


def test_precision_is_a_share_of_k_even_when_fewer_come_back():
    assert precision_at_k(["a", "x", "c", "y"], GOLD, 4) == 0.5
    assert precision_at_k(["a", "x", "c", "y"], GOLD, 1) == 1.0
    assert precision_at_k(["a"], GOLD, 4) == 0.25
    assert precision_at_k([], GOLD, 4) == 0.0


def test_a_passage_on_two_sides_counts_once_for_precision_and_on_both_for_balance():
    gold = {"support": {"a"}, "oppose": {"a", "b"}}
    assert precision_at_k(["a", "x"], gold, 2) == 0.5
    assert balance_at_k(["a", "x"], gold, 2) == {"support": 1, "oppose": 1}
    assert mrecall_at_k(["a", "x"], gold, 2) == 1.0


def test_balance_counts_the_top_k_alone():
    assert balance_at_k(["a", "b", "c"], GOLD, 2) == {"support": 2, "oppose": 0}


def test_the_oracle_takes_the_hidden_side_and_fills_up_with_labelled_passages():
    chosen = oracle_ranking(["x", "a", "y", "b", "c"], GOLD, 3)
    assert sorted(chosen) == ["a", "b", "c"]
    assert sorted(oracle_ranking(["x", "a", "y"], GOLD, 2)) == ["a", "x"]
    assert oracle_ranking([], GOLD, 2) == []


def test_the_oracle_prefers_one_passage_on_two_sides_when_places_are_few():
    gold = {"p": {"a", "z"}, "q": {"b", "z"}, "r": {"c"}}
    assert set(oracle_ranking(["a", "b", "c", "z"], gold, 2)) == {"z", "c"}


def test_no_choice_beats_the_oracle():
    generator = np.random.default_rng(5)
    pool = list("abcdefg")
    for _ in range(60):
        sides = generator.random((4, len(pool))) < 0.25
        gold = {
            f"p{i}": {p for p, on in zip(pool, row, strict=True) if on}
            for i, row in enumerate(sides)
        }
        k = int(generator.integers(1, 5))
        chosen = oracle_ranking(pool, gold, k)
        assert len(chosen) == len(set(chosen)) == k
        worth = [
            (mrecall_at_k(each, gold, k), precision_at_k(each, gold, k))
            for each in itertools.combinations(pool, k)
        ]
        assert (mrecall_at_k(chosen, gold, k), precision_at_k(chosen, gold, k)) == max(worth)
