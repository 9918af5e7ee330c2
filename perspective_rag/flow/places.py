"""Places of a client that makes a few calls at a time; waiting for one is not the call's time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from perspective_rag.flow.attempt import waiting


class Places:
    """At most ``limit`` calls at a time from threads, in each process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._process, self._free = os.getpid(), threading.BoundedSemaphore(limit)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Holds a place inside."""
        if self._process != os.getpid():  # the threads that held them are not in this process
            self._process, self._free = os.getpid(), threading.BoundedSemaphore(self._limit)
        free = self._free
        with waiting():
            free.acquire()
        try:
            yield
        finally:
            free.release()


class AsyncPlaces:
    """At most ``limit`` calls at a time on one event loop."""

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(limit)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Holds a place inside."""
        with waiting():
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()
