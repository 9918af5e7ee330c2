"""How much work is taken on: so many answers at a time, so many waiting, so many a minute."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from perspective_rag.serve.failures import Failure

_MOST_ADDRESSES = 10_000


class Admission:
    """Lets ``running`` answers be worked on at a time and ``waiting`` further ones wait, in order;
    one more is refused with 429 and Retry-After.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._most_running, self._most_waiting = running, waiting
        self._permits = asyncio.Semaphore(running)
        self._usual = 1.0  # seconds that an answer takes, a moving mean
        self.running = 0
        self.waiting = 0

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """A permit for one answer, once there is one; raises as ``check``."""
        self.check()
        self.waiting += 1
        try:
            await self._permits.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        started = time.monotonic()
        try:
            yield
        finally:
            self.running -= 1
            self._permits.release()
            self._usual += 0.1 * (time.monotonic() - started - self._usual)

    def check(self) -> None:
        """Raises Failure where too many wait already."""
        if self._permits.locked() and self.waiting >= self._most_waiting:
            said = "too many questions are being answered; ask again in a moment"
            raise Failure(429, "busy", said, retry_after=self.retry_after)

    @property
    def retry_after(self) -> int:
        """Seconds after which the queue will be about half as long."""
        ahead = (self.waiting / 2 + 1) * self._usual / self._most_running
        return max(1, min(60, round(ahead)))


class Rate:
    """A bucket for each address: ``per_minute`` requests a minute, a sixth of them at once.

    0 lets all pass. At most 10,000 addresses are kept, those that asked last.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = max(1.0, per_minute / 6)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """0 where a request of an address may pass now, else the seconds until one may."""
        if self._per_second <= 0:
            return 0
        now = self._clock()
        left, since = self._buckets.pop(address, (self._most, now))
        left = min(self._most, left + (now - since) * self._per_second)
        passes = left >= 1.0
        self._buckets[address] = (left - 1.0 if passes else left), now
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0 if passes else max(1, math.ceil((1.0 - left) / self._per_second))
