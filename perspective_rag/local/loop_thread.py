"""An event loop in a thread of its own: its requests serve threads and other event loops."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines until ``end``, then awaits ``closing()`` and stops.

    The thread does not keep the process alive. A forked process has none: make a new one there.
    """

    def __init__(self, closing: Callable[[], Awaitable[None]]) -> None:
        self._process = os.getpid()
        self._closing_down = closing
        self.ended = False
        self._loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True)
        self.thread.name = "perspective-rag-http"
        self.thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> ThreadFuture[T]:
        """What the coroutine will give; cancelling it cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def is_current(self) -> bool:
        """Whether this code runs on it."""
        return asyncio.get_running_loop() is self._loop

    def end(self) -> None:
        """Cancels what runs, closes, and stops the event loop, without waiting for it."""
        self.ended = True
        if self._process == os.getpid() and not self._loop.is_closed():
            with suppress(RuntimeError):  # closed meanwhile
                self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        async def closed() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._closing_down()
            self._loop.stop()

        self._closing = self._loop.create_task(closed())


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
