"""HTTP with a time limit, on a loop of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from typing import Any, TypeVar

import httpx

from perspective_rag.flow.driver import undone_when_given_up

T = TypeVar("T")


class LoopThread:
    """Runs coroutines until ``end``, then awaits ``closing()`` and stops.

    The thread does not keep the process alive. A forked process has none: make a new one there.
    """

    def __init__(self, closing: Callable[[], Awaitable[None]]) -> None:
        self._process = os.getpid()
        self._closing_down = closing
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


_PATIENCE = 5.0
# What describes how the bytes came; the body is read and decoded here.
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class TimedAsyncClient(httpx.AsyncClient):
    """An ``httpx.AsyncClient`` that gives each request, from connecting to the last byte of the
    reply, ``seconds``; raises ``httpx.ReadTimeout``.
    """

    def __init__(self, seconds: float, **options: Any) -> None:
        super().__init__(timeout=seconds, follow_redirects=True, **options)
        self._seconds = seconds

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """The reply, read to its end."""
        options["stream"] = False
        try:
            return await asyncio.wait_for(super().send(request, **options), self._seconds)
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise _too_late(request, self._seconds) from error


class TimedClient(httpx.Client):
    """The same for threads.

    What blocks in a thread cannot be ended from outside, so requests are made on an event loop of
    their own: when the time is over, or the call that waits is given up, the connection is closed.
    Threads can share a client. A forked process gets connections of its own.
    """

    def __init__(self, seconds: float) -> None:
        # It connects to nothing itself.
        super().__init__(timeout=seconds, transport=httpx.BaseTransport())
        self._seconds = seconds
        self._starting = threading.Lock()
        self._behind: _Behind | None = None
        self._process = os.getpid()

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """The reply, read to its end."""
        coming = self._running().ask(request, options)
        try:
            with undone_when_given_up(coming.cancel):
                return _whole(coming.result(), request)
        except CancelledError as error:
            raise _too_late(request, self._seconds) from error
        except BaseException:
            coming.cancel()
            raise

    def close(self) -> None:
        """Closes the connections and ends the thread; a later request opens new ones."""
        with self._starting:
            behind, self._behind = self._behind, None
        if behind is not None and self._process == os.getpid():
            behind.end()
            behind.thread.join(_PATIENCE)

    def _running(self) -> _Behind:
        if self._process != os.getpid():  # its thread is not in this process, nor may its sockets
            self._process, self._starting, self._behind = os.getpid(), threading.Lock(), None
        with self._starting:
            if self._behind is None:
                self._behind = _Behind(self._seconds)
                weakref.finalize(self, self._behind.end).atexit = False
            return self._behind


class _Behind(LoopThread):
    """The event loop that makes the requests of a ``TimedClient``, in a thread of its own."""

    def __init__(self, seconds: float) -> None:
        self._client = TimedAsyncClient(seconds)
        super().__init__(self._client.aclose)

    def ask(self, request: httpx.Request, options: dict[str, Any]) -> ThreadFuture[httpx.Response]:
        return self.start(self._client.send(request, **options))


def _whole(reply: httpx.Response, request: httpx.Request) -> httpx.Response:
    """A reply that was read by another kind of client."""
    headers = [(k, v) for k, v in reply.headers.multi_items() if k.lower() not in _OF_THE_WIRE]
    return httpx.Response(
        reply.status_code, headers=headers, content=reply.content, request=request
    )


def _too_late(request: httpx.Request, seconds: float) -> httpx.ReadTimeout:
    return httpx.ReadTimeout(f"no whole reply within {seconds:g} s", request=request)
