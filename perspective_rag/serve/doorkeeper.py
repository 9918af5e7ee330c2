"""What every request passes first: host, origin, token, rate and size; what every reply carries."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perspective_rag.serve.admission import Rate
from perspective_rag.serve.failures import Failure, response_of
from perspective_rag.serve.settings import ServeSettings

BODY_SECONDS = 30.0
"""In which a request's body must have come."""

OPEN = ("/healthz", "/readyz")
"""What is told without a token and counts towards no rate."""

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check(scope)
            receive = await self._body(scope, receive)
        except Failure as failure:
            await response_of(failure)(scope, receive, with_headers)
            return
        await self.app(scope, receive, with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._known(host):
            said = "this server is not asked by that name; the operator can allow it"
            raise Failure(400, "host", said)
        origin = headers.get("origin")
        elsewhere = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
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
        name = _name_of(host)
        if name in ("localhost", *(each.lower() for each in self.settings.hosts)):
            return True
        try:  # an address cannot be pointed elsewhere, as a name can
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """The request with its body read, which may hold so many bytes; raises Failure."""
        most = self.settings.largest_body
        too_large = Failure(413, "size", f"a request may hold at most {most:,} bytes")
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > most:
            raise too_large
        chunks: list[bytes] = []
        size, more = 0, True
        try:
            # Not asyncio.timeout: that is of Python 3.11.
            while more:
                message = await asyncio.wait_for(receive(), BODY_SECONDS)
                if message["type"] == "http.disconnect":
                    break
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                more = message.get("more_body", False)
                if size > most:
                    raise too_large
        except asyncio.TimeoutError as error:
            raise Failure(408, "slow", "the request did not arrive in time") from error
        body: list[Message] = [{"type": "http.request", "body": b"".join(chunks)}]

        async def again() -> Message:
            return body.pop() if body else await receive()

        return again


def _name_of(host: str) -> str:
    """The name in a ``Host`` header, without port and the brackets of an address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


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
