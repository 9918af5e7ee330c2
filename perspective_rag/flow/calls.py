"""Calls to models and stores: side by side, within a limit and a time-out, from threads or from an
event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from perspective_rag.flow import threads
from perspective_rag.flow.attempt import Attempt
from perspective_rag.flow.limiter import Limiter, Permit
from perspective_rag.flow.steps import Call, Reply


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout``: seconds for one call once it has begun (None: no limit); ``max_concurrency``:
    calls of one batch at a time; ``limiter``: what all requests together may do (None: no limit).

    A call that is given up leaves its permits to others. The time that it waits for a permit, or
    for a place of the model's own client, is not the call's.
    """

    timeout: float | None = 60.0
    max_concurrency: int = 8
    limiter: Limiter | None = None


Began = dict[int, Attempt]
"""The calls that have begun, by their index."""

# How often a call is looked at whose clock stands still.
_GLANCE = 0.05


def answers_from_threads(calls: Sequence[Call], limits: Limits) -> list[Reply]:
    """A reply for each call, in their order; blocks, and works where an event loop runs too."""
    if any(step.in_caller for step in calls):
        return [_here(step, limits) for step in calls]
    # A function may run an event loop of its own, which no thread can that runs one already.
    if limits.timeout is None and len(calls) == 1 and asyncio._get_running_loop() is None:
        return [_here(calls[0], limits)]
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
            outcome = contexts[index].run(attempted, index, step)
            if isinstance(outcome, BaseException):
                waiting.clear()
            done.put((index, outcome))

    def attempted(index: int, step: Call) -> Reply | BaseException:
        try:
            permit = _acquired(step, limits)
        except Exception as error:
            return Reply(error=error)
        permit.thread_begins()
        began[index] = attempt = Attempt(permit)
        try:
            with attempt.is_current() if _counts(limits) else nullcontext():
                return _attempt(step)
        finally:
            permit.thread_ends()
            permit.release()

    for _ in range(min(_at_a_time(calls, limits), len(calls))):
        threads.start(work)
    replies: dict[int, Reply] = {}
    try:
        while len(replies) < len(calls):
            try:
                index, outcome = done.get(timeout=_patience(began, replies, limits))
                replies.setdefault(index, _reply(outcome))
            except queue.Empty:
                for index, attempt in _overdue(began, replies, limits):
                    replies[index] = _too_late(calls[index], limits)
                    attempt.give_up()
                    threads.start(work)  # the one that is stuck serves nobody else
    finally:
        waiting.clear()  # after an interrupt no further call is made
    return [replies[index] for index in range(len(calls))]


def remembered(calls: Sequence[Call], replies: Sequence[Reply], limits: Limits) -> Sequence[Reply]:
    """The replies; whether calls of a stage fail side by side and work in turn is remembered."""
    if limits.limiter is None:
        return replies
    if any(step.again and reply.error is None for step, reply in zip(calls, replies, strict=True)):
        limits.limiter.collided(calls[0].stage)
    elif len(calls) > 1 and all(reply.error is None for reply in replies):
        limits.limiter.worked_side_by_side(calls[0].stage)
    return replies


def _at_a_time(calls: Sequence[Call], limits: Limits) -> int:
    return 1 if any(step.in_turn for step in calls) else limits.max_concurrency


def _counts(limits: Limits) -> bool:
    """Whether calls are held to anything here; else they belong to the call around them."""
    return limits.timeout is not None or limits.limiter is not None


def _acquired(step: Call, limits: Limits) -> Permit:
    return limits.limiter.acquire(step.stage) if limits.limiter is not None else Permit()


async def _aacquired(step: Call, limits: Limits) -> Permit:
    return await limits.limiter.aacquire(step.stage) if limits.limiter is not None else Permit()


def _patience(began: Began, replies: dict[int, Reply], limits: Limits) -> float | None:
    if limits.timeout is None:
        return None
    open_ = [each for index, each in list(began.items()) if index not in replies]
    left = min((limits.timeout - each.seconds for each in open_), default=limits.timeout)
    return max(_GLANCE, left) if any(each.stands_still for each in open_) else max(0.001, left)


def _overdue(
    began: Began, replies: dict[int, Reply], limits: Limits
) -> Iterator[tuple[int, Attempt]]:
    for index, attempt in list(began.items()):
        if index in replies or limits.timeout is None or attempt.stands_still:
            continue
        if attempt.seconds >= limits.timeout:
            yield index, attempt


async def answers_from_loop(calls: Sequence[Call], limits: Limits) -> list[Reply]:
    """A reply for each call, in their order; calls without an async form run in threads.

    Calls that are bound to the caller's thread block the event loop while they run: they cannot be
    made anywhere else.
    """
    if any(step.in_caller for step in calls):
        replies = []
        for step in calls:
            try:
                permit = await _aacquired(step, limits)
            except Exception as error:
                replies.append(Reply(error=error))
                continue
            try:
                replies.append(_reply(_attempt(step)))
            finally:
                permit.release()
        return replies
    own_permits = asyncio.Semaphore(_at_a_time(calls, limits))

    async def answer(step: Call) -> Reply:
        async with own_permits:
            try:
                permit = await _aacquired(step, limits)
            except Exception as error:
                return Reply(error=error)
            try:
                return await _awaited(step, limits, Attempt(permit))
            finally:
                permit.release()

    return list(await asyncio.gather(*(answer(step) for step in calls)))


async def _awaited(step: Call, limits: Limits, attempt: Attempt) -> Reply:
    """One call's reply, or that it was too late; one that is given up is cancelled."""

    async def attempted() -> Reply:
        try:
            if step.afunction is not None:
                return Reply(await step.afunction(*step.args, **step.kwargs))
            return _reply(await threads.in_thread(_attempt, step))
        except RuntimeError as error:
            stopped = str(error) == "coroutine raised StopIteration"  # it cannot raise one itself
            return Reply(error=_as_error(step, error.__cause__) if stopped else error)
        except Exception as error:
            return Reply(error=error)
        except GeneratorExit as error:
            return Reply(error=_as_error(step, error))

    with attempt.is_current() if _counts(limits) else nullcontext():
        task = asyncio.ensure_future(attempted())
    try:
        # Not wait_for: it cannot tell a TimeoutError of the call from its own, and it waits for a
        # call that does not let itself be cancelled.
        while not task.done():
            left = None if limits.timeout is None else limits.timeout - attempt.seconds
            if attempt.stands_still and left is not None:
                left = max(_GLANCE, left)
            elif left is not None and left <= 0.0:
                break
            await asyncio.wait([task], timeout=left)
    finally:
        late = task.cancel()
        if late:
            attempt.give_up()
    if late:
        return _too_late(step, limits)
    if task.cancelled():
        return Reply(error=RuntimeError(f"{step.stage} was cancelled by what it called"))
    return task.result()


def _here(step: Call, limits: Limits) -> Reply:
    """The reply to a call that is made in this thread."""
    try:
        permit = _acquired(step, limits)
    except Exception as error:
        return Reply(error=error)
    try:
        return _reply(_attempt(step))
    finally:
        permit.release()


def _too_late(step: Call, limits: Limits) -> Reply:
    return Reply(error=TimeoutError(f"{step.stage} did not answer within {limits.timeout:g} s"))


def _attempt(step: Call) -> Reply | BaseException:
    try:
        return Reply(step.function(*step.args, **step.kwargs))
    except (StopIteration, GeneratorExit) as error:  # not to be taken for the end of the flow
        return Reply(error=_as_error(step, error))
    except Exception as error:
        return Reply(error=error)
    except BaseException as stop:  # KeyboardInterrupt and the like end the run, in its own thread
        return stop


def _as_error(step: Call, cause: BaseException | None) -> RuntimeError:
    error = RuntimeError(f"{step.stage}: what it called raised {type(cause).__name__}")
    error.__cause__ = cause
    return error


def _reply(outcome: Reply | BaseException) -> Reply:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
