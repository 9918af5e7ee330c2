"""HTTP with a time limit for the whole exchange."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from concurrent.futures import CancelledError
from concurrent.futures import Future as ThreadFuture
from typing import Any, TypeVar

import httpx

from perspective_rag.flow.driver import undone_when_given_up
from perspective_rag.local.loop_thread import LoopThread

T = TypeVar("T")


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
