"""``perspective-rag serve``, asked by many as its page asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from benchmarks.load.driver import drive
from benchmarks.load.server import running

PATH = "/api/ask"
COMMAND = ("perspective_rag", "serve", "--example", "--per-minute", "0")
CUT_OFF = 599
"""The status of a stream that ended before its last event."""


def measure_serve(
    users: Sequence[int],
    questions: Sequence[str],
    *,
    seconds: float,
    told: Callable[[str], object] = lambda name: None,
) -> list[dict[str, Any]]:
    """What each number of users experienced; ``seconds`` are for all of them.

    Raises PerspectiveRAGError when the server does not start.
    """
    steps = []
    told("starting the server")
    with running(COMMAND, "/readyz") as (url, pid):
        for count in users:
            told(f"{count} users on {PATH}")
            share = seconds / len(users)
            coming = drive(url, PATH, questions, users=count, seconds=share, pid=pid, by=ask)
            steps.append(asyncio.run(coming))
    return steps


async def ask(client: httpx.AsyncClient, path: str, question: str) -> tuple[int, Any]:
    """By POST, reading the events to the last; all but times and work are to be the same."""
    headers = {"Accept": "text/event-stream"}
    response = await client.post(path, json={"question": question}, headers=headers)
    if response.status_code != 200:
        return response.status_code, None
    lines = [line.removeprefix("data: ") for line in response.text.splitlines()]
    found = [json.loads(line) for line in lines if line.startswith("{")]
    if not found or "searches" not in found[-1]:
        return CUT_OFF, None
    return 200, [*found[:-1], found[-1]["degradations"]]
