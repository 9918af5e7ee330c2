"""How much work is taken on: so many answers at a time, so many waiting, so many a minute."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from perspective_rag.addons import Cancelled, Work
from perspective_rag_serve.failures import Failure

_MOST_ADDRESSES = 10_000


class Admission:
    """Lets ``running`` answers be worked on at a time and ``waiting`` further ones wait, in order;
    one more is refused with 429 and Retry-After.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._most_running, self._most_waiting = running, waiting
        self._places = running
        self._queue: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._usual = 1.0  # seconds that an answer takes, a moving mean
        self.running = 0
        self.waiting = 0

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """A permit for one answer, once there is one; raises as ``check``.

        At the end the work inside is cancelled, and the permit is given back when the last of its
        threads has ended: what was given up goes on, for a moment, and counts.
        """
        self.check()
        self.waiting += 1
        try:
            await self._place()
        finally:
            self.waiting -= 1
        self.running += 1
        started = time.monotonic()
        work, loop = Work(), asyncio.get_running_loop()

        def ended() -> None:
            self.running -= 1
            self._release()

        def tell() -> None:
            with suppress(RuntimeError):  # the event loop has ended meanwhile
                loop.call_soon_threadsafe(ended)

        try:
            with work.is_current():
                yield
        except Cancelled:
            raise Failure(503, "ended", "the answer was given up") from None
        finally:
            work.cancel()
            if not work.when_ended(tell):
                ended()
            self._usual += 0.1 * (time.monotonic() - started - self._usual)

    def close(self) -> None:
        """Refuses whoever waits or comes: the server ends after the answers under way."""
        self._closed = True
        while self._queue:
            waiting = self._queue.popleft()
            if not waiting.done():
                waiting.set_exception(_ending())

    async def _place(self) -> None:
        if self._places:
            self._places -= 1
            return
        waiting = asyncio.get_running_loop().create_future()
        self._queue.append(waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._release()  # the place came at the moment at which nobody waited any more
            raise

    def _release(self) -> None:
        while self._queue:
            waiting = self._queue.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return
        self._places += 1

    def check(self) -> None:
        """Raises Failure where too many wait already, and where the server is about to end."""
        if self._closed:
            raise _ending()
        if not self._places and self.waiting >= self._most_waiting:
            said = "too many questions are being answered; ask again in a moment"
            raise Failure(429, "busy", said, retry_after=self.retry_after)

    @property
    def retry_after(self) -> int:
        """Seconds after which the queue will be about half as long."""
        ahead = (self.waiting / 2 + 1) * self._usual / self._most_running
        return max(1, min(60, round(ahead)))


def _ending() -> Failure:
    return Failure(
        503, "ending", "the server is about to end; ask again in a moment", retry_after=5
    )


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
