"""What every request passes first: host, origin, token, rate, size; what every reply carries; and
the end of the work for a client that left.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import re
from collections.abc import Callable
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perspective_rag_serve.admission import Rate
from perspective_rag_serve.bodies import SMALL, Bodies, too_large
from perspective_rag_serve.failures import Failure, response_of
from perspective_rag_serve.logs import answering
from perspective_rag_serve.settings import ServeSettings

OPEN = ("/healthz", "/readyz")
"""What is told without a token and counts towards no rate."""

_LARGE = ("/v1/", "/v2/", "/rerank", "/mcp")
"""Where texts of the client's own are sent."""

# A name or an IPv4 address, or an IPv6 address in brackets; a port.
_HOST = re.compile(r"(?:([a-z0-9_.-]{1,253})|\[([0-9a-f:.]{2,45})\])(?::[0-9]{1,5})?", re.ASCII)

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Doorkeeper:
    """ASGI middleware in front of an application."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app = app
        self.settings = settings
        self._rate = Rate(settings.per_minute)
        self._bodies = Bodies(settings.largest_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        answering()
        replied = False

        async def with_headers(message: Message) -> None:
            nonlocal replied
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            elif message["type"] == "http.response.body":
                replied = not message.get("more_body", False)
            await send(message)

        try:
            self._check(scope)
            most = self._largest(scope)
            async with self._bodies.body(receive, most) as body:
                if body is not None:
                    reply = _Answering(self.app, scope, receive, with_headers)
                    await reply.run(body, lambda: replied)
        except Failure as failure:
            await response_of(failure)(scope, receive, with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if not self._known(host):
            said = "this server is not asked by that name; the operator can allow it"
            raise Failure(400, "host", said)
        origin = headers.get("origin")
        elsewhere = origin is not None and origin.lower().partition("://")[2] != host
        # A link on another site may open the page, and that is all it may.
        posted = scope["method"] not in ("GET", "HEAD")
        if elsewhere or (posted and headers.get("sec-fetch-site") == "cross-site"):
            raise Failure(403, "origin", "pages of other sites may not ask this server")
        if scope["path"] in OPEN:
            return
        address = scope["client"][0] if scope.get("client") else ""
        seconds = self._rate.wait(address)
        if seconds:
            said = "too many requests from this address; ask again later"
            raise Failure(429, "rate", said, retry_after=seconds)
        token = self.settings.token
        if token is not None and not _shown(headers.get("authorization", ""), token):
            raise Failure(401, "token", "a valid token is needed")

    def _known(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1] or found[2]
        if name in ("localhost", *(each.lower() for each in self.settings.hosts)):
            return True
        try:  # an address cannot be pointed elsewhere, as a name can
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _largest(self, scope: Scope) -> int:
        """Bytes that the body may have; raises Failure where it says that it has more."""
        most = self.settings.largest_body
        if not scope["path"].startswith(_LARGE):
            most = min(most, SMALL)
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > most:
            raise too_large(most)
        return most


class _Answering:
    """An application's answer to one request, which ends when the client leaves."""

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self._app, self._scope, self._receive, self._send = app, scope, receive, send

    async def run(self, body: bytes, replied: Callable[[], bool]) -> None:
        """Answers; returns early, and cancels the work, where the client leaves before that."""
        given: list[Message] = [{"type": "http.request", "body": body}]
        left = asyncio.ensure_future(self._client_left())

        async def receive() -> Message:
            if given:
                return given.pop()
            await asyncio.shield(left)
            return {"type": "http.disconnect"}

        answering = asyncio.ensure_future(self._app(self._scope, receive, self._send))
        try:
            await asyncio.wait({answering, left}, return_when=asyncio.FIRST_COMPLETED)
            if replied() or answering.done():
                await answering
        finally:
            left.cancel()
            answering.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await answering

    async def _client_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _shown(authorization: str, token: str) -> bool:
    """Whether a header shows the token, as a bearer token or as the password of HTTP Basic."""
    scheme, _, value = authorization.partition(" ")
    given = value.strip()
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.encode(), token.encode())
