"""Calls to models and stores: side by side, within a limit and a time-out, from threads or from an
event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from perspective_rag import threads
from perspective_rag.gate import Gate, Place


@dataclass(frozen=True, slots=True)
class Call:
    """A call to something outside: ``function(*args, **kwargs)``, or ``afunction`` where it is
    given and awaited.

    ``counts`` are quantities added to the trace when the call is made, e.g. ``{"judged_pairs":
    20}``. ``in_turn``: the calls of its batch are made one after the other, because side by side
    they would only wait for each other.
    """

    stage: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    afunction: Callable[..., Awaitable[Any]] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    in_turn: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a step: its value, or the error it ended with."""

    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout``: seconds for one call once it has begun (None: no limit); ``max_concurrency``:
    calls of one batch at a time; ``gate``: what all requests together may do (None: no limit).

    A call that is given up leaves its places to others.
    """

    timeout: float | None = 60.0
    max_concurrency: int = 8
    gate: Gate | None = None


Began = dict[int, tuple[float, Place]]
"""By the index of a call: when it began, and the place it holds."""


def answers_from_threads(calls: Sequence[Call], limits: Limits) -> list[Reply]:
    """A reply for each call, in their order; blocks, and works where an event loop runs too."""
    # A function may run an event loop of its own, which no thread can that runs one already.
    if limits.timeout is None and len(calls) == 1 and asyncio._get_running_loop() is None:
        place = _entered(calls[0], limits)
        try:
            return [_reply(_attempt(calls[0]))]
        finally:
            place.leave()
    waiting = deque(enumerate(calls))
    contexts = [contextvars.copy_context() for _ in calls]
    began: Began = {}
    done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()

    def work() -> None:
        while waiting:
            try:
                index, step = waiting.popleft()
            except IndexError:  # another worker took the last one
                return
            place = _entered(step, limits)
            began[index] = time.monotonic(), place
            outcome = contexts[index].run(_attempt, step)
            place.leave()
            if isinstance(outcome, BaseException):
                waiting.clear()
            done.put((index, outcome))

    for _ in range(min(_at_a_time(calls, limits), len(calls))):
        threads.start(work)
    replies: dict[int, Reply] = {}
    try:
        while len(replies) < len(calls):
            try:
                index, outcome = done.get(timeout=_patience(began, replies, limits))
                replies.setdefault(index, _reply(outcome))
            except queue.Empty:
                for index, place in _overdue(began, replies, limits):
                    replies[index] = _too_late(calls[index], limits)
                    place.leave()
                    threads.start(work)  # the one that is stuck serves nobody else
    finally:
        waiting.clear()  # after an interrupt no further call is made
    return [replies[index] for index in range(len(calls))]


def _at_a_time(calls: Sequence[Call], limits: Limits) -> int:
    return 1 if any(step.in_turn for step in calls) else limits.max_concurrency


def _entered(step: Call, limits: Limits) -> Place:
    return limits.gate.enter(step.stage) if limits.gate is not None else Place()


def _patience(began: Began, replies: dict[int, Reply], limits: Limits) -> float | None:
    if limits.timeout is None:
        return None
    starts = [start for index, (start, _) in list(began.items()) if index not in replies]
    oldest = min(starts, default=time.monotonic())
    return max(0.0, oldest + limits.timeout - time.monotonic()) + 0.001


def _overdue(
    began: Began, replies: dict[int, Reply], limits: Limits
) -> Iterator[tuple[int, Place]]:
    now = time.monotonic()
    for index, (start, place) in list(began.items()):
        if index not in replies and limits.timeout is not None and now - start >= limits.timeout:
            yield index, place


async def answers_from_loop(calls: Sequence[Call], limits: Limits) -> list[Reply]:
    """A reply for each call, in their order; calls without an async form run in threads."""
    own_places = asyncio.Semaphore(_at_a_time(calls, limits))

    async def answer(step: Call) -> Reply:
        async with own_places:
            place = Place() if limits.gate is None else await limits.gate.aenter(step.stage)
            try:
                return await _awaited(step, limits)
            finally:
                place.leave()

    return list(await asyncio.gather(*(answer(step) for step in calls)))


async def _awaited(step: Call, limits: Limits) -> Reply:
    """One call's reply, or that it was too late; one that is given up is cancelled."""

    async def attempt() -> Reply:
        try:
            if step.afunction is not None:
                return Reply(await step.afunction(*step.args, **step.kwargs))
            return _reply(await threads.in_thread(_attempt, step))
        except Exception as error:
            return Reply(error=error)

    task = asyncio.ensure_future(attempt())
    try:
        # Not wait_for: it cannot tell a TimeoutError of the call from its own, and it waits for a
        # call that does not let itself be cancelled.
        await asyncio.wait([task], timeout=limits.timeout)
    finally:
        late = task.cancel()
    if late:
        return _too_late(step, limits)
    if task.cancelled():
        return Reply(error=RuntimeError(f"{step.stage} was cancelled by what it called"))
    return task.result()


def _too_late(step: Call, limits: Limits) -> Reply:
    return Reply(error=TimeoutError(f"{step.stage} did not answer within {limits.timeout:g} s"))


def _attempt(step: Call) -> Reply | BaseException:
    try:
        return Reply(step.function(*step.args, **step.kwargs))
    except Exception as error:
        return Reply(error=error)
    except BaseException as stop:  # KeyboardInterrupt and the like end the run, in its own thread
        return stop


def _reply(outcome: Reply | BaseException) -> Reply:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
