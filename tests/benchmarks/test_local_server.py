"""The small local server: the protocol, batches, and starting it."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from benchmarks.core import local_server
from benchmarks.core.results import CHECKOUT
from perspective_rag import ConfigError, LLMError, OpenAICompatibleLLM
from perspective_rag.types import Completion, Prompt


class Echo:
    """A model that repeats; ``batches`` are how many prompts came at once."""

    def __init__(self, waits=0):
        self.batches = []
        self.prompts = []
        self.waits = waits

    def complete_many(self, prompts):
        self.batches.append(len(prompts))
        self.prompts += prompts
        if any(prompt.user == "crash" for prompt in prompts):
            raise RuntimeError("out of memory")
        return [
            LLMError("too long")
            if prompt.user == "long"
            else Completion(f"<{prompt.user}>", prompt_tokens=5, completion_tokens=2)
            for prompt in prompts
        ]


@pytest.fixture
def echo_server():
    model = Echo()
    server = local_server.server(model, model="echo")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield model, f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


def test_the_local_server_speaks_the_protocol_of_its_client(echo_server):
    pytest.importorskip("openai")
    model, url = echo_server
    llm = OpenAICompatibleLLM("echo", base_url=url, max_retries=0)
    found = llm.complete(Prompt("p", "hello", system="be brief", max_tokens=7, seed=3))
    assert (found.text, found.prompt_tokens, found.completion_tokens) == ("<hello>", 5, 2)
    (prompt,) = model.prompts
    assert (prompt.system, prompt.max_tokens, prompt.temperature, prompt.seed) == (
        "be brief",
        7,
        0.0,
        3,
    )
    for text, reason in (("long", "too long"), ("crash", "out of memory")):
        with pytest.raises(LLMError, match=reason):
            llm.complete(Prompt("p", text))
    assert llm.complete(Prompt("p", "after")).text == "<after>"
    # Log-probabilities are refused, so the client asks again without.
    assert llm.complete(Prompt("p", "yes or no", choices=("yes", "no"))).text == "<yes or no>"


def test_the_local_server_refuses_what_is_no_chat(echo_server):
    import httpx

    _, url = echo_server
    assert httpx.get(f"{url}/models").json()["data"][0]["id"] == "echo"
    assert httpx.get(f"{url}/other").status_code == 404
    ask_at = f"{url}/chat/completions"
    good = {"messages": [{"role": "user", "content": "x"}]}
    assert httpx.post(ask_at, json=good).status_code == 200
    assert httpx.post(f"{url}/embeddings", json=good).status_code == 404
    for bad in (b"{", b"[]", b"{}"):
        assert httpx.post(ask_at, content=bad).status_code == 400
    assert httpx.post(ask_at, json={**good, "stream": True}).status_code == 400
    part = {"messages": [{"role": "tool", "content": "x"}]}
    assert httpx.post(ask_at, json=part).status_code == 400


def test_prompts_that_wait_are_answered_in_one_batch():
    held = threading.Event()
    model = Echo()
    answer = model.complete_many

    def waits(prompts):
        held.wait(20)
        return answer(prompts)

    model.complete_many = waits
    batcher = local_server.Batcher(model, size=4)
    found = {}
    threads = [
        threading.Thread(
            target=lambda i=i: found.update({i: batcher.complete(Prompt("p", str(i)))})
        )
        for i in range(9)
    ]
    for thread in threads:
        thread.start()
    held.set()
    for thread in threads:
        thread.join(20)
    assert {i: each.text for i, each in found.items()} == {i: f"<{i}>" for i in range(9)}
    assert max(model.batches) <= 4
    assert len(model.batches) < 9


def test_a_server_that_answers_is_used_and_one_that_cannot_start_is_reported(echo_server):
    port = int(echo_server[1].rpartition(":")[2].partition("/")[0])
    with local_server.started(python="no-such-python", port=port) as url:
        assert url == echo_server[1]
    with (
        pytest.raises(ConfigError, match="--local-python"),
        local_server.started(python="false", port=1),
    ):
        pass


def test_a_server_whose_run_was_killed_ends(tmp_path):
    """A stand-in model's server, whose parent dies without a chance to end it."""
    child = (
        "import sys, threading; from benchmarks.core import local_server as s;"
        "threading.Thread(target=s._end_without, args=(int(sys.argv[1]),), daemon=True).start();"
        "s.server(None).serve_forever()"
    )
    run = (
        "import os, subprocess, sys;"
        f"p = subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid())]);"
        "print(p.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", run], stdout=subprocess.PIPE, cwd=CHECKOUT, timeout=60
    )
    # The pipe closes when the last process that holds it has ended: run returns only then.
    assert done.returncode == -9
    assert int(done.stdout) > 0
