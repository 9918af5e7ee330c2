"""Bodies of requests: how large, how slow and how many of them there may be, and what JSON."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Message, Receive

from perspective_rag.extend import in_thread
from perspective_rag_serve.failures import Failure

BODY_SECONDS = 30.0
"""In which a whole body must have come."""

LOWEST_RATE = 16_384
"""Bytes a second at which a body must come, after the first few seconds."""

SMALL = 200_000
"""Bytes of a body at doors that take a question alone."""

MOST_VALUES = 50_000
"""Names and values in the JSON of a body."""

_GRACE = 5.0
_PIECES = 16  # so many bodies of the largest size may be in memory at a time
_ALWAYS = 65_536  # a body of so many bytes is taken whatever else is in memory

# The first half of a surrogate pair without the second, and the second without the first.
_HALF = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F][0-9a-fA-F]\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)


class Bodies:
    """The bodies that are in memory, from their first byte until their request is answered."""

    def __init__(self, largest: int) -> None:
        self._most = _PIECES * largest
        self._held = 0

    @asynccontextmanager
    async def body(self, receive: Receive, most: int) -> AsyncIterator[bytes | None]:
        """A request's body, None where the client left before its end. Raises Failure for one that
        is too large, too slow, or one too many, and as ``check_json``.
        """
        chunks: list[bytes] = []
        size, started, more = 0, time.monotonic(), True
        try:
            while more:
                last = started + min(BODY_SECONDS, _GRACE + size / LOWEST_RATE)
                message = await _in_time(receive, last - time.monotonic())
                if message["type"] == "http.disconnect":
                    yield None
                    return
                chunk = message.get("body", b"")
                chunks.append(chunk)
                size += len(chunk)
                self._held += len(chunk)
                more = message.get("more_body", False)
                if size > most:
                    raise too_large(most)
                if size > _ALWAYS and self._held > self._most:
                    raise Failure(503, "busy", "too much is being sent at once", retry_after=1)
            body = b"".join(chunks)
            chunks.clear()
            if size > _ALWAYS:
                await in_thread(check_json, body)
            else:
                check_json(body)
            yield body
        finally:
            self._held -= size


def too_large(most: int) -> Failure:
    """What is told of a body that is too large."""
    return Failure(413, "size", f"a request may hold at most {most:,} bytes")


def check_json(body: bytes) -> None:
    """Raises Failure for a body that is no UTF-8, holds half a surrogate pair, or more values than
    may be read while others wait. It looks at the bytes alone, at the speed of C.
    """
    try:
        body.decode("utf-8-sig")
        sound = b"\0" not in body
    except UnicodeDecodeError:
        sound = False
    if not sound:
        raise Failure(422, "request", "the request must be JSON in UTF-8")
    rest = body.replace(b"\\\\", b"")
    if any(_half_from(rest, start) for start in range(0, len(rest), _ALWAYS)):
        said = "a text holds half of a character (a surrogate without its pair)"
        raise Failure(422, "request", said)
    rest = rest.replace(b'\\"', b"")
    strings = rest.count(b'"') // 2
    if strings <= MOST_VALUES:
        outside = b"".join(rest.split(b'"')[::2])
        strings = max(strings, sum(map(outside.count, (b",", b":", b"[", b"{"))))
    if strings > MOST_VALUES:
        said = f"a request may hold at most {MOST_VALUES:,} names and values"
        raise Failure(413, "size", said)


def _half_from(text: bytes, start: int) -> bool:
    """Whether half a surrogate pair begins in one piece of a text: others wait for no more."""
    end = start + _ALWAYS
    found = _HALF.search(text, start, end + 12)
    return found is not None and found.start() < end


async def _in_time(receive: Receive, seconds: float) -> Message:
    try:
        # Not asyncio.timeout: that is of Python 3.11.
        return await asyncio.wait_for(receive(), max(0.0, seconds))
    except asyncio.TimeoutError as error:
        raise Failure(408, "slow", "the request did not arrive in time") from error
