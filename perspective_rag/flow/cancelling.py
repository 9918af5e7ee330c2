"""Work that nobody waits for any more: it looks for its own end between batches, and ends there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
            tell = self._when_ended if not self._threads else None
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
