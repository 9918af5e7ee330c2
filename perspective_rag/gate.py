"""A limit on calls that holds for many requests at once, whatever threads and event loops they run
in.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict, deque
from concurrent.futures import Future
from typing import Any

from perspective_rag.checks import count


class Gate:
    """Lets at most ``limit`` calls of each stage run at a time; the others wait in their order.

    A stage is a kind of call: "extract", "embed", "search", "judge" and so on. Every pipeline and
    retriever has a gate of its own; give one gate to several that share a model or store. (Not to
    one and to another that it searches: the inner would wait for places that the outer holds.) It
    belongs to no event loop. A pickled gate is a new one of the same limit. Raises ConfigError for
    a limit below 1.
    """

    def __init__(self, limit: int = 32) -> None:
        self.limit = count("limit", limit)
        self._lock = threading.Lock()
        self._taken: defaultdict[str, int] = defaultdict(int)
        self._waiting: defaultdict[str, deque[Future[None]]] = defaultdict(deque)

    def enter(self, stage: str) -> Place:
        """A place for one call, once there is one; blocks the thread until then."""
        waiter = self._asked(stage)
        if waiter is not None:
            try:
                waiter.result()
            except BaseException:
                self._forget(stage, waiter)
                raise
        return Place(self, stage)

    async def aenter(self, stage: str) -> Place:
        """The same, without blocking the event loop."""
        waiter = self._asked(stage)
        if waiter is not None:
            try:
                await asyncio.wrap_future(waiter)
            except BaseException:
                self._forget(stage, waiter)
                raise
        return Place(self, stage)

    def running(self, stage: str) -> int:
        """Calls of a stage that hold a place now."""
        with self._lock:
            return self._taken[stage]

    def _asked(self, stage: str) -> Future[None] | None:
        """None when a place was free, else what will be done when one is handed over."""
        with self._lock:
            if self._taken[stage] < self.limit:
                self._taken[stage] += 1
                return None
            waiter: Future[None] = Future()
            self._waiting[stage].append(waiter)
            return waiter

    def _forget(self, stage: str, waiter: Future[None]) -> None:
        """Gives up waiting; a place that was handed over meanwhile goes to the next."""
        if not waiter.cancel():
            waiter.add_done_callback(lambda _: self._release(stage))

    def _release(self, stage: str) -> None:
        with self._lock:
            queue = self._waiting[stage]
            while queue:
                waiter = queue.popleft()
                if waiter.set_running_or_notify_cancel():
                    break
            else:
                self._taken[stage] -= 1
                return
        # Outside of the lock: what waits may enter or leave at once.
        waiter.set_result(None)

    def __copy__(self) -> Gate:
        return self

    def __deepcopy__(self, memo: Any) -> Gate:
        return self

    def __reduce__(self) -> tuple[type[Gate], tuple[int]]:
        return Gate, (self.limit,)


class Place:
    """A place that a call holds; leaving it twice leaves it once. Without a gate it is free."""

    def __init__(self, gate: Gate | None = None, stage: str = "") -> None:
        self._gate = gate
        self._stage = stage
        self._lock = threading.Lock()

    def leave(self) -> None:
        """Gives the place to the next."""
        with self._lock:
            gate, self._gate = self._gate, None
        if gate is not None:
            gate._release(self._stage)
