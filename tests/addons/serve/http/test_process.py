"""The command as an operator runs it: starting, ending, and what it says."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")
httpx = pytest.importorskip("httpx")

from perspective_rag.cli import main
from tests.addons.serve.http.process import served
from tests.addons.serve.http.samples import events_in

QUESTION = "Should zoos be closed?"
HELD_UP = "tests.addons.serve.http.own_parts:held_up"


def wait_until(true, seconds=60.0):
    """Waits for what another process does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def ready(url):
    return lambda: httpx.get(f"{url}/readyz").status_code == 200


@pytest.mark.parametrize("stream", [True, False])
def test_sigterm_loses_no_answer_in_flight(tmp_path, stream):
    with served("--retriever", HELD_UP, env={"HELD_UP": str(tmp_path)}) as server:
        wait_until(ready(server.url))
        replies = []

        def ask():
            headers = {"Accept": "text/event-stream"} if stream else {}
            body = {"question": QUESTION}
            replies.append(
                httpx.post(f"{server.url}/api/ask", json=body, headers=headers, timeout=120)
            )

        asking = threading.Thread(target=ask)
        asking.start()
        wait_until((tmp_path / "asked").exists)
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Shutting down" in server.log)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{server.url}/healthz")
        assert asking.is_alive(), "the answer is still in flight"
        (tmp_path / "go").touch()
        asking.join(60)
        assert server.ended() in (0, -signal.SIGTERM)
    (reply,) = replies
    assert reply.status_code == 200
    if stream:
        events = events_in(reply.text)
        assert [name for name, _ in events][-2:] == ["answer", "done"]
        sides = dict(events)["result"]["sides"]
    else:
        sides = reply.json()["view"]["sides"]
    assert [len(side["cards"]) for side in sides] == [1, 1]
    assert "Traceback" not in server.log


def test_a_retriever_of_ones_own_is_served(tmp_path):
    with served(
        "--retriever", "tests.addons.serve.http.own_parts:quick", "--question", QUESTION
    ) as server:
        wait_until(ready(server.url))
        about = httpx.get(f"{server.url}/api/about").json()
        assert (about["passages"], about["examples"]) == (None, [QUESTION])
        reply = httpx.post(f"{server.url}/api/ask", json={"question": QUESTION}, timeout=60).json()
    assert [len(side["cards"]) for side in reply["view"]["sides"]] == [1, 1]


def test_the_server_listens_before_the_corpus_is_loaded_and_logs_no_question(tmp_path):
    secret = "should-the-password-of-anna-be-zebra"
    corpus = tmp_path / "corpus.jsonl"
    rows = [
        {"id": str(n), "text": f"Zoos should be closed, for reason number {n}."} for n in range(50)
    ]
    corpus.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    token = tmp_path / "token"
    token.write_text("a-token-of-sixteen-letters\n", encoding="utf-8")
    with served("--corpus", str(corpus), "--token-file", str(token)) as server:
        headers = {"Authorization": "Bearer a-token-of-sixteen-letters"}
        wait_until(ready(server.url))
        about = httpx.get(f"{server.url}/api/about", headers=headers)
        assert about.json()["passages"] == 50
        assert httpx.get(f"{server.url}/api/about").status_code == 401
        reply = httpx.post(
            f"{server.url}/api/ask", json={"question": secret}, headers=headers, timeout=60
        )
        assert reply.status_code == 200
        assert str(tmp_path) not in reply.text
        server.process.send_signal(signal.SIGTERM)
        server.ended()
    assert "zebra" not in server.log
    assert "sixteen-letters" not in server.log


def test_a_corpus_that_cannot_be_read_leaves_a_server_that_says_so(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("not json\n", encoding="utf-8")
    with served("--corpus", str(corpus)) as server:
        wait_until(lambda: httpx.get(f"{server.url}/api/status").json()["phase"] == "failed")
        status = httpx.get(f"{server.url}/api/status")
        assert "log" in status.json()["error"]
        assert "corpus.jsonl" not in status.text
        server.process.terminate()
        server.ended()
    assert "holds no passages" in server.log


def test_an_address_that_is_taken_ends_with_status_2():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "perspective_rag", "serve", "--example", "--port"]
        ended = subprocess.run(
            [*command, str(taken.getsockname()[1])], capture_output=True, text=True, timeout=120
        )
    assert ended.returncode == 2
    assert "could not listen at 127.0.0.1" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve"], "nothing to search"),
        (["mcp"], "nothing to search"),
        (["serve", "--corpus", "/nowhere/at/all"], "does not exist"),
        (["serve", "--example", "-k", "0"], "-k"),
        (["serve", "--example", "--token-file", "/nowhere/at/all"], "--token-file"),
        (["serve", "--example", "--running", "0"], "running"),
    ],
)
def test_what_cannot_be_served_ends_with_a_line_and_status_2(arguments, said, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_short_token_is_refused_without_being_shown(monkeypatch, capsys):
    monkeypatch.setenv("PERSPECTIVE_RAG_TOKEN", "shorty")
    assert main(["serve", "--example"]) == 2
    error = capsys.readouterr().err
    assert "16" in error
    assert "shorty" not in error
