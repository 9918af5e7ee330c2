"""Time limits are for the whole of a call; what was given up leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest

from perspective_rag import Limiter, PerspectivePipeline, RetrievalError
from perspective_rag.errors import LLMError
from perspective_rag.flow import limiter as limiting
from perspective_rag.flow.driver import arun, held, in_thread, run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.steps import Call, ask
from perspective_rag.testing import MemoryStore
from perspective_rag.testing.samples import QUESTION, SAMPLE
from perspective_rag.types import Prompt

pytest.importorskip("openai")

from perspective_rag.local.openai_compatible import OpenAICompatibleLLM
from perspective_rag_scale.openai_embedder import OpenAICompatibleEmbedder

PROMPT = Prompt("p", "text")
REPLY = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,'
    b'"finish_reason":"stop","message":{"role":"assistant","content":"fine"}}]}'
)
HEAD = (
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


class Trickling:
    """A server that sends ``fast`` at once and then one byte each ``pause`` s, until released.

    ``hung_up`` counts connections that the client closed before the end.
    """

    def __init__(self, fast=b"", pause=0.02):
        self.fast, self.pause = fast, pause
        self.released = threading.Event()
        self.hung_up = self.asked = 0

    def __enter__(self):
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *raised):
        self.released.set()
        self._socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            connection.recv(65536)
            self.asked += 1
            whole = HEAD % len(REPLY) + REPLY
            try:
                if not self.released.is_set():
                    connection.sendall(self.fast)
                    for byte in (
                        b"HTTP/1.1 200 OK\r\nX: " * 10_000 if not self.fast else b" " * 10_000
                    ):
                        if self.released.wait(self.pause):
                            return
                        connection.sendall(bytes([byte]))
                connection.sendall(whole)
            except OSError:
                self.hung_up += 1


def within(seconds, true, what):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def llm_at(server, **settings):
    made = {"base_url": server.url, "max_retries": 0, "timeout": 0.4, **settings}
    return OpenAICompatibleLLM("m", **made)


@pytest.mark.parametrize("fast", [b"", HEAD % 1_000_000], ids=["headers", "body"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_reply_that_trickles_is_too_late_and_its_connection_is_closed(kind, fast):
    with Trickling(fast) as server:
        llm = llm_at(server)
        with pytest.raises(LLMError, match="APITimeoutError"):
            llm.complete(PROMPT) if kind == "sync" else asyncio.run(llm.acomplete(PROMPT))
        within(30, lambda: server.hung_up == 1, "the connection stays open")


def test_an_embedder_whose_server_trickles_is_too_late():
    with Trickling(HEAD % 1_000_000) as server:
        embedder = OpenAICompatibleEmbedder("m", base_url=server.url, timeout=0.4, max_retries=1)
        with pytest.raises(RetrievalError, match="gave no embeddings"):
            embedder.embed_queries(["text"])
        within(30, lambda: server.hung_up == 2, "a connection stays open")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_calls_that_were_given_up_return_their_places_and_connections(kind):
    with Trickling(HEAD % 1_000_000) as server:
        llm = llm_at(server, timeout=600, max_concurrency=2)
        short, long = Limits(timeout=0.5), Limits(timeout=60)

        def asked(limits):
            flow = ask("llm", llm, [PROMPT] * 2)
            return (
                run(flow, None, limits) if kind == "sync" else asyncio.run(arun(flow, None, limits))
            )

        assert all(isinstance(reply.error, TimeoutError) for reply in asked(short))
        within(30, lambda: server.hung_up == 2, "connections stay open")
        server.released.set()
        assert [reply.value.text for reply in asked(long)] == ["fine", "fine"]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_waiting_for_a_place_at_the_model_is_not_the_calls_time(kind):
    with Trickling() as server:
        llm = llm_at(server, timeout=60, max_concurrency=1)
        original = server._serve
        server._serve = lambda connection: (time.sleep(0.8), original(connection))
        server.released.set()
        flow, limits = ask("llm", llm, [PROMPT] * 8), Limits(timeout=5.5)
        replies = (
            run(flow, None, limits) if kind == "sync" else asyncio.run(arun(flow, None, limits))
        )
        assert [reply.error for reply in replies] == [None] * 8


class Hanging(MemoryStore):
    """A store whose searches hang until it is let go."""

    def __init__(self, passages):
        super().__init__(passages, takes_vector=False)
        self.let_go = threading.Event()

    def search(self, text, vector, *, k, filter=None):
        self.let_go.wait(60)
        return super().search(text, vector, k=k, filter=filter)

    async def asearch(self, text, vector, *, k, filter=None):
        return await in_thread(self.search, text, vector, k=k, filter=filter)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_hung_store_takes_no_more_than_so_many_threads_and_then_fails_fast(kind, monkeypatch):
    monkeypatch.setattr(limiting, "MOST_HANGING", 4)
    store, before = Hanging(SAMPLE), threading.active_count()
    pipeline = PerspectivePipeline(store, limiter=Limiter(2), timeout=0.1)

    def asked(**options):
        if kind == "sync":
            return pipeline.retrieve(QUESTION, **options)
        return asyncio.run(pipeline.aretrieve(QUESTION, **options))

    for _ in range(6):
        with pytest.raises(RetrievalError, match=r"did not answer|still hang"):
            asked()
    assert 4 <= pipeline.limiter.hanging("search") <= 6  # those that ran already count on top
    assert threading.active_count() - before <= 7
    with pytest.raises(RetrievalError, match=r"[456] calls of stage 'search' .* still hang"):
        asked(timeout=None)  # at once, without a time limit
    store.let_go.set()
    within(30, lambda: pipeline.limiter.hanging("search") == 0, "calls are still counted")
    assert len(asked(timeout=60).passages) == 5
    assert pipeline.limiter.running("search") == 0


def forked(function):
    """True when the function succeeds in a forked process within a minute."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_permits_places_and_connections_of_its_own():
    limiter = Limiter(1)
    permit = limiter.acquire("x")
    permit.thread_begins()

    def in_child():
        assert limiter.running("x") == 0
        permit.release()
        assert limiter.hanging("x") == 0
        limiter.acquire("x").release()

    assert forked(in_child)
    assert limiter.running("x") == 1
    permit.release()
    with Trickling() as server:
        server.released.set()
        llm = llm_at(server, timeout=30, max_concurrency=1)
        assert llm.complete(PROMPT).text == "fine"
        with held(llm._limiter, "llm"):
            assert forked(lambda: [llm.complete(PROMPT) for _ in range(2)])
        assert llm.complete(PROMPT).text == "fine"


def flow_of(step):
    replies = yield [step]
    return replies


def test_an_error_of_the_limiter_is_the_reply_to_every_kind_of_call():
    class Refusing(Limiter):
        def ask(self, stage, loop=None):
            refused = Future()
            refused.set_exception(TimeoutError("too many hang"))
            return refused

    for in_caller in (False, True):
        for timeout in (None, 5.0):
            limits = Limits(timeout=timeout, limiter=Refusing())
            for drive in (run, lambda *given: asyncio.run(arun(*given))):
                step = Call("x", np.zeros, (1,), in_caller=in_caller)
                assert "too many hang" in str(drive(flow_of(step), None, limits)[0].error)
