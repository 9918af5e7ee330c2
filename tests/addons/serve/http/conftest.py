"""One server over the sample debates for all tests that only ask it."""

from __future__ import annotations

import time

import pytest

from tests.addons.serve.http.process import served

TOKEN = "a-token-of-the-tests-alone"


@pytest.fixture(scope="session")
def address():
    """The address of a server that asks for ``TOKEN``, once it is ready."""
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    pytest.importorskip("mcp")
    with served("--example", "--per-minute", "0", env={"PERSPECTIVE_RAG_TOKEN": TOKEN}) as server:
        while httpx.get(f"{server.url}/readyz").status_code != 200:
            assert server.process.poll() is None, server.log
            time.sleep(0.1)
        yield server.url
        assert TOKEN not in server.log
