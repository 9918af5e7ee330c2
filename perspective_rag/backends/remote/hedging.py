"""Hedged requests: a second copy of a request that takes unusually long; the first reply counts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

import numpy as np

T = TypeVar("T")

_KNOWN_FROM = 20
_REMEMBERED = 100


class Latencies:
    """How long the last replies took, in seconds."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)

    def add(self, seconds: float) -> None:
        """One more reply."""
        self._seconds.append(seconds)

    def delay(self, hedge_after: float | Literal["p95"] | None) -> float | None:
        """The seconds before a second copy is sent; None where none is."""
        if hedge_after != "p95":
            return hedge_after
        if len(self._seconds) < _KNOWN_FROM:
            return None
        return float(np.percentile(list(self._seconds), 95))


async def hedged(
    send: Callable[[], Awaitable[T]], delay: float | None, may_send: Callable[[], bool]
) -> T:
    """What ``send()`` gives, asked a second time where the first takes longer than ``delay``.

    The first answer counts and the other request is cancelled; where both fail, the error is that
    of the last. ``may_send`` says whether there is room for a second one. (Dean and Barroso, The
    Tail at Scale, CACM 56(2), 2013.)
    """
    if delay is None:
        return await send()
    tasks = {asyncio.ensure_future(send())}
    try:
        done, waiting = await asyncio.wait(tasks, timeout=delay)
        if waiting and may_send():
            waiting = waiting | {asyncio.ensure_future(send())}
            tasks |= waiting
        while True:
            for task in done:
                if task.exception() is None or not waiting:
                    return task.result()
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
