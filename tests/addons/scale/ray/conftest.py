"""A local Ray cluster for all tests of this folder."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cluster():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    from perspective_rag_scale import RayEngine

    with RayEngine(workers=2) as engine:
        assert list(engine.map(range(3), lambda: str)) == ["0", "1", "2"]
        assert ray.is_initialized()
        yield engine
    assert not ray.is_initialized()
