"""Work that nobody waits for any more: it ends by itself, and counts until it has."""

from __future__ import annotations

import json
import threading
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")
uvicorn = pytest.importorskip("uvicorn")

from perspective_rag import PerspectivePipeline
from perspective_rag.flow.driver import in_thread, map_in_pool
from perspective_rag.flow.limiter import Cancelled, Work, check_wanted
from perspective_rag.testing import HashEmbedder, MemoryStore, RuleJudge
from tests.addons.serve.http.samples import PASSAGES, QUESTION
from tests.hardening.serving import head, received, running, status_of, until

TEXTS = [f"Zoos number {number} should be closed, for animals suffer." for number in range(400)]
ASK = {"question": QUESTION}
RERANK = {"query": QUESTION, "documents": TEXTS}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
DOORS = {
    "/api/ask": ASK,
    "/api/export": {**ASK, "format": "json"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": QUESTION}]},
    "/v1/rerank": RERANK,
    "/mcp": {
        **CALL,
        "params": {
            "name": "judge_support",
            "arguments": {"question": QUESTION, "passages": TEXTS[:200]},
        },
    },
}


class Slow:
    """A judge and an embedder of many small batches, which count them."""

    def __init__(self):
        self.batches = 0
        self.going = threading.Event()

    def batch(self):
        check_wanted()
        self.batches += 1
        self.going.set()
        time.sleep(0.02)


class SlowEmbedder(HashEmbedder):
    def __init__(self, slow):
        super().__init__(16)
        self.slow = slow

    def embed_passages(self, texts):
        for _ in range(500 if len(texts) > 1 else 1):
            self.slow.batch()
        return super().embed_passages(texts)


class SlowStore(MemoryStore):
    __slots__ = ("slow",)

    def search(self, *given, **wanted):
        for _ in range(500):
            self.slow.batch()
        return super().search(*given, **wanted)

    async def asearch(self, *given, **wanted):
        return await in_thread(self.search, *given, **wanted)


@pytest.fixture
def slow():
    return Slow()


@pytest.fixture
def server(slow):
    store = SlowStore(PASSAGES, takes_vector=False)
    store.slow = slow
    pipeline = PerspectivePipeline(
        store, embedder=SlowEmbedder(slow), judge=RuleJudge(lambda passage, side: 0.5)
    )
    with running(pipeline, running=2, answer_seconds=60.0) as found:
        yield found


def request(path, body, **headers):
    data = json.dumps(body).encode()
    accept = "application/json, text/event-stream"
    return head(path, Content_Length=len(data), **{"Accept": accept, **headers}) + data


def comes_to_rest(server, slow):
    until(lambda: server.context.admission.running == 0, 20)
    done = slow.batches
    time.sleep(0.3)
    assert slow.batches == done, "it goes on"


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        *((path, "application/json, text/event-stream") for path in DOORS),
        *((path, "application/json") for path in DOORS if path != "/mcp"),  # it wants both
    ],
)
def test_what_a_client_that_left_asked_for_ends(server, slow, path, accept):
    connection = server.connected()
    connection.sendall(request(path, DOORS[path], Accept=accept))
    assert slow.going.wait(60)
    connection.close()
    comes_to_rest(server, slow)
    assert server.health() == 200


def test_clients_that_vanish_leave_room_for_others(server, slow):
    opened = [server.connected() for _ in range(30)]
    for each in opened:
        each.sendall(request("/v1/rerank", RERANK))
    until(lambda: server.context.admission.waiting == 28)
    for each in opened:
        each.close()
    until(lambda: server.connections.working == 0)
    comes_to_rest(server, slow)
    assert server.context.admission.waiting == 0


@pytest.mark.parametrize("path", DOORS)
def test_what_takes_too_long_ends(slow, path):
    store = SlowStore(PASSAGES, takes_vector=False)
    store.slow = slow
    pipeline = PerspectivePipeline(
        store, embedder=SlowEmbedder(slow), judge=RuleJudge(lambda passage, side: 0.5)
    )
    with running(pipeline, running=1, answer_seconds=0.3) as server:
        reply = server.raw(
            request(
                path, DOORS[path], Accept="application/json, text/event-stream", Connection="close"
            )
        )
        assert b"took too long" in reply
        comes_to_rest(server, slow)


def test_a_permit_is_held_as_long_as_work_that_does_not_look_goes_on():
    go, going = threading.Event(), threading.Event()

    def stuck(passage, side):
        going.set()
        go.wait(60)
        return 0.5

    store = MemoryStore(PASSAGES, takes_vector=False)
    pipeline = PerspectivePipeline(store, judge=RuleJudge(stuck))
    with running(pipeline, running=1, waiting=0, answer_seconds=0.2) as server:
        try:
            ask = request("/api/ask", ASK, Accept="application/json", Connection="close")
            assert status_of(server.raw(ask)) == 504
            assert going.is_set()
            assert server.context.admission.running == 1
            assert status_of(server.raw(ask)) == 429
            assert server.health() == 200
        finally:
            go.set()
        until(lambda: server.context.admission.running == 0)


def test_who_waits_is_told_when_the_server_ends_and_who_is_answered_is_not(slow):
    go, going = threading.Event(), threading.Event()

    def held(passage, side):
        going.set()
        go.wait(60)
        return 0.5

    store = MemoryStore(PASSAGES, takes_vector=False)
    with running(PerspectivePipeline(store, judge=RuleJudge(held)), running=1) as server:
        first, second, idle, sending = (server.connected() for _ in range(4))
        ask = request("/api/ask", ASK, Accept="application/json")
        first.sendall(ask)
        assert going.wait(60)
        second.sendall(ask)
        until(lambda: server.context.admission.waiting == 1)
        sending.sendall(ask[:-5])
        idle.sendall(ask[:20])
        server.server.should_exit = True
        assert status_of(received(second)) == 503
        assert received(idle) == b""
        assert received(sending) == b""
        go.set()
        assert status_of(received(first)) == 200
        for each in (first, second, idle, sending):
            each.close()


# ------------------------------------------------------------------ the library


@pytest.mark.parametrize("kind", ["embedder", "judge"])
def test_the_packaged_models_end_between_batches(kind):
    from perspective_rag.local.onnx_minilm import OnnxMiniLM

    if kind == "embedder":
        embedder = OnnxMiniLM()
        embedder.embed_queries(["warm"])
        run = lambda: embedder.embed_passages(TEXTS * 20)
    else:
        from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
        from perspective_rag.judge.models import OnnxClassifier

        model = OnnxClassifier(DEFAULT_MODEL, max_tokens=256)
        pairs = TEXTS * 20, ["Zoos should be closed"] * len(TEXTS) * 20
        run = lambda: model.logits(*pairs)
    work, ended = Work(), threading.Event()

    def cancelled():
        with work.is_current(), pytest.raises(Cancelled):
            run()
        ended.set()

    thread = threading.Thread(target=cancelled, daemon=True)
    thread.start()
    time.sleep(0.2)
    work.cancel()
    assert ended.wait(20)
    used = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - used < 0.25, "something goes on"


async def test_work_counts_its_threads_and_tells_when_the_last_has_ended():
    work, go, told = Work(), threading.Event(), threading.Event()
    with work.is_current():
        import asyncio

        tasks = [asyncio.ensure_future(in_thread(go.wait, 60)) for _ in range(3)]
        await asyncio.sleep(0.05)
    assert work.when_ended(told.set)
    assert not told.is_set()
    go.set()
    await asyncio.gather(*tasks)
    assert told.wait(60)
    assert not work.when_ended(told.set)


def test_items_of_a_pool_are_not_begun_once_nobody_wants_them():
    from concurrent.futures import ThreadPoolExecutor

    work, begun = Work(), []

    def one(item):
        begun.append(item)
        if item == 3:
            work.cancel()

    with ThreadPoolExecutor(1) as pool, work.is_current(), pytest.raises(Cancelled):
        map_in_pool(pool, one, range(100))
    assert begun == [0, 1, 2, 3]
    with ThreadPoolExecutor(1) as pool:
        assert map_in_pool(pool, str, [1, 2]) == ["1", "2"]


def test_a_thread_that_begins_when_all_have_ended_gives_no_place_back_again():
    work, told = Work(), []
    work.thread_begins()
    assert work.when_ended(lambda: told.append(1))
    for _ in range(3):
        work.thread_ends()
        work.thread_begins()  # late: it ends at its next call
    assert told == [1]
