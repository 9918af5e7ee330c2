"""The load generator counts what went wrong, and the served example answers many users at once."""

from __future__ import annotations

import asyncio
import io
import json
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

from benchmarks.load.command import main
from benchmarks.load.driver import drive
from benchmarks.load.report import table
from benchmarks.load.serve import ask
from benchmarks.load.server import served
from benchmarks.report import SECTIONS as BODIES
from examples.serve_fastapi import create_app
from perspective_rag import PerspectiveRAGError
from perspective_rag.testing import TableJudge

pytestmark = pytest.mark.slow


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
        step = load(url, "/moody", users=3, seconds=2.0)
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


def test_a_store_that_hangs_dies_and_returns_leaves_no_wrong_answer_and_no_thread(tmp_path):
    out = tmp_path / "outage.json"
    screen = io.StringIO()
    arguments = ["--outage", "--users", "16", "--seconds", "4", "--out", str(out)]
    status = main(arguments, console=Console(file=screen, width=200))
    document = json.loads(out.read_text())
    found = document["results"]
    assert status == 0, found
    assert document["command"].startswith("python -m benchmarks.load --outage")
    assert [step["store"] for step in found["steps"]] == ["well", "hangs", "dead", "well"]
    hangs, dead = found["steps"][1:3]
    assert hangs["errors"] == hangs["requests"] > 0
    assert dead["errors"] == dead["requests"] > 0
    assert "0 wrong answers" in " ".join(screen.getvalue().split())
    assert "0 wrong answers" in BODIES["load-outage"][1](document)


def test_the_table_has_a_row_for_each_step():
    step = {"path": "/ask", "users": 4, "requests": 9, "per_second": 3.21, "p50_ms": 7.0}
    step |= {"p95_ms": 9.0, "errors": 0, "memory_mb": 100.0, "threads": 5}
    text = table({"steps": [step, step], "errors": 0}).markdown()
    assert text.count("| /ask | 4 | 9 | 3.2 | 7 | 9 | 0 | 100 | 5 |") == 2


def test_the_whole_server_answers_many_users_as_its_page_asks(tmp_path):
    pytest.importorskip("mcp")
    out = tmp_path / "serve.json"
    screen = io.StringIO()
    arguments = ["--serve", "--users", "8", "--seconds", "1", "--out", str(out)]
    status = main(arguments, console=Console(file=screen, width=200))
    (step,) = json.loads(out.read_text())["results"]["steps"]
    assert status == 0, step
    assert step["requests"] >= 8
    assert step["errors"] == 0
    assert step["path"] == "/api/ask"


def test_a_stream_that_is_cut_off_counts_as_an_error():
    app = FastAPI()

    @app.post("/api/ask")
    def broken():
        return Response('event: reading\ndata: {"text": ""}\n\n', media_type="text/event-stream")

    async def asked(url):
        async with httpx.AsyncClient(base_url=url) as client:
            return await ask(client, "/api/ask", "Should zoos be closed?")

    with running(app) as url:
        assert asyncio.run(asked(url)) == (599, None)
