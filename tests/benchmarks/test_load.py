"""The load generator counts what went wrong, and the served example answers many users at once."""

from __future__ import annotations

import asyncio
import io
import os
import threading
import time
from contextlib import contextmanager

import pytest
from rich.console import Console

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")

from fastapi import FastAPI, Response

from benchmarks.load.__main__ import main
from benchmarks.load.driver import drive
from benchmarks.load.report import table
from benchmarks.load.server import served
from examples.serve_fastapi import create_app
from perspective_rag import PerspectiveRAGError
from perspective_rag.testing import TableJudge


@contextmanager
def running(app):
    """The app on a free port of loopback, in a thread."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        end = time.monotonic() + 120
        while not server.started and thread.is_alive():
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)


@pytest.fixture(scope="module")
def url():
    """The example, served once for all tests of this module."""
    with running(create_app(judge=TableJudge({}, default=0.6))) as url:
        yield url


def load(url, path, users, seconds):
    questions = ["Should zoos be closed?", "Should social media be banned for children?"]
    asked = drive(url, path, questions, users=users, seconds=seconds, pid=os.getpid())
    return asyncio.run(asked)


def test_the_served_chain_answers_many_users_without_an_error(url):
    for path in ("/ask", "/ask-sync"):
        for users in (1, 8):
            step = load(url, path, users, seconds=0.3)
            assert step["errors"] == 0, step["kinds_of_errors"]
            assert step["requests"] >= users
            assert 0 < step["min_ms"] <= step["p50_ms"] <= step["p95_ms"]
            assert step["memory_mb"] > 0


def test_it_says_what_is_wrong_with_a_question(url):
    assert httpx.get(f"{url}/ask", params={"question": "?"}).status_code == 422
    assert httpx.get(f"{url}/ask", params={"question": "    "}).status_code == 422
    answer = httpx.get(f"{url}/ask", params={"question": "Should zoos be closed?"}, timeout=60)
    assert len(answer.json()["sources"]) == 5
    assert answer.json()["answer"]
    assert httpx.get(f"{url}/health").json()["threads"] > 0


def test_errors_are_counted_by_kind():
    app, count = FastAPI(), [0]

    @app.get("/moody")
    def moody(question: str):
        count[0] += 1
        if count[0] % 3 == 0:
            return Response(status_code=503)
        return {"answer": count[0] % 3}

    with running(app) as url:
        step = load(url, "/moody", users=3, seconds=0.2)
    assert step["kinds_of_errors"]["status 503"] >= 1
    assert step["kinds_of_errors"]["another answer to the same question"] >= 1
    assert step["errors"] == sum(step["kinds_of_errors"].values()) < step["requests"]
    gone = load(url, "/moody", users=1, seconds=0.0)
    assert gone["kinds_of_errors"] == {"ConnectError": 1}
    assert gone["requests"] == 0


def test_a_server_that_does_not_start_is_said_in_words(tmp_path, capfd):
    with (
        pytest.raises(PerspectiveRAGError, match="ended with status"),
        served("examples.serve_fastapi:nothing"),
    ):
        pass
    screen = io.StringIO()
    status = main([], app="examples.nothing:app", console=Console(file=screen, width=200))
    assert status == 2
    assert "ended with status" in screen.getvalue()


def test_the_table_has_a_row_for_each_step():
    step = {"path": "/ask", "users": 4, "requests": 9, "per_second": 3.21, "p50_ms": 7.0}
    step |= {"p95_ms": 9.0, "errors": 0, "memory_mb": 100.0, "threads": 5}
    text = table({"steps": [step, step], "errors": 0}).markdown()
    assert text.count("| /ask | 4 | 9 | 3.2 | 7 | 9 | 0 | 100 | 5 |") == 2
