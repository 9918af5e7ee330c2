"""Weights of two readings, fitted to labels."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag.judge.settings import TwoSides
from perspective_rag_train.pools import fitted

BOTH = TwoSides(own=0.8, other=0.7, against=-0.2, rival=-0.3, relevance=2.0, bias=-1.0)


@pytest.mark.parametrize("known", [True, False])
def test_fitting_finds_the_weights_that_made_the_labels(known):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4000, 3)) * 2, rng.normal(size=(4000, 3)) * 2
    cosine = rng.uniform(0, 1, 4000) if known else None
    found = fitted(a, b, BOTH.probabilities(a, b, cosine), cosine, penalty=1e-9)
    wanted = BOTH.stored() if known else {**BOTH.stored(), "relevance": 0.0}
    assert found.stored() == pytest.approx(wanted, abs=1e-3)
