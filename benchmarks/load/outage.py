"""A store that hangs, dies and returns while many ask: what its users see, and what it leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from benchmarks.core.table import Table
from benchmarks.load.driver import drive
from benchmarks.load.server import served

APP = "benchmarks.load.faulty:app"
STATES = ("well", "hangs", "dead", "well")
WRONG = "another answer to the same question"
PATIENCE = 60.0


def measure_outage(
    questions: Sequence[str],
    *,
    users: int,
    seconds: float,
    told: Callable[[str], object] = lambda name: None,
    app: str = APP,
) -> dict[str, Any]:
    """One step for each state of the store, which share ``seconds``; the seconds from the store's
    return to the first answer; and the threads of the server before and after.

    Errors are those of ``drive``; the answers of all steps are held against each other.
    """
    answers: dict[str, Any] = {}
    steps, recovery = [], 0.0
    with served(app) as (url, pid), httpx.Client(base_url=url, timeout=PATIENCE) as client:
        client.get("/ask", params={"question": questions[0]})
        before = client.get("/health").json()["threads"]
        for number, state in enumerate(STATES):
            told(f"the store {state}" if state == "hangs" else f"the store is {state}")
            client.get(f"/store/{state}")
            if number == len(STATES) - 1:
                recovery = _seconds_to_an_answer(client, questions[0])
            share = seconds / len(STATES)
            coming = drive(
                url, "/ask", questions, users=users, seconds=share, pid=pid, answers=answers
            )
            steps.append({"store": state, **asyncio.run(coming)})
        after = _threads_at_rest(client, before)
    return {
        "steps": steps,
        "wrong_answers": sum(step["kinds_of_errors"].get(WRONG, 0) for step in steps),
        "recovery_seconds": round(recovery, 3),
        "threads_before": before,
        "threads_after": after,
    }


def holds(found: dict[str, Any]) -> bool:
    """No wrong answer, no thread left, recovery within ten seconds, and no error but meanwhile."""
    well = [step for step in found["steps"] if step["store"] == "well"]
    return (
        found["wrong_answers"] == 0
        and found["threads_after"] <= found["threads_before"]
        and found["recovery_seconds"] < 10.0
        and not any(step["errors"] for step in well)
    )


def outage_table(found: dict[str, Any]) -> Table:
    """One row for each state of the store."""
    shown = Table(
        f"A store that hangs, dies and returns: {found['wrong_answers']} wrong answers, "
        f"{found['recovery_seconds']:.1f} s to the first answer, threads "
        f"{found['threads_before']} before and {found['threads_after']} after",
        ("store", "requests", "answered", "p50 ms", "p95 ms", "threads"),
    )
    for step in found["steps"]:
        shown.add(
            step["store"],
            str(step["requests"]),
            str(step["requests"] - step["errors"]),
            f"{step['p50_ms']:.0f}",
            f"{step['p95_ms']:.0f}",
            str(step["threads"]),
        )
    return shown


def _seconds_to_an_answer(client: httpx.Client, question: str) -> float:
    started = time.perf_counter()
    while client.get("/ask", params={"question": question}).status_code != 200:
        if time.perf_counter() - started > PATIENCE:
            break
        time.sleep(0.05)
    return time.perf_counter() - started


def _threads_at_rest(client: httpx.Client, wanted: int) -> int:
    until = time.monotonic() + 10.0
    while True:
        threads: int = client.get("/health").json()["threads"]
        if threads <= wanted or time.monotonic() > until:
            return threads
        time.sleep(0.1)
