"""A call under way: its clock, its permit, and what is done when nobody waits for it any more."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar

from perspective_rag.flow.limiter import Limiter, Permit

_CURRENT: ContextVar[Attempt | None] = ContextVar("perspective_rag_attempt", default=None)


class Attempt:
    """One call of a request, from when it holds its permit."""

    def __init__(self, permit: Permit) -> None:
        self.permit = permit
        self._lock = threading.Lock()
        self._counted = 0.0
        self._since: float | None = time.monotonic()  # None while the clock stands still
        self._given_up = False
        self._to_do: list[Callable[[], object]] = []

    @property
    def seconds(self) -> float:
        """How long the call has run, without the time it waited for a place of its own."""
        with self._lock:
            going = 0.0 if self._since is None else time.monotonic() - self._since
            return self._counted + going

    @property
    def stands_still(self) -> bool:
        """True while the call waits for a place."""
        return self._since is None

    @contextmanager
    def is_current(self) -> Iterator[None]:
        """What is called inside belongs to this call."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def give_up(self) -> None:
        """Ends what the call has open, and gives its permit to the next."""
        with self._lock:
            self._given_up = True
            to_do, self._to_do = self._to_do, []
        for each in to_do:
            with suppress(Exception):
                each()
        self.permit.release()

    def stand_still(self) -> None:
        """Stops the clock."""
        with self._lock:
            if self._since is not None:
                self._counted += time.monotonic() - self._since
                self._since = None

    def go_on(self) -> None:
        """Starts it again."""
        with self._lock:
            if self._since is None:
                self._since = time.monotonic()

    def add(self, undo: Callable[[], object]) -> None:
        """Has ``undo`` called when the call is given up: at once where it was already."""
        with self._lock:
            late = self._given_up
            if not late:
                self._to_do.append(undo)
        if late:
            undo()

    def drop(self, undo: Callable[[], object]) -> None:
        """Forgets it."""
        with self._lock, suppress(ValueError):
            self._to_do.remove(undo)


def current_permit() -> Permit:
    """The permit of the call that this code belongs to; one of nobody's where there is none."""
    attempt = _CURRENT.get()
    return Permit() if attempt is None else attempt.permit


@contextmanager
def undone_when_given_up(undo: Callable[[], object]) -> Iterator[None]:
    """Has ``undo`` called, from another thread, when the call that runs inside is given up."""
    attempt = _CURRENT.get()
    if attempt is None:
        yield
        return
    attempt.add(undo)
    try:
        yield
    finally:
        attempt.drop(undo)


@contextmanager
def waiting() -> Iterator[None]:
    """The time inside is not the call's own: it waits for a place."""
    attempt = _CURRENT.get()
    if attempt is None:
        yield
        return
    attempt.stand_still()
    try:
        yield
    finally:
        attempt.go_on()


@contextmanager
def held(limiter: Limiter, stage: str) -> Iterator[None]:
    """Holds a permit of a client's own limiter inside; waiting for it is not the call's time."""
    with waiting():
        permit = limiter.acquire(stage)
    try:
        yield
    finally:
        permit.release()


@asynccontextmanager
async def aheld(limiter: Limiter, stage: str) -> AsyncIterator[None]:
    """The same, without blocking the event loop."""
    with waiting():
        permit = await limiter.aacquire(stage)
    try:
        yield
    finally:
        permit.release()
