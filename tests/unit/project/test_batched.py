"""Without PyTorch the batched functions say what to install; with it, see tests/torch."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from perspective_rag import MissingDependency
from perspective_rag.extend import BatchSearch, mmr_batch, project_queries


@pytest.mark.parametrize(
    "call",
    [
        lambda: BatchSearch(np.eye(2)),
        lambda: project_queries(np.eye(2), np.eye(2)),
        lambda: mmr_batch(np.ones((1, 2)), np.ones((1, 2, 2)), 1, mmr_lambda=0.5),
    ],
)
def test_without_torch_the_error_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[torch\]"):
        call()
