"""Swapping candidates until each perspective meets its quota."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.cover.select import repair

ONE_SIDED = [[0.9, 0.0]] * 5 + [[0.0, 0.6], [0.0, 0.9], [0.0, 0.7]]


@pytest.mark.parametrize(
    ("support", "chosen", "due", "repaired"),
    [
        # the last one that nothing depends on gives way
        ([[0.9, 0.0], [0.8, 0.1], [0.7, 0.0], [0.0, 0.6], [0.0, 0.9]], [0, 1, 2], None, [0, 1, 4]),
        ([[0.9, 0.0], [0.0, 0.9]], [0], None, [0]),
        ([[0.9, 0.0], [0.0, 0.9]], [0, 1], None, [0, 1]),
        ([[0.9, np.nan], [0.1, np.nan], [0.2, 0.8]], [0, 1], None, [0, 2]),
        (ONE_SIDED, range(5), [1, 1], [0, 1, 2, 3, 6]),
        (ONE_SIDED, range(5), [3, 2], [0, 1, 2, 7, 6]),
        (ONE_SIDED, range(5), [4, 2], [0, 1, 2, 3, 6]),  # more due than places
        (ONE_SIDED, range(5), [1, 5], [0, 1, 5, 7, 6]),  # all there are
    ],
)
def test_what_nothing_depends_on_gives_way_to_what_is_due(support, chosen, due, repaired):
    support = np.array(support)
    given_due = [] if due is None else [due]
    assert repair(chosen, support >= 0.5, support, *given_due) == repaired


@given(
    arrays(np.float64, (8, 3), elements=st.floats(0, 1)),
    st.integers(1, 6),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
)
def test_swapping_never_takes_from_a_perspective_what_it_is_due(support, k, due):
    before = (support[:k] >= 0.5).sum(axis=0)
    chosen = repair(range(k), support >= 0.5, support, due)
    after = (support[chosen] >= 0.5).sum(axis=0)
    assert len(set(chosen)) == k
    assert (after >= np.minimum(before, due)).all()
