"""The largest bodies at every door, while health is watched: the event loop stands still for
nobody.

What counts is processor time, so that a machine that is busy with other things fails nothing.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")
uvicorn = pytest.importorskip("uvicorn")

from perspective_rag import PerspectivePipeline
from perspective_rag.testing import HashEmbedder, MemoryStore
from tests.addons.serve.http.samples import PASSAGES, QUESTION, ZooJudge
from tests.hardening.serving import PATIENCE, head, running, status_of, until

MOST = 0.25
"""Seconds of processor time that one turn of the loop may take."""
LARGEST, SMALL = 3_990_000, 199_000


def text(size, what="word"):
    """A text of so many bytes: words, letters of many bytes, marks, one word."""
    piece = {
        "word": "Zoos should be closed, animals suffer. ",
        "letters": "é€𝄞ü ",
        "marks": "a" + "\u0301" * 60,
        "one": "x",
        "ends": ". ! ? ",
        "lines": "\n- a",
    }[what]
    return (piece * (size // len(piece.encode()) + 1))[: size * len(piece) // len(piece.encode())]


def chat(messages):
    return {"messages": messages}


def tool(name, **arguments):
    params = {"name": name, "arguments": {"question": QUESTION, **arguments}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def texts(count, size, what="word"):
    return [f"{number} {text(size, what)}" for number in range(count)]


def user(content):
    return {"role": "user", "content": content}


BODIES = {
    "ask, a long question": ("/api/ask", lambda: {"question": text(SMALL // 2, "letters")}),
    "ask, names": ("/api/ask", lambda: {"question": QUESTION, **{f"{n:x}": 1 for n in range(15_000)}}),
    "ask, previous": ("/api/ask", lambda: {"question": "and why?", "previous": text(SMALL // 2)}),
    "ask, sides": ("/api/ask", lambda: {"question": QUESTION, "perspectives": [{"text": text(290, "marks")}] * 12}),
    "export": ("/api/export", lambda: {"question": QUESTION, "format": "html", "further": text(290)}),
    "review": ("/api/review", lambda: {"question": text(60_000, "letters"), "perspective": "p", "passage_id": "x"}),
    "rerank, many": ("/v1/rerank", lambda: {"query": QUESTION, "documents": texts(1000, 3_800)}),
    "rerank, returned": ("/v2/rerank", lambda: {"query": QUESTION, "documents": texts(40, 90_000), "return_documents": True}),
    "rerank, letters": ("/rerank", lambda: {"query": QUESTION, "documents": texts(39, 50_000, "letters")}),
    "rerank, query": ("/v1/rerank", lambda: {"query": text(LARGEST // 2, "letters"), "documents": ["a"]}),
    "rerank, too many": ("/v1/rerank", lambda: {"query": QUESTION, "documents": ["a"] * 40_000}),
    "rerank, objects": ("/v1/rerank", lambda: {"query": QUESTION, "documents": [{"text": "a", "b": 1}] * 8_000}),
    "chat, one": ("/v1/chat/completions", lambda: chat([user(text(LARGEST // 2, "letters"))])),
    "chat, history": ("/v1/chat/completions", lambda: chat([user(text(3_900)) for _ in range(999)] + [user(QUESTION)])),
    "chat, questions": ("/v1/chat/completions", lambda: chat([user(f"Should {text(450)}?") for _ in range(999)] + [user("and why?")])),
    "chat, parts": ("/v1/chat/completions", lambda: chat([user([{"type": "text", "text": "a"}] * 9_000)])),
    "judge": ("/mcp", lambda: tool("judge_support", passages=texts(200, 19_000))),
    "audit": ("/mcp", lambda: tool("audit_retrieval", passages=texts(200, 19_000))),
    "audit, alike": ("/mcp", lambda: tool("audit_retrieval", passages=[text(90_000)] * 40)),
    "search": ("/mcp", lambda: tool("search_perspectives", perspectives=[text(290)] * 12)),
    "tool, question": ("/mcp", lambda: tool("judge_support", question=text(LARGEST // 2, "letters"), passages=["a"])),
    "tool, unknown": ("/mcp", lambda: {**tool("x"), "more": {f"{n:x}": text(60) for n in range(20_000)}}),
    "values": ("/v1/rerank", lambda: {"query": QUESTION, "documents": ["a"], "more": [[]] * 24_000}),
    "escapes": ("/v1/rerank", lambda: {"query": QUESTION, "documents": ["\\" * 90_000] * 20}),
    "quotes": ("/v1/rerank", lambda: {"query": QUESTION, "documents": ['"' * 90_000] * 20}),
    "nothing": ("/v1/rerank", lambda: {"query": "", "documents": [" " * 3_900_000]}),
}  # fmt: skip


@pytest.fixture(scope="module")
def server():
    judge = ZooJudge(lambda passage, side: 0.95 if len(passage.text) % 2 else 0.02)
    store = MemoryStore(PASSAGES, takes_vector=False)
    pipeline = PerspectivePipeline(store, embedder=HashEmbedder(32), judge=judge, k=6)
    with running(pipeline, running=2, answer_seconds=3.0) as found:
        yield found


class Watch:
    """Asks for health every 50 ms, and measures each turn of the server's event loop: the processor
    time of its own thread (what is done in the loop), and that of the process (what another thread
    does while it keeps the interpreter's lock).
    """

    def __init__(self, server):
        self._server = server
        self._end = threading.Event()
        self.own, self.all, self.statuses = [], [], set()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self):
        while not self._end.wait(0.05):
            self.statuses.add(self._server.health())

    async def _measure(self):
        while not self._end.is_set():
            own, everything = time.thread_time(), time.process_time()
            await asyncio.sleep(0.01)
            self.own.append(time.thread_time() - own)
            self.all.append(time.process_time() - everything)

    def __enter__(self):
        self._measured = asyncio.run_coroutine_threadsafe(self._measure(), self._server.loop)
        self._thread.start()
        until(lambda: self.own and self.statuses)
        return self

    def __exit__(self, *failure):
        self._end.set()
        self._measured.result(PATIENCE)
        self._thread.join(PATIENCE)


def watched(server, data):
    """What the server replies, and the watch over it."""
    with Watch(server) as watch:
        reply = server.raw(data)
    return reply, watch


def test_the_watch_sees_what_is_done_in_the_loop_and_what_keeps_the_lock(server):
    def burn():
        end = time.thread_time() + 2 * MOST
        while time.thread_time() < end:
            pass

    with Watch(server) as in_loop:
        server.loop.call_soon_threadsafe(burn)
        time.sleep(0.1)
    with Watch(server) as locked:
        re.match(r"(a|a)*b", "a" * 23)
    assert max(in_loop.own) > MOST
    assert max(locked.own) < MOST < max(locked.all)


@pytest.mark.parametrize("what", BODIES)
def test_health_is_told_while_the_largest_bodies_are_read(server, what):
    path, made = BODIES[what]
    body = json.dumps(made(), ensure_ascii=False).encode()
    assert len(body) <= (4_000_000 if not path.startswith("/api") else 200_000), len(body)
    accept = "application/json, text/event-stream"
    data = head(path, Content_Length=len(body), Accept=accept, Connection="close") + body
    for last in (False, False, True):  # a busy machine may make one turn long, not each
        reply, watch = watched(server, data)
        assert status_of(reply) in (200, 400, 413, 422, 504), reply[:200]
        assert watch.statuses == {200}
        if max(watch.own) < MOST and max(watch.all) < MOST:
            break
        assert not last, f"{max(watch.own)} s in the loop, {max(watch.all)} s in all"
    assert server.context.admission.waiting == 0
