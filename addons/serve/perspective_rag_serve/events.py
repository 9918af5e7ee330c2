"""Server-sent events: what a coroutine tells, as the lines of a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from perspective_rag_serve.asking import Emit
from perspective_rag_serve.failures import failure_of

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
ALIVE_EVERY = 10.0
"""Seconds after which a comment is sent where nothing else was, so that no proxy hangs up."""


def as_json(data: Any) -> str:
    """Compact JSON on one line; raises ValueError for what is no number."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


async def events(work: Callable[[Emit], Awaitable[Any]]) -> AsyncIterator[tuple[str, Any] | None]:
    """What ``work`` emits, in order; None where nothing came for a while; "error" as the last
    where it fails. When nobody listens any more, the work is cancelled.
    """
    queue: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()

    async def run() -> None:
        try:
            await work(lambda name, data: queue.put_nowait((name, data)))
        except Exception as error:
            failure = failure_of(error)
            queue.put_nowait(("error", {"message": failure.message, "kind": failure.kind}))
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(run())
    try:
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), ALIVE_EVERY)
            except asyncio.TimeoutError:
                yield None
                continue
            if event is None:
                return
            yield event
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def named_events(work: Callable[[Emit], Awaitable[Any]]) -> AsyncIterator[str]:
    """The text of a stream whose events have a name and one JSON object each."""
    async for event in events(work):
        yield ": still working\n\n" if event is None else _named(*event)


def _named(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {as_json(data)}\n\n"
