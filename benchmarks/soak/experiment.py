"""Questions without a pause, a database that dies in the middle, and what the askers saw."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from benchmarks.latency.timing import percentiles
from benchmarks.load.server import running
from benchmarks.soak.retriever import PORT, fill
from benchmarks.soak.store import ChromaServer, chroma

MEGABYTE = 1024 * 1024
PATIENCE = 120.0
RECOVERED_WITHIN = 10.0
FLAT_WITHIN = 0.1
"""The share by which memory may grow from the first third to the end."""

FAILED = ("search:", "vectors:", "guard:")
"""How the server begins what it says of a store that failed it."""

PAUSE = 0.05
"""Seconds that a user who was refused waits before asking again."""

COMMAND = (
    *("perspective_rag", "serve", "--retriever", "benchmarks.soak.retriever:make"),
    *("--per-minute", "0"),
)


@dataclass(slots=True)
class _Seen:
    """What came back; an outcome is (seconds since the start, kind, milliseconds)."""

    outcomes: list[tuple[float, str, float]] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    messages: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def measure_soak(
    questions: Sequence[str],
    *,
    users: int,
    seconds: float,
    away: float,
    told: Callable[[str], object] = lambda said: None,
) -> dict[str, Any]:
    """What ``users`` saw in ``seconds``; the database is killed half-way, for ``away`` seconds.

    An answer is "right" where it is the first answer to the same question, "partial" where it is
    another and the server says that some of its searches failed, "refused" where it says by 503 and
    a message that it cannot answer. Anything else is "wrong": another answer, a connection that
    breaks, or an error that says nothing.
    """
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as folder,
        chroma(Path(folder) / "data") as store,
    ):
        told("filling the database")
        passages = fill(store.port)
        os.environ[PORT] = str(store.port)
        told("starting the server")
        with running(COMMAND, "/readyz") as (url, pid):
            found = asyncio.run(_soak(url, pid, store, questions, users, seconds, away, told))
    return {"passages": passages, **found}


async def _soak(
    url: str,
    pid: int,
    store: ChromaServer,
    questions: Sequence[str],
    users: int,
    seconds: float,
    away: float,
    told: Callable[[str], object],
) -> dict[str, Any]:
    seen, process, numbers = _Seen(), psutil.Process(pid), count()
    limits = httpx.Limits(max_connections=users + 1)
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as client:
        told("first answers")
        for question in questions:
            await _ask(client, question, seen, 0.0)
        seen.outcomes.clear()
        began = time.perf_counter()

        async def user() -> None:
            while time.perf_counter() - began < seconds:
                question = questions[next(numbers) % len(questions)]
                await _ask(client, question, seen, began)

        async def watch() -> list[tuple[float, float, int]]:
            samples = []
            while time.perf_counter() - began < seconds:
                rss = process.memory_info().rss / MEGABYTE
                now = time.perf_counter() - began
                samples.append((round(now, 1), round(rss, 1), process.num_threads()))
                told(f"{now:.0f} s: {len(seen.outcomes)} answers, {rss:.0f} MB")
                await asyncio.sleep(min(10.0, seconds / 30))
            return samples

        async def outage() -> tuple[float, float]:
            await asyncio.sleep(max(0.0, seconds / 2 - away / 2))
            killed = time.perf_counter() - began
            await asyncio.to_thread(store.kill)
            await asyncio.sleep(away)
            await asyncio.to_thread(store.start)
            return killed, time.perf_counter() - began

        _, samples, (killed, back) = await asyncio.gather(
            asyncio.gather(*(user() for _ in range(users))), watch(), outage()
        )
    return _summary(seen, samples, killed, back)


async def _ask(client: httpx.AsyncClient, question: str, seen: _Seen, began: float) -> None:
    started = time.perf_counter()
    kind, said = "wrong", ""
    try:
        response = await client.post("/api/ask", json={"question": question})
        kind, said = _kind(response, seen.answers, question)
    except httpx.HTTPError as error:
        said = type(error).__name__
    if said:
        seen.messages[said] += 1
    if kind == "wrong":
        seen.wrong.append(f"{question}: {said}")
    ended = time.perf_counter()
    seen.outcomes.append((ended - began, kind, 1000 * (ended - started)))
    if kind == "refused":
        await asyncio.sleep(PAUSE)


def _kind(response: httpx.Response, answers: dict[str, Any], question: str) -> tuple[str, str]:
    """What a reply is worth, and what it says of a failure."""
    if response.status_code != 200:
        try:
            message = str(response.json()["error"]["message"])
        except (ValueError, KeyError, TypeError):
            return "wrong", f"status {response.status_code} without a message"
        said = f"status {response.status_code}: {message}"
        return ("refused" if response.status_code == 503 else "wrong"), said
    values = response.json()
    answer = {name: values[name] for name in ("view", "answer")}
    answer["degradations"] = values["done"]["degradations"]
    if answers.setdefault(question, answer) == answer:
        return "right", ""
    failed = [each for each in answer["degradations"] if str(each).startswith(FAILED)]
    if failed:
        return "partial", f"status 200, but {failed[0]:.100}"
    return "wrong", "another answer to the same question"


def _summary(
    seen: _Seen, samples: Sequence[tuple[float, float, int]], killed: float, back: float
) -> dict[str, Any]:
    """Phases before, during and after the outage; recovery and memory."""
    phases = []
    for name, start, end in (
        ("well", 0.0, killed),
        ("away", killed, back),
        ("back", back, float("inf")),
    ):
        there = [each for each in seen.outcomes if start <= each[0] < end]
        times = [taken for _, _, taken in there]
        none = {"p50_ms": 0.0, "p95_ms": 0.0, "min_ms": 0.0, "n": 0}
        phases.append(
            {
                "phase": name,
                "seconds": round(min(end, samples[-1][0]) - start, 1),
                **{
                    kind: sum(each[1] == kind for each in there)
                    for kind in ("right", "partial", "refused", "wrong")
                },
                **(percentiles(times) if times else none),
            }
        )
    after = [at for at, kind, _ in seen.outcomes if at >= back and kind == "right"]
    memory = np.array([rss for _, rss, _ in samples])
    third = max(1, len(memory) // 3)
    early, late = float(np.median(memory[1 : third + 1])), float(np.median(memory[-third:]))
    return {
        "phases": phases,
        "wrong": seen.wrong[:20],
        "wrong_answers": sum(kind == "wrong" for _, kind, _ in seen.outcomes),
        "messages": dict(seen.messages.most_common(10)),
        "recovery_seconds": round(min(after) - back, 3) if after else None,
        "memory_mb": {"early": round(early, 1), "late": round(late, 1)},
        "samples": [list(each) for each in samples],
    }


def holds(found: dict[str, Any]) -> bool:
    """No wrong answer, right answers again within ten seconds, memory flat, and no failure but
    while the database was away or within these ten seconds.
    """
    well = found["phases"][0]
    recovery = found["recovery_seconds"]
    early, late = found["memory_mb"]["early"], found["memory_mb"]["late"]
    return (
        found["wrong_answers"] == 0
        and recovery is not None
        and recovery < RECOVERED_WITHIN
        and not (well["refused"] or well["partial"])
        and late <= (1.0 + FLAT_WITHIN) * early
    )
