"""Calls to models and stores: side by side, within a limit and a time-out, in threads or on the
event loop that awaits their flow.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from perspective_rag.flow import threads
from perspective_rag.flow.attempt import Attempt
from perspective_rag.flow.cancelling import check_wanted
from perspective_rag.flow.limiter import LOOK_EVERY, Limiter, Permit
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


class Caller:
    """The event loop that awaits a flow while a thread runs it, until it cancels it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._awaited = Attempt(Permit())
        self.add, self.drop = self._awaited.add, self._awaited.drop
        self.cancel = self._awaited.give_up


# How often a call is looked at whose clock stands still.
_GLANCE = 0.05


def replies_to(calls: Sequence[Call], limits: Limits, caller: Caller | None) -> list[Reply]:
    """A reply for each call, in their order; blocks, and works where an event loop runs too.

    Calls with an async form are awaited by the ``caller``, where there is one, and calls that are
    bound to its thread block it while they run; all others have a thread of their own.
    """
    if caller is None:
        if any(step.in_caller for step in calls):
            return [_here(step, limits) for step in calls]
        # A function may run an event loop of its own, which no thread can that runs one already.
        if limits.timeout is None and len(calls) == 1 and asyncio._get_running_loop() is None:
            return [_here(calls[0], limits)]
    return _Batch(calls, limits, caller).replies() if calls else []


def remembered(calls: Sequence[Call], replies: Sequence[Reply], limits: Limits) -> Sequence[Reply]:
    """The replies; whether calls of a stage fail side by side and work in turn is remembered."""
    if limits.limiter is None:
        return replies
    if any(step.again and reply.error is None for step, reply in zip(calls, replies, strict=True)):
        limits.limiter.collided(calls[0].stage)
    elif len(calls) > 1 and all(reply.error is None for reply in replies):
        limits.limiter.worked_side_by_side(calls[0].stage)
    return replies


class _Batch:
    """Calls that run side by side, and the thread that waits for them."""

    def __init__(self, calls: Sequence[Call], limits: Limits, caller: Caller | None) -> None:
        self._calls, self._limits, self._caller = calls, limits, caller
        self._waiting = deque(range(len(calls)))
        self._asked: dict[int, Future[Permit]] = {}
        self._began: dict[int, Attempt] = {}
        self._replies: dict[int, Reply] = {}
        self._done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()
        self._over = False

    def replies(self) -> list[Reply]:
        calls, in_turn = self._calls, any(each.in_turn or each.in_caller for each in self._calls)
        cancel = partial(self._done.put, (-1, asyncio.CancelledError()))
        if self._caller is not None:
            self._caller.add(cancel)
        try:
            for _ in range(1 if in_turn else self._limits.max_concurrency):
                self._ask_for_next()
            while len(self._replies) < len(calls):
                try:
                    index, outcome = self._done.get(timeout=self._patience())
                except queue.Empty:
                    self._give_up_overdue()
                else:
                    if index not in self._replies:  # else it was given up
                        self._replies[index] = _reply(outcome)
                        self._ask_for_next()
        finally:
            self._over = True  # after an interrupt no further call is made
            if self._caller is not None:
                self._caller.drop(cancel)
            for asked in self._asked.values():
                Limiter.forget(asked)
            for index, attempt in list(self._began.items()):
                if index not in self._replies:
                    attempt.give_up()
        return [self._replies[index] for index in range(len(calls))]

    def _ask_for_next(self) -> None:
        if not self._waiting or self._over:
            return
        index = self._waiting.popleft()
        begin = partial(self._begin, index, contextvars.copy_context())
        if self._limits.limiter is None:
            asked: Future[Permit] = Future()
            asked.set_result(Permit())
        else:
            loop = self._caller.loop if self._caller and self._is_for_loop(index) else None
            asked = self._limits.limiter.ask(self._calls[index].stage, loop)
        self._asked[index] = asked
        asked.add_done_callback(begin)

    def _is_for_loop(self, index: int) -> bool:
        step = self._calls[index]
        return self._caller is not None and (step.in_caller or step.afunction is not None)

    def _begin(self, index: int, context: contextvars.Context, granted: Future[Permit]) -> None:
        """Starts a call, in whatever thread its permit was given."""
        if granted.cancelled():
            return
        try:
            attempt = self._began[index] = Attempt(granted.result())
            if self._over:
                attempt.give_up()
            elif self._caller is not None and self._is_for_loop(index):
                context.run(self._caller.loop.call_soon_threadsafe, self._on_loop, index, attempt)
            else:
                attempt.permit.thread_begins()
                threads.start(partial(context.run, self._in_thread, index, attempt))
        except Exception as error:  # the limiter's own, or the loop is closed
            self._done.put((index, Reply(error=error)))

    def _in_thread(self, index: int, attempt: Attempt) -> None:
        with self._belongs_to(attempt):
            outcome = _attempt(self._calls[index])
        attempt.permit.thread_ends()
        self._end(index, attempt, outcome)

    def _on_loop(self, index: int, attempt: Attempt) -> None:
        step = self._calls[index]
        if step.in_caller:
            self._end(index, attempt, RuntimeError() if self._over else _attempt(step))
            return
        with self._belongs_to(attempt):
            task = asyncio.ensure_future(_awaited(step))
        task.add_done_callback(lambda task: self._end(index, attempt, _outcome(step, task)))
        attempt.add(partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))

    def _end(self, index: int, attempt: Attempt, outcome: Reply | BaseException) -> None:
        attempt.permit.release()
        self._done.put((index, outcome))

    def _belongs_to(self, attempt: Attempt) -> AbstractContextManager[None]:
        """What is called inside belongs to the attempt, or to the call around it where calls are
        held to nothing here.
        """
        counts = self._limits.timeout is not None or self._limits.limiter is not None
        return attempt.is_current() if counts else nullcontext()

    def _open(self) -> list[tuple[int, Attempt]]:
        """The calls that have begun and can be late."""
        return [
            (index, attempt)
            for index, attempt in list(self._began.items())
            if index not in self._replies and not self._calls[index].in_caller
        ]

    def _patience(self) -> float | None:
        timeout = self._limits.timeout
        waits = []
        if not all(asked.done() for asked in self._asked.values()):
            waits.append(LOOK_EVERY)
        if timeout is not None:
            waits.append(timeout)
            for _, each in self._open():
                least = _GLANCE if each.stands_still else 0.001
                waits.append(max(least, timeout - each.seconds))
        return min(waits, default=None)

    def _give_up_overdue(self) -> None:
        if self._limits.limiter is not None:
            for index, asked in self._asked.items():
                if not asked.done():
                    self._limits.limiter.reclaim(self._calls[index].stage)
        timeout = self._limits.timeout
        if timeout is None:
            return
        for index, attempt in self._open():
            if not attempt.stands_still and attempt.seconds >= timeout:
                late = f"{self._calls[index].stage} did not answer within {timeout:g} s"
                self._replies[index] = Reply(error=TimeoutError(late))
                attempt.give_up()
                self._ask_for_next()


async def _awaited(step: Call) -> Reply:
    assert step.afunction is not None
    try:
        return Reply(await step.afunction(*step.args, **step.kwargs))
    except RuntimeError as error:
        stopped = str(error) == "coroutine raised StopIteration"  # it cannot raise one itself
        return Reply(error=_as_error(step, error.__cause__) if stopped else error)
    except Exception as error:
        return Reply(error=error)
    except GeneratorExit as error:
        return Reply(error=_as_error(step, error))


def _outcome(step: Call, task: asyncio.Future[Reply]) -> Reply | BaseException:
    if task.cancelled():
        return Reply(error=RuntimeError(f"{step.stage} was cancelled by what it called"))
    return task.exception() or task.result()


def _here(step: Call, limits: Limits) -> Reply:
    """The reply to a call that is made in this thread."""
    try:
        permit = limits.limiter.acquire(step.stage) if limits.limiter is not None else Permit()
    except Exception as error:
        return Reply(error=error)
    try:
        return _reply(_attempt(step))
    finally:
        permit.release()


def _attempt(step: Call) -> Reply | BaseException:
    try:
        check_wanted()
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
