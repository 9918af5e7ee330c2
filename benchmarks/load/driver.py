"""Closed-loop load: each of so many users asks again as soon as it was answered."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from typing import Any

import httpx
import psutil

from benchmarks.latency.timing import percentiles

MEGABYTE = 1024 * 1024
PATIENCE = 120.0

Ask = Callable[[httpx.AsyncClient, str, str], Awaitable[tuple[int, Any]]]
"""Asks a path of a server a question; returns the status and what is to be the same each time."""


async def get(client: httpx.AsyncClient, path: str, question: str) -> tuple[int, Any]:
    """By GET, the question in the address; the whole JSON is to be the same."""
    response = await client.get(path, params={"question": question})
    return response.status_code, response.json() if response.status_code == 200 else None


async def drive(
    url: str,
    path: str,
    questions: Sequence[str],
    *,
    users: int,
    seconds: float,
    pid: int,
    answers: dict[str, Any] | None = None,
    by: Ask = get,
) -> dict[str, Any]:
    """What ``users`` at once experienced within ``seconds``: requests, their times, errors, memory.

    Everyone asks at least once, and none starts a question after ``seconds``; those under way are
    waited for and counted. An error is a failed connection, a status other than 200, or an answer
    that differs from the one that the same question got before, in ``answers`` too where they are
    given. ``pid`` is the server's process, ``by`` how a question is asked.
    """
    times: list[float] = []
    errors: Counter[str] = Counter()
    answers = {} if answers is None else answers
    process, line = psutil.Process(pid), cycle(questions)
    most = process.memory_info().rss
    limits = httpx.Limits(max_connections=users, max_keepalive_connections=users)
    started = time.perf_counter()

    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as client:

        async def user() -> None:
            nonlocal most
            while True:
                await ask(next(line))
                most = max(most, process.memory_info().rss)
                if time.perf_counter() - started >= seconds:
                    return

        async def ask(question: str) -> None:
            asked = time.perf_counter()
            try:
                status, answer = await by(client, path, question)
            except httpx.HTTPError as error:
                errors[type(error).__name__] += 1
                await asyncio.sleep(0.1)
                return
            times.append(1000 * (time.perf_counter() - asked))
            if status != 200:
                errors[f"status {status}"] += 1
            elif answers.setdefault(question, answer) != answer:
                errors["another answer to the same question"] += 1

        await asyncio.gather(*(user() for _ in range(users)))
    elapsed = time.perf_counter() - started
    return {
        "path": path,
        "users": users,
        "requests": len(times),
        "seconds": round(elapsed, 3),
        "per_second": round(len(times) / elapsed, 3),
        **(percentiles(times) if times else {"p50_ms": 0.0, "p95_ms": 0.0, "min_ms": 0.0, "n": 0}),
        "errors": sum(errors.values()),
        "kinds_of_errors": dict(errors),
        "memory_mb": round(process.memory_info().rss / MEGABYTE, 1),
        "most_memory_mb": round(most / MEGABYTE, 1),
        "threads": process.num_threads(),
    }
