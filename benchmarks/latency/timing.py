"""Repeated timing, and what is said of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

WARM_UPS = 2


def alternately(
    functions: Sequence[Callable[[], Any]], *, seconds: float, least: int = 5
) -> list[list[float]]:
    """Milliseconds of each call of each function.

    They take turns, so that a busy moment of the machine falls on all of them, until ``seconds``
    have passed and each was called ``least`` times.
    """
    for function in functions:
        for _ in range(WARM_UPS):
            function()
    taken: list[list[float]] = [[] for _ in functions]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken[0]) < least:
        for function, times in zip(functions, taken, strict=True):
            started = time.perf_counter()
            function()
            times.append(1000 * (time.perf_counter() - started))
    return taken


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and the fastest of times, and how many there were.

    The fastest is the one that other work on the machine disturbed least.
    """
    p50, p95 = np.percentile(milliseconds, [50, 95])
    named = {"p50_ms": p50, "p95_ms": p95, "min_ms": min(milliseconds)}
    return {**{name: round(float(v), 4) for name, v in named.items()}, "n": len(milliseconds)}
