"""The driver, blocking and awaited: same results, same books, limits kept."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.extend import map_in_threads
from perspective_rag.flow import driver as drivers
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limiter, Limits
from perspective_rag.flow.request import Recorder, degrade
from perspective_rag.flow.steps import Call, call
from perspective_rag.types import Completion


def drive(kind, make_flow, limits=None, strict=False):
    """Runs a flow under one driver and returns its result and its recorder."""
    book = Recorder(strict=strict)
    if kind == "sync":
        return run(make_flow(), book, limits), book
    return asyncio.run(arun(make_flow(), book, limits)), book


both = pytest.mark.parametrize("kind", ["sync", "async"])


@both
@pytest.mark.parametrize(("in_turn", "at_a_time"), [(False, 3), (True, 1)])
def test_calls_of_a_batch_run_side_by_side_within_the_limit_or_in_turn(kind, in_turn, at_a_time):
    running, most, lock = 0, 0, threading.Lock()

    def work():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.03)
        with lock:
            running -= 1

    def flow():
        yield [Call("work", work, in_turn=in_turn) for _ in range(9)]

    drive(kind, flow, Limits(timeout=5, max_concurrency=3))
    assert most == at_a_time


@both
def test_a_call_that_hangs_is_given_up_and_the_others_answer(kind):
    hang = threading.Event()

    def flow():
        replies = yield [Call("hang", hang.wait, (2,)), Call("ok", lambda: "fine")]
        return replies

    (late, fine), _ = drive(kind, flow, Limits(timeout=0.1, max_concurrency=1))
    hang.set()
    assert isinstance(late.error, TimeoutError)
    assert "hang" in str(late.error)
    assert fine.value == "fine"


@both
@pytest.mark.parametrize("then", ["ends", "goes on", "fails otherwise"])
def test_strict_mode_raises_the_degradation_also_where_a_component_catches_it(kind, then):
    asked, closed = [], []

    def flow():
        try:
            degrade("extract", "first", KeyError("x"))
        except PerspectiveRAGError:
            if then == "fails otherwise":
                raise ValueError("second") from None
        try:
            if then == "goes on":
                yield from call("x", asked.append, 1)
        finally:
            closed.append(True)
        return "a result"

    with pytest.raises(PerspectiveRAGError, match="first") as caught:
        drive(kind, flow, strict=True)
    assert isinstance(caught.value.__cause__, KeyError)
    assert not asked
    assert len(closed) == (then != "fails otherwise")


@both
def test_tokens_counts_and_seconds_are_booked(kind):
    def flow():
        yield [
            Call("llm", lambda: Completion("a", 10, 3)),
            Call("llm", lambda: Completion("b", 5, 4), counts={"judged_pairs": 7}),
        ]

    _, book = drive(kind, flow)
    trace = book.trace()
    assert (trace.prompt_tokens, trace.completion_tokens) == (15, 7)
    assert trace.counts == {"judged_pairs": 7}
    assert trace.seconds["llm"] > 0


@both
def test_the_callers_context_reaches_the_calls(kind):
    variable: ContextVar[str] = ContextVar("variable", default="unset")

    def flow():
        replies = yield [Call("a", variable.get), Call("b", variable.get)]
        return [reply.value for reply in replies]

    variable.set("mine")
    result, _ = drive(kind, flow)
    assert result == ["mine", "mine"]


async def test_the_async_driver_prefers_the_async_form_and_never_blocks():
    beats = 0

    async def heartbeat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    async def native():
        await asyncio.sleep(0.1)
        return "native"

    def flow():
        replies = yield [
            Call("a", lambda: "sync", afunction=native),
            Call("b", time.sleep, (0.15,)),
        ]
        return replies[0].value

    task = asyncio.create_task(heartbeat())
    assert await arun(flow()) == "native"
    task.cancel()
    assert beats >= 5


async def test_cancelling_gives_up_calls_in_threads_and_makes_no_further_ones():
    limiter, hang, made = Limiter(1), threading.Event(), []
    limits = Limits(timeout=None, max_concurrency=2, limiter=limiter)

    def flow():
        yield [Call("a", lambda: made.append(1) or hang.wait(30)) for _ in range(3)]
        made.append("went on")

    task = asyncio.create_task(arun(flow(), None, limits))
    while not made:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (limiter.running("a"), limiter.hanging("a")) == (0, 1)
    hang.set()
    while limiter.hanging("a"):
        await asyncio.sleep(0.001)
    assert made == [1]


async def test_a_plain_function_that_hangs_holds_no_cancelled_task_up(monkeypatch):
    monkeypatch.setattr(drivers, "_GRACE", 0.05)
    hang, ended = threading.Event(), threading.Event()

    def flow():
        try:
            hang.wait(30)
            yield [Call("a", ended.is_set)]
        finally:
            ended.set()

    task = asyncio.create_task(arun(flow()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert not ended.is_set()
    hang.set()
    assert ended.wait(30)


async def test_a_call_bound_to_the_callers_thread_is_made_on_its_loop():
    def flow():
        replies = yield [Call("a", threading.get_ident, in_caller=True), Call("b", lambda: 1 / 0)]
        return replies

    here, failed = await arun(flow(), None, Limits(timeout=0.001))
    assert here.value == threading.get_ident()
    assert isinstance(failed.error, ZeroDivisionError)


@pytest.mark.parametrize("timeout", [None, 60.0])
async def test_hundreds_of_flows_within_flows_do_not_wait_for_each_others_threads(timeout):
    limits = Limits(timeout=timeout, limiter=Limiter(600))
    found = await asyncio.gather(*(arun(nested(2, limits), None, limits) for _ in range(200)))
    assert found == [2] * 200


def nested(depth, limits):
    async def inner():
        await asyncio.sleep(0)
        return 1 + await arun(nested(depth - 1, limits), None, limits) if depth else 0

    reply = yield from call("a", None, afunction=inner)
    return reply.value


# Functions mapped in threads

SAID = ContextVar("SAID", default="nothing")


def test_results_are_in_order_and_each_sees_the_callers_context():
    SAID.set("by the caller")

    def one(item):
        before = SAID.get()
        SAID.set(f"by {item}")  # stays in its own copy
        return item * 2, before

    assert map_in_threads(one, range(5), most=3) == [(2 * i, "by the caller") for i in range(5)]
    assert SAID.get() == "by the caller"


@pytest.mark.parametrize(("most", "items"), [(1, 3), (4, 1), (4, 0)])
def test_one_at_a_time_needs_no_thread(most, items):
    threads = map_in_threads(lambda item: threading.current_thread(), range(items), most=most)
    assert set(threads) <= {threading.current_thread()}
