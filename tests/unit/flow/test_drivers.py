"""The driver, blocking and awaited: same results, same books, limits kept."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest

from perspective_rag.errors import LLMReplyError, PerspectiveRAGError
from perspective_rag.flow import driver as drivers
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limiter, Limits
from perspective_rag.flow.request import Recorder, degrade
from perspective_rag.flow.steps import Call, Reply, call
from perspective_rag.types import Completion


def drive(kind, make_flow, limits=None, strict=False):
    """Runs a flow under one driver and returns its result and its recorder."""
    book = Recorder(strict=strict)
    if kind == "sync":
        return run(make_flow(), book, limits), book
    return asyncio.run(arun(make_flow(), book, limits)), book


both = pytest.mark.parametrize("kind", ["sync", "async"])


@both
def test_replies_come_in_the_order_of_the_steps(kind):
    def flow():
        replies = yield [
            Call("slow", lambda: time.sleep(0.05) or 1),
            Call("fast", lambda: 2),
        ]
        return [reply.value for reply in replies]

    result, book = drive(kind, flow)
    assert result == [1, 2]
    assert book.calls == {"slow": 1, "fast": 1}


@both
def test_errors_are_replies_not_exceptions(kind):
    def flow():
        reply = yield from call("boom", lambda: 1 / 0)
        return reply

    reply, _ = drive(kind, flow)
    assert isinstance(reply, Reply)
    assert isinstance(reply.error, ZeroDivisionError)


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


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_an_interrupt_in_a_call_ends_the_run(timeout):
    def interrupt():
        raise KeyboardInterrupt

    def flow():
        yield [Call("a", interrupt), Call("b", lambda: 1)]

    with pytest.raises(KeyboardInterrupt):
        run(flow(), limits=Limits(timeout=timeout))


@both
def test_strict_mode_raises_the_degradation(kind):
    def known():
        degrade("extract", "bad", LLMReplyError("bad", reply="oops", prompt="p"))
        yield []

    def unknown():
        degrade("extract", "it failed", KeyError("x"))
        yield []

    with pytest.raises(LLMReplyError):
        drive(kind, known, strict=True)
    with pytest.raises(PerspectiveRAGError, match="it failed") as caught:
        drive(kind, unknown, strict=True)
    assert isinstance(caught.value.__cause__, KeyError)


@both
@pytest.mark.parametrize("then", ["ends", "goes on", "fails otherwise"])
def test_strict_mode_raises_the_degradation_also_where_a_component_catches_it(kind, then):
    asked = []

    def flow():
        try:
            degrade("extract", "first")
        except PerspectiveRAGError:
            if then == "fails otherwise":
                raise ValueError("second") from None
        if then == "goes on":
            yield from call("x", asked.append, 1)
        return "a result"

    with pytest.raises(PerspectiveRAGError, match="first"):
        drive(kind, flow, strict=True)
    assert not asked


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


@both
def test_a_flow_is_closed_when_the_driver_stops_early(kind):
    closed = []

    def flow():
        try:
            degrade("x", "y")
            yield []
        finally:
            closed.append(True)

    with pytest.raises(PerspectiveRAGError):
        drive(kind, flow, strict=True)
    assert closed == [True]


async def test_the_sync_driver_works_inside_a_running_loop():
    def flow():
        reply = yield from call("a", lambda: 5)
        return reply.value

    assert run(flow()) == 5


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


async def test_cancelling_stops_the_flow():
    closed = []

    def flow():
        try:
            yield [Call("a", None, afunction=lambda: asyncio.sleep(10))]
        finally:
            closed.append(True)

    task = asyncio.create_task(arun(flow()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]


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
