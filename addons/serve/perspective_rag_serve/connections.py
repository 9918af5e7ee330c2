"""Connections: how many there may be, how long one may wait, how large its headers are; all of it
holds before a request is seen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from perspective_rag_serve.doorkeeper import OPEN
from perspective_rag_serve.failures import Failure, response_of

LARGEST_HEAD = 64 * 1024
"""Bytes of a request's line and headers."""

HEAD_SECONDS = 10.0
"""In which the line and headers of a request must have come; an idle connection ends as well."""

READING_SECONDS = 30.0
"""That a client may take before it reads on in a reply."""

RESERVE = 50
"""Connections that are kept for health checks, above those for everything else."""

_PIECE = 16 * 1024  # read at a time, so that h11 sees what is too large before it holds it
_LINGER = 2.0  # seconds for a client to read why its body was refused


class Connections:
    """The connections of a server, and their limits.

    ``most``: connections at a time; ``per_address``: those of one address (0: any number). Where
    one too many is opened, the one that has waited the longest without a request is closed, the
    same address's first; where every one has a request, the new one is. Beyond ``most`` requests
    at a time only health checks are answered.
    """

    def __init__(self, most: int, per_address: int) -> None:
        self.most = most
        self.per_address = per_address
        self.working = 0  # requests under way, but for health checks
        self._open: Counter[str] = Counter()
        self._waiting: dict[_Connection, None] = {}  # without a request, the longest first

    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn makes for each connection (``Config(http=...)``)."""
        return type("Connection", (_Connection,), {"limits": self})

    def guarded(self, app: ASGIApp) -> ASGIApp:
        """The application, which answers nothing but health checks beyond ``most`` requests."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] in OPEN:
                await app(scope, receive, send)
                return
            if self.working >= self.most:
                said = "too many connections; ask again in a moment"
                await response_of(Failure(503, "busy", said, retry_after=1))(scope, receive, send)
                return
            self.working += 1
            try:
                await app(scope, receive, send)
            finally:
                self.working -= 1

        return guarded

    def admit(self, connection: _Connection) -> bool:
        """Counts a new connection; False where there is no place for it."""
        address = connection.address
        if self.per_address and self._open[address] >= self.per_address:
            victim = next((each for each in self._waiting if each.address == address), None)
        elif self._open.total() >= self.most + RESERVE:
            victim = next(iter(self._waiting), None)
        else:
            self._open[address] += 1
            return True
        if victim is None:
            return False
        victim.end()
        self._open[address] += 1
        return True

    def leave(self, connection: _Connection) -> None:
        """A connection has ended."""
        self._waiting.pop(connection, None)
        self._open[connection.address] -= 1
        if self._open[connection.address] <= 0:
            del self._open[connection.address]

    def waits(self, connection: _Connection) -> None:
        """A connection waits for a request from now on."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = None

    def works(self, connection: _Connection) -> None:
        """A connection has a request."""
        self._waiting.pop(connection, None)


class _Connection(H11Protocol):
    """One connection, with a time limit for what it waits for."""

    limits: Connections

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.address = ""
        self._counted = False
        self._lingers = False
        self._drains = False  # the reply was sent whole, what comes now is nobody's
        self._timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _Transport(transport, self)))
        self.address = self.client[0] if self.client else ""
        self._counted = self.limits.admit(self)
        if self._counted:
            self._wait_for_request()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(self._timer, self._reading_timer)
        self._leave()
        super().connection_lost(exc)

    def end(self) -> None:
        """Closes the connection at once."""
        self._leave()
        self.transport.abort()

    def close(self, transport: asyncio.Transport) -> None:
        """Closes the connection; where a body was refused, once the client has read why: what is
        closed while bytes arrive is reset, and a reset takes the reply with it.
        """
        if self.conn.their_state is h11.SEND_BODY and not transport.is_closing():
            self._drains = True
            transport.write_eof()
        else:
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self._drains:
            return
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _PIECE])
        if self.conn.their_state is not h11.IDLE and self.cycle is not None:
            if not self.cycle.response_complete:
                self._stop(self._timer)
            self.limits.works(self)
        elif self._lingers:  # the body that was refused has ended
            self._wait_for_request()

    def on_response_complete(self) -> None:
        refused_early = self.conn.their_state is h11.SEND_BODY
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if refused_early:  # what is left of the body is nobody's
            self._lingers = True
            self._stop(self._timer)
            self._timer = self.loop.call_later(_LINGER, self.end)
        elif self.conn.their_state is h11.IDLE:
            self._wait_for_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop(self._reading_timer)
        self._reading_timer = self.loop.call_later(READING_SECONDS, self.end)

    def resume_writing(self) -> None:
        self._stop(self._reading_timer)
        super().resume_writing()

    def shutdown(self) -> None:
        """Waits for answers alone: not for a request that is still coming."""
        cycle = self.cycle
        if cycle is not None and cycle.more_body and not cycle.response_started:
            self.transport.close()
        else:
            super().shutdown()

    def _wait_for_request(self) -> None:
        self._lingers = False
        self._stop(self._timer)
        self._timer = self.loop.call_later(HEAD_SECONDS, self.end)
        self.limits.waits(self)

    def _leave(self) -> None:
        if self._counted:
            self._counted = False
            self.limits.leave(self)

    @staticmethod
    def _stop(*timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()


class _Transport:
    """A transport whose connection says how it is closed."""

    def __init__(self, inner: asyncio.Transport, connection: _Connection) -> None:
        self._inner, self._connection = inner, connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def close(self) -> None:
        """Closes it."""
        self._connection.close(self._inner)
