"""Pages of the web, fetched with bounds on everything: nothing that a server sends is trusted."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
import urllib.robotparser
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from perspective_rag.errors import MissingDependency, RetrievalError

AGENT = "perspective-rag"
_READABLE = ("text/html", "application/xhtml+xml", "text/plain")
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class RawPage:
    """A fetched page: its last address, body, and the character set its server names."""

    url: str
    body: bytes
    charset: str | None
    kind: str


class PageRefused(RetrievalError):
    """A page that is not fetched or not read; trying again would give the same."""


@dataclass(slots=True)
class PageFetcher:
    """Fetches pages, one at a time from each host, as robots.txt allows.

    ``seconds`` bounds a whole page, redirects included; ``max_bytes`` its body after unpacking;
    ``max_redirects`` the hops. Addresses inside private networks are refused, on every hop, unless
    ``allow_private``. A robots.txt that cannot be had because the server fails forbids, one that
    does not exist allows (RFC 9309).
    """

    seconds: float = 15.0
    max_bytes: int = 2_000_000
    max_redirects: int = 5
    allow_private: bool = False
    respect_robots: bool = True
    _robots: dict[str, urllib.robotparser.RobotFileParser] = field(default_factory=dict)
    _hosts: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fetch(self, url: str) -> RawPage:
        """The page behind an address.

        Raises PageRefused for what will not be read (robots, kind, size, redirects, private
        address, status 4xx) and RetrievalError for what may work another time.
        """
        with self._client() as client, self._host(url):
            deadline = time.monotonic() + self.seconds
            if self.respect_robots and not self._allowed(client, url, deadline):
                raise PageRefused(f"robots.txt of {urlsplit(url).netloc} forbids {url}")
            return self._get(client, url, deadline)

    def _host(self, url: str) -> threading.Lock:
        with self._lock:
            return self._hosts.setdefault(urlsplit(url).netloc, threading.Lock())

    def _client(self) -> Any:
        try:
            import httpx
        except ImportError as error:
            raise MissingDependency("web", "fetching web pages") from error
        return httpx.Client(
            timeout=min(self.seconds, 10.0),
            follow_redirects=False,
            headers={"User-Agent": AGENT, "Accept-Encoding": "gzip, deflate"},
        )

    def _get(self, client: Any, url: str, deadline: float, *, readable: bool = True) -> RawPage:
        import httpx

        seen = {url}
        try:
            for _ in range(self.max_redirects + 1):
                self._check_address(url)
                with client.stream("GET", url) as reply:
                    if reply.status_code in _REDIRECTS and "location" in reply.headers:
                        url = urljoin(url, reply.headers["location"])
                        if url in seen:
                            raise PageRefused(f"{url} redirects in a circle")
                        seen.add(url)
                        continue
                    return self._body(reply, url, deadline, readable)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise RetrievalError(f"{url} could not be fetched: {error!r}") from error
        raise PageRefused(f"{url}: more than {self.max_redirects} redirects")

    def _body(self, reply: Any, url: str, deadline: float, readable: bool) -> RawPage:
        status = reply.status_code
        if status >= 500 or status == 429:
            raise RetrievalError(f"{url}: status {status}")
        if status != 200:
            raise PageRefused(f"{url}: status {status}")
        kind, _, rest = reply.headers.get("content-type", "text/html").partition(";")
        kind = kind.strip().lower()
        if readable and kind not in _READABLE:
            raise PageRefused(f"{url} is {kind or 'of no stated kind'}, not a text to read")
        charset = rest.partition("charset=")[2].strip(" \"';") or None
        body = bytearray()
        for piece in _unpacked(reply, self.max_bytes):
            body += piece
            if len(body) > self.max_bytes:
                raise PageRefused(f"{url} is longer than {self.max_bytes:,} bytes")
            if time.monotonic() > deadline:
                raise RetrievalError(f"{url} took longer than {self.seconds:g} s")
        return RawPage(url, bytes(body), charset, kind)

    def _check_address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise PageRefused(f"{url} is no http address")
        if self.allow_private:
            return
        for found in socket.getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM):
            if not ipaddress.ip_address(str(found[4][0]).partition("%")[0]).is_global:
                raise PageRefused(f"{url} leads into a private network")

    def _allowed(self, client: Any, url: str, deadline: float) -> bool:
        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}"
        rules = self._robots.get(root)
        if rules is None:
            rules = urllib.robotparser.RobotFileParser()
            try:
                page = self._get(client, f"{root}/robots.txt", deadline, readable=False)
                rules.parse(page.body.decode("utf-8", "replace").splitlines())
            except PageRefused:
                rules.parse([])
            except RetrievalError:
                rules.parse(["User-agent: *", "Disallow: /"])
            self._robots[root] = rules
        return rules.can_fetch(AGENT, url)


def _unpacked(reply: Any, limit: int) -> Iterator[bytes]:
    """The body as it arrives, unpacked in bounded pieces: a kilobyte of gzip can hold a megabyte.

    No chunk size is asked for: a chunk that fills up slowly would keep the deadline from being
    looked at.
    """
    packing = reply.headers.get("content-encoding", "identity").strip().lower()
    if packing in ("", "identity"):
        yield from reply.iter_raw()
        return
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise PageRefused(f"{reply.url} is packed as {packing}")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        for piece in reply.iter_raw():
            while piece:
                yield unpacker.decompress(piece, min(limit, 65_536) + 1)
                piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise PageRefused(f"{reply.url} cannot be unpacked: {error}") from error
