"""The ways to choose that the default is compared with."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.sides.selectors import (
    MMR,
    GreedyCoverage,
    JointCoverage,
    TopK,
    XQuAD,
    joint_coverage,
)
from perspective_rag.errors import ConfigError
from perspective_rag.extend import Selector
from perspective_rag.maths.ranking import coverage_greedy
from tests.unit.cover.test_select import asked

NAN = float("nan")


@pytest.mark.parametrize(
    ("selector", "both"), [(JointCoverage(), True), (GreedyCoverage(), True), (TopK(), False)]
)
def test_selectors_are_parts_of_one_shape(selector, both):
    assert isinstance(selector, Selector)
    result = asked(selector)
    assert not result.trace.degradations
    assert result.coverage.complete == both
    assert len(result.passages) == 2


@pytest.mark.parametrize("selector", [MMR(), XQuAD()])
def test_mmr_and_xquad_need_vectors(selector):
    assert [each.stage for each in asked(selector).trace.degradations] == ["select"]


def joint_value(chosen, relevance, support, weight, k):
    rel = np.asarray(relevance, float)
    spread = rel.max() - rel.min()
    rel = (rel - rel.min()) / spread if spread else np.ones(len(rel))
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
    with pytest.raises(ConfigError):
        joint_coverage([1, 1, 1], support, 1, weights=[0, 0])


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
