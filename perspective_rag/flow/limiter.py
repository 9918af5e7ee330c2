"""Permits, deadlines, and work that nobody waits for any more."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import ref

from perspective_rag.validation import count

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
    work = _CURRENT.get()
    if work is not None:
        work.check()


# How often who waits looks whether permits are held by event loops that will never go on.
LOOK_EVERY = 1.0

MOST_HANGING = 32
"""Calls of a stage that may hang at a time, where the limit is not higher."""

COLLISIONS = 2
"""Searches of a store in a row that collided before it is searched in turn."""


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
        self._collisions: defaultdict[str, int] = defaultdict(int)
        self._state = _State(self.limit, self.limit_of)

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
            while True:
                try:
                    return waiter.result(timeout=LOOK_EVERY)
                except NotYet:
                    if waiter.done():  # the error is the limiter's own: too many calls hang
                        raise
                    self.reclaim(stage)
        except BaseException:
            self.forget(waiter)
            raise

    async def aacquire(self, stage: str) -> Permit:
        """The same as ``acquire``, without blocking the event loop."""
        waiter = self.ask(stage, asyncio.get_running_loop())
        if waiter.done():
            return waiter.result()
        try:
            granted = asyncio.wrap_future(waiter)
            while not granted.done():
                await asyncio.wait([granted], timeout=LOOK_EVERY)
                if not granted.done():
                    self.reclaim(stage)
            return granted.result()
        except BaseException:
            self.forget(waiter)
            raise

    def ask(self, stage: str, loop: asyncio.AbstractEventLoop | None = None) -> Future[Permit]:
        """Asks for a permit without waiting.

        Args:
            stage: The kind of call.
            loop: The event loop that the call is made on. None: it is made in a thread.

        Returns:
            A future of the permit: done at once where one is free. While too many calls of the
            stage hang its error is a TimeoutError.
        """
        return self._current().ask(stage, loop)

    @staticmethod
    def forget(waiter: Future[Permit]) -> None:
        """Gives up waiting; a permit that was handed over meanwhile goes to the next.

        Args:
            waiter: What ``ask`` returned.
        """
        if not waiter.cancel() and waiter.exception() is None:
            waiter.result().release()

    def reclaim(self, stage: str) -> None:
        """Takes back the permits of calls on event loops that will never go on.

        Args:
            stage: The kind of call.
        """
        self._current().reclaim(stage)

    def running(self, stage: str) -> int:
        """How many calls hold a permit now.

        Args:
            stage: The kind of call.

        Returns:
            Their number.
        """
        return len(self._current().held[stage])

    def collided(self, stage: str) -> None:
        """Notes that calls failed side by side and worked one after the other.

        After two of these in a row a single call of the stage runs at a time; one may be a server
        that was briefly away.

        Args:
            stage: The kind of call.
        """
        self._collisions[stage] += 1

    def worked_side_by_side(self, stage: str) -> None:
        """The same as ``collided``, of calls that worked side by side."""
        if self._collisions[stage] < COLLISIONS:
            self._collisions[stage] = 0

    def limit_of(self, stage: str) -> int:
        """How many calls may run at a time.

        Args:
            stage: The kind of call.

        Returns:
            ``limit``, or 1 where calls collided.
        """
        return 1 if self._collisions[stage] >= COLLISIONS else self.limit

    def hanging(self, stage: str) -> int:
        """The same as ``running``, of calls that were given up while their threads still run."""
        return self._current().hanging[stage]

    def _current(self) -> _State:
        # The threads and event loops that held permits are not in a forked process.
        if self._state.process != os.getpid():
            self._state = _State(self.limit, self.limit_of)
        return self._state

    def __copy__(self) -> Limiter:
        return self

    def __deepcopy__(self, memo: Any) -> Limiter:
        return self

    def __reduce__(self) -> tuple[type[Limiter], tuple[int]]:
        return Limiter, (self.limit,)


class Permit:
    """What a call holds while it runs; releasing twice is harmless. Free without a limiter."""

    def __init__(
        self,
        state: _State | None = None,
        stage: str = "",
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._state, self._stage = state, stage
        self._loop = None if loop is None else ref(loop)
        self._lock = threading.Lock()
        self._threads = 0
        self._released = False

    def release(self) -> None:
        """Gives the permit to the next; the call hangs while threads of it run."""
        with self._lock:
            if self._released:
                return
            self._released, hangs = True, self._threads > 0
        if self._state is not None:
            self._state.release(self, self._stage, hangs=hangs)

    def thread_begins(self) -> None:
        """Says that a thread is about to run for the call."""
        with self._lock:
            self._threads += 1

    def thread_ends(self) -> None:
        """Says that it has ended; the call hangs no longer when it was the last."""
        with self._lock:
            self._threads -= 1
            over = self._released and self._threads == 0
        if over and self._state is not None:
            self._state.hangs_no_longer(self._stage)

    @property
    def is_orphan(self) -> bool:
        """True when the event loop that the call ran in will not end it: it was closed or left."""
        if self._loop is None:
            return False
        loop = self._loop()
        return loop is None or loop.is_closed() or not loop.is_running()


class _State:
    """The permits of one process."""

    def __init__(self, limit: int, limit_of: Callable[[str], int]) -> None:
        self.process = os.getpid()
        self.held: defaultdict[str, set[Permit]] = defaultdict(set)
        self.hanging: defaultdict[str, int] = defaultdict(int)
        self._limit_of = limit_of
        self._most_hanging = max(limit, MOST_HANGING)
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, deque[tuple[Future[Permit], Permit]]] = defaultdict(deque)

    def ask(self, stage: str, loop: asyncio.AbstractEventLoop | None) -> Future[Permit]:
        """What will be a permit: at once where one is free."""
        waiter: Future[Permit] = Future()
        with self._lock:
            self._waiting[stage].append((waiter, Permit(self, stage, loop)))
        self._hand_out(stage)
        if not waiter.done():
            self.reclaim(stage)
        return waiter

    def release(self, permit: Permit, stage: str, *, hangs: bool) -> None:
        """Takes a permit back."""
        with self._lock:
            self.held[stage].discard(permit)
            self.hanging[stage] += hangs
        self._hand_out(stage)

    def hangs_no_longer(self, stage: str) -> None:
        """Counts the end of a call that hung."""
        with self._lock:
            self.hanging[stage] -= 1

    def reclaim(self, stage: str) -> None:
        """Takes back the permits of calls that nobody will end."""
        for permit in [each for each in list(self.held[stage]) if each.is_orphan]:
            permit.release()

    def _hand_out(self, stage: str) -> None:
        """Gives free permits to those who wait longest; an error to all where too many hang."""
        given: list[tuple[Future[Permit], Permit | None]] = []
        with self._lock:
            queue, held = self._waiting[stage], self.held[stage]
            stuck = self.hanging[stage]
            most = self._limit_of(stage)
            while queue and (len(held) < most or stuck >= self._most_hanging):
                waiter, permit = queue.popleft()
                if permit.is_orphan or not waiter.set_running_or_notify_cancel():
                    continue
                if stuck >= self._most_hanging:
                    given.append((waiter, None))
                else:
                    held.add(permit)
                    given.append((waiter, permit))
        # Outside of the lock: what waits may acquire or release at once.
        for waiter, granted in given:
            if granted is not None:
                waiter.set_result(granted)
            else:
                waiter.set_exception(
                    TimeoutError(
                        f"{stuck} calls of stage {stage!r} were given up and still hang: no "
                        "further one is made until some of them end"
                    )
                )


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
