"""Permits, limits, and work that nobody waits for any more."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from perspective_rag.errors import count

_CURRENT: ContextVar[Work | None] = ContextVar("perspective_rag_work", default=None)


class Cancelled(BaseException):
    """Raised in work that was cancelled; no handler of its errors takes it for one of them."""


class Work:
    """What is done for one request, in whatever threads, until the last of them has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._when_ended: Callable[[], object] | None = None
        self.cancelled = False

    @contextmanager
    def is_current(self) -> Iterator[None]:
        """What is called inside, and the threads that it starts, belong to this work."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def cancel(self) -> None:
        """Has the work end at its next call or batch."""
        self.cancelled = True

    def check(self) -> None:
        """Raises Cancelled where the work was cancelled."""
        if self.cancelled:
            raise Cancelled

    def thread_begins(self) -> None:
        """A thread is about to be started for it."""
        with self._lock:
            self._threads += 1

    def thread_ends(self) -> None:
        """That thread has ended."""
        with self._lock:
            self._threads -= 1
            tell = None
            if not self._threads:  # told once, even where a late thread begins and ends after it
                tell, self._when_ended = self._when_ended, None
        if tell is not None:
            tell()

    def when_ended(self, tell: Callable[[], object]) -> bool:
        """Has ``tell`` called by the last of its threads; False where none is at work any more."""
        with self._lock:
            self._when_ended = tell if self._threads else None
            return bool(self._threads)


def current_work() -> Work:
    """The work that this code belongs to; one of nobody's where there is none."""
    return _CURRENT.get() or Work()


def check_wanted() -> None:
    """Raises Cancelled where the work that this code belongs to was cancelled: for loops that take
    longer than a moment, once in each round.
    """
    current_work().check()


MOST_HANGING = 32
"""Calls of a stage that may hang at a time, where the limit is not higher."""

_GLANCE = 1.0  # on Windows Ctrl-C ends no wait, but is seen between two


class Limiter:
    """Lets at most ``limit`` calls of each stage run at a time; the others wait in their order.

    A stage is a kind of call: "extract", "embed", "search", "judge" and so on. Every pipeline and
    retriever has a limiter of its own; give one limiter to several that share a model or store.
    Never share a limiter between nested pipelines: the inner one would wait for permits that the
    outer one holds. A limiter belongs to no event loop. Pickled, or in a forked process, it is a
    new one of the same limit.

    A call that was given up leaves its permit to the next, but its thread may hang on. While
    ``limit`` calls of a stage (at least 32) hang, a further one fails at once, with a TimeoutError.

    Args:
        limit: Calls of each stage at a time, at least 1.

    Raises:
        ConfigError: The limit is below 1.
    """

    def __init__(self, limit: int = 32) -> None:
        self.limit = count("limit", limit)
        self._begin()
        _LIMITERS.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._held: defaultdict[str, set[Permit]] = defaultdict(set)
        self._hanging: defaultdict[str, int] = defaultdict(int)
        self._waiting: defaultdict[str, deque[_Waiting]] = defaultdict(deque)
        self._most_hanging = max(self.limit, MOST_HANGING)

    def acquire(self, stage: str) -> Permit:
        """Waits for a permit for one call; blocks the thread.

        Args:
            stage: The kind of call.

        Returns:
            The permit; release it when the call has ended.

        Raises:
            TimeoutError: Too many calls of the stage hang.
        """
        waiter = self.ask(stage)
        try:
            while not waiter.done():
                wait([waiter], _GLANCE)
            return waiter.result()
        except BaseException:
            self.forget(waiter)
            raise

    async def aacquire(self, stage: str) -> Permit:
        """The same as ``acquire``, without blocking the event loop."""
        waiter = self.ask(stage, asyncio.get_running_loop())
        try:
            return waiter.result() if waiter.done() else await asyncio.wrap_future(waiter)
        except BaseException:
            self.forget(waiter)
            raise

    def ask(self, stage: str, loop: asyncio.AbstractEventLoop | None = None) -> Future[Permit]:
        """Asks for a permit without waiting.

        Args:
            stage: The kind of call.
            loop: The event loop that waits for it, if one does: once it is closed it gets none.

        Returns:
            A future of the permit: done at once where one is free. While too many calls of the
            stage hang its error is a TimeoutError.
        """
        waiter: Future[Permit] = Future()
        with self._lock:
            self._waiting[stage].append((waiter, loop))
        self._hand_out(stage)
        return waiter

    @staticmethod
    def forget(waiter: Future[Permit]) -> None:
        """Gives up waiting; a permit that was handed over meanwhile goes to the next.

        Args:
            waiter: What ``ask`` returned.
        """
        if not waiter.cancel() and waiter.exception() is None:
            waiter.result().release()

    def running(self, stage: str) -> int:
        """How many calls hold a permit now.

        Args:
            stage: The kind of call.

        Returns:
            Their number.
        """
        return len(self._held[stage])

    def hanging(self, stage: str) -> int:
        """The same as ``running``, of calls that were given up while their threads still run."""
        return self._hanging[stage]

    def _hand_out(self, stage: str) -> None:
        """Gives free permits to those who wait longest; an error to all where too many hang."""
        given: list[tuple[Future[Permit], Permit | None]] = []
        with self._lock:
            queue, held, stuck = self._waiting[stage], self._held[stage], self._hanging[stage]
            refuses = stuck >= self._most_hanging
            while queue and (refuses or len(held) < self.limit):
                waiter, loop = queue.popleft()
                if loop is not None and loop.is_closed():
                    continue
                if waiter.set_running_or_notify_cancel():
                    permit = None if refuses else Permit(self, stage)
                    held.update([permit] if permit else [])
                    given.append((waiter, permit))
        # Outside of the lock: what waits may acquire or release at once.
        for waiter, permit in given:
            if permit is not None:
                waiter.set_result(permit)
            else:
                waiter.set_exception(
                    TimeoutError(
                        f"{stuck} calls of stage {stage!r} were given up and still hang: no "
                        "further one is made until some of them end"
                    )
                )

    def _take_back(self, permit: Permit, stage: str, *, hangs: bool) -> None:
        with self._lock:
            if permit in self._held[stage]:  # else it is of the process that forked this one
                self._held[stage].discard(permit)
                self._hanging[stage] += hangs
        self._hand_out(stage)

    def _hangs_no_longer(self, stage: str) -> None:
        with self._lock:
            self._hanging[stage] -= 1

    def __copy__(self) -> Limiter:
        return self

    def __deepcopy__(self, memo: Any) -> Limiter:
        return self

    def __reduce__(self) -> tuple[type[Limiter], tuple[int]]:
        return Limiter, (self.limit,)


_Waiting = tuple[Future["Permit"], asyncio.AbstractEventLoop | None]
_LIMITERS: WeakSet[Limiter] = WeakSet()


def _begin_anew() -> None:
    for limiter in list(_LIMITERS):
        limiter._begin()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_begin_anew)


class Permit:
    """What a call holds while it runs; releasing twice is harmless. Free without a limiter."""

    def __init__(self, limiter: Limiter | None = None, stage: str = "") -> None:
        self._limiter, self._stage = limiter, stage
        self._lock = threading.Lock()
        self._threads = 0
        self._released = False

    def release(self) -> None:
        """Gives the permit to the next; the call hangs while threads of it run."""
        with self._lock:
            if self._released:
                return
            self._released, hangs = True, self._threads > 0
        if self._limiter is not None:
            self._limiter._take_back(self, self._stage, hangs=hangs)

    def thread_begins(self) -> None:
        """Says that a thread is about to run for the call."""
        with self._lock:
            self._threads += 1

    def thread_ends(self) -> None:
        """Says that it has ended; the call hangs no longer when it was the last."""
        with self._lock:
            self._threads -= 1
            over = self._released and self._threads == 0
        if over and self._limiter is not None:
            self._limiter._hangs_no_longer(self._stage)


@dataclass(frozen=True, slots=True)
class Limits:
    """What limits the calls of a flow.

    A call that is given up leaves its permits to others. The time that it waits for a permit, or
    for a place of the model's own client, is not the call's.

    Attributes:
        timeout: Seconds for one call once it has begun. None: no limit.
        max_concurrency: Calls of one batch at a time.
        limiter: What all requests together may do. None: no limit.
    """

    timeout: float | None = 60.0
    max_concurrency: int = 8
    limiter: Limiter | None = None
