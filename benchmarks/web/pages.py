"""Pages of the web, fetched with bounds on everything: nothing that a server sends is trusted."""

from __future__ import annotations

import re
import threading
import time
import urllib.robotparser
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.web.addresses import PageRefused
from perspective_rag import MissingDependency, RetrievalError
from perspective_rag.addons import scrubbed

if TYPE_CHECKING:
    import httpx

    from benchmarks.web.connection import Deadline, Reply

_READABLE = ("text/html", "application/xhtml+xml", "text/plain")
_REDIRECTS = (301, 302, 303, 307, 308)
_HOST = re.compile(rb"[A-Za-z0-9_.:-]+")
_ROBOTS_BYTES = 512_000  # what is read of a longer robots.txt (RFC 9309, section 2.5)
_ROBOTS_KEPT = 24 * 3600.0  # seconds that rules count ...
_ROBOTS_RETRIED = 60.0  # ... and that a robots.txt which could not be had is not asked for again


@dataclass(frozen=True, slots=True)
class RawPage:
    """A fetched page: its last address, body, and the character set its server names."""

    url: str
    body: bytes
    charset: str | None
    kind: str


class _NoPage(PageRefused):
    """There is no such page: status 4xx, or redirects without end."""


@dataclass(frozen=True, slots=True)
class _Robots:
    """The rules of a host (None: why they could not be had), until they are asked for again."""

    rules: urllib.robotparser.RobotFileParser | None
    until: float
    problem: str = ""


@dataclass(slots=True)
class PageFetcher:
    """Fetches pages, one at a time from each host, as robots.txt allows.

    ``seconds`` bounds a whole page: names, connections, headers, body and redirects together;
    ``max_bytes`` its body after unpacking; ``max_redirects`` the hops. Addresses inside private
    networks are refused, on every hop, unless ``allow_private``; the address that was checked is
    the one that is connected to. A robots.txt that cannot be had because the server fails forbids
    for now, one that does not exist allows (RFC 9309).
    """

    seconds: float = 15.0
    max_bytes: int = 2_000_000
    max_redirects: int = 5
    allow_private: bool = False
    respect_robots: bool = True
    _robots: dict[str, _Robots] = field(default_factory=dict)
    _hosts: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fetch(self, url: str) -> RawPage:
        """The page behind an address.

        Raises PageRefused for what will not be read (no address, robots, kind, size, redirects,
        private address, status 4xx) and RetrievalError for what may work another time.
        """
        try:
            from benchmarks.web.connection import Deadline
        except ImportError as error:
            raise MissingDependency("web", "fetching web pages") from error
        address = _address(url)
        with self._host(address):
            deadline = Deadline(self.seconds)
            if self.respect_robots and not self._allowed(address, deadline):
                raise PageRefused(f"robots.txt of {_root(address)} forbids {url}")
            return self._get(address, deadline, self.max_bytes)

    def _host(self, url: httpx.URL) -> threading.Lock:
        with self._lock:
            return self._hosts.setdefault(_root(url), threading.Lock())

    def _get(
        self, url: httpx.URL, deadline: Deadline, limit: int, *, robots: bool = False
    ) -> RawPage:
        from benchmarks.web.connection import FAILURES, requested

        accepted = {"Accept-Encoding": "gzip, deflate"}
        seen = {str(url)}
        try:
            for _ in range(self.max_redirects + 1):
                with requested(
                    "GET", url, deadline, private=self.allow_private, headers=accepted
                ) as reply:
                    moved = reply.headers.get("location")
                    if reply.status not in _REDIRECTS or moved is None:
                        return _body(reply, str(url), limit, robots=robots)
                    url = _address(moved, base=url)
                    if str(url) in seen:
                        raise _NoPage(f"{url} redirects in a circle")
                    seen.add(str(url))
        except RetrievalError:
            raise
        except FAILURES as raised:
            error = scrubbed(raised)
            if deadline.over:
                raise RetrievalError(f"{url} took longer than {self.seconds:g} s") from error
            said = str(error) or type(error).__name__
            raise RetrievalError(f"{url} could not be fetched: {said}") from error
        raise _NoPage(f"{url}: more than {self.max_redirects} redirects")

    def _allowed(self, url: httpx.URL, deadline: Deadline) -> bool:
        root = _root(url)
        known = self._robots.get(root)
        if known is None or time.monotonic() > known.until:
            self._robots[root] = known = self._robots_of(root, deadline)
        if known.rules is None:
            raise RetrievalError(f"robots.txt of {root} cannot be had for now: {known.problem}")
        return known.rules.can_fetch("perspective-rag", str(url))

    def _robots_of(self, root: str, deadline: Deadline) -> _Robots:
        lines: list[str] = []
        try:
            page = self._get(_address(f"{root}/robots.txt"), deadline, _ROBOTS_BYTES, robots=True)
            lines = page.body.decode("utf-8", "replace").splitlines()
        except _NoPage:
            pass
        except PageRefused:
            raise
        except RetrievalError as error:
            return _Robots(None, time.monotonic() + _ROBOTS_RETRIED, str(error))
        return _Robots(_parsed(lines), time.monotonic() + _ROBOTS_KEPT)


def _address(url: str, base: httpx.URL | None = None) -> httpx.URL:
    """An address as it is, or as it stands on the page ``base``; raises PageRefused for none."""
    import httpx

    try:
        found = httpx.URL(url) if base is None else base.join(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise PageRefused(f"{url!r:.200} is no http address: {error}") from error
    possible = _HOST.fullmatch(found.raw_host) and (found.port or 80) < 2**16
    if found.scheme not in ("http", "https") or not possible:
        raise PageRefused(f"{url!r:.200} is no http address")
    return found


def _root(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _body(reply: Reply, url: str, limit: int, *, robots: bool) -> RawPage:
    """What a reply holds; of a robots.txt the beginning, of a page all or nothing."""
    if reply.status >= 500 or reply.status == 429:
        raise RetrievalError(f"{url}: status {reply.status}")
    if reply.status != 200:
        raise _NoPage(f"{url}: status {reply.status}")
    kind, _, rest = reply.headers.get("content-type", "text/html").partition(";")
    kind = kind.strip().lower()
    if not robots and kind not in _READABLE:
        raise PageRefused(f"{url} is {kind or 'of no stated kind'}, not a text to read")
    charset = rest.partition("charset=")[2].strip(" \"';") or None
    body = bytearray()
    for piece in _unpacked(reply, url, limit):
        body += piece
        if len(body) > limit and not robots:
            raise PageRefused(f"{url} is longer than {limit:,} bytes")
        if len(body) > limit:
            break
    return RawPage(url, bytes(body[:limit]), charset, kind)


def _unpacked(reply: Reply, url: str, limit: int) -> Iterator[bytes]:
    """The body as it arrives, unpacked in bounded pieces: a kilobyte can hold a megabyte."""
    packing = reply.headers.get("content-encoding", "identity").strip().lower()
    if packing in ("", "identity"):
        yield from reply.body
        return
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise PageRefused(f"{url} is packed as {packing}")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        for piece in reply.body:
            while piece:
                yield unpacker.decompress(piece, min(limit, 65_536) + 1)
                piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise PageRefused(f"{url} cannot be unpacked: {error}") from error


def _parsed(lines: list[str]) -> urllib.robotparser.RobotFileParser:
    """The rules in the lines of a robots.txt; lines that the parser fails on are left out."""
    rules = urllib.robotparser.RobotFileParser()
    try:
        rules.parse(lines)
    except ValueError:
        rules = urllib.robotparser.RobotFileParser()
        rules.parse([line for line in lines if _is_rule(line)])
    return rules


def _is_rule(line: str) -> bool:
    with suppress(ValueError):
        urllib.robotparser.RobotFileParser().parse(["User-agent: *", line])
        return True
    return False
