"""Requests with one deadline for everything, to addresses that were checked.

A name is resolved once: what was checked is what is connected to, so that a name that answers
differently the second time (DNS rebinding) leads nowhere. The time for a request is one for all of
it: the name, the connection, each header and each piece of the body.
"""

from __future__ import annotations

import queue
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from benchmarks.web.addresses import PageRefused, is_public
from perspective_rag.flow import driver as threads

AGENT = "perspective-rag"
FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    httpx.InvalidURL,
    OSError,
    ValueError,
)
"""What a request ends with when it gets no reply."""
_PIECE = 10.0  # seconds for one read, within the deadline


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time by which a request must be over."""

    seconds: float
    started: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self.started + self.seconds

    @property
    def left(self) -> float:
        """Seconds until then; raises httpcore.ReadTimeout when there are none."""
        if self.over:
            raise httpcore.ReadTimeout(f"took longer than {self.seconds:g} s")
        return max(1e-3, self.started + self.seconds - time.monotonic())

    def within(self, timeout: float | None) -> float:
        """The shorter of a time-out and what is left."""
        return min(self.left, _PIECE if timeout is None else timeout)


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a reply, and its body as it arrives."""

    status: int
    headers: Mapping[str, str]
    body: Iterable[bytes]


@contextmanager
def requested(
    method: str,
    url: httpx.URL,
    deadline: Deadline,
    *,
    private: bool,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Iterator[Reply]:
    """The reply to a request, without following redirects.

    ``private``: addresses inside private networks may be connected to. Raises PageRefused for one
    that may not, and ``FAILURES``. A proxy that the environment names resolves names itself.
    """
    sent = {"Host": url.netloc.decode("ascii"), "User-Agent": AGENT, "Accept": "*/*"}
    sent |= {"Connection": "close"} | dict(headers or {})
    if content is not None:
        sent["Content-Length"] = str(len(content))
    with (
        _pool(url, deadline, private) as pool,
        pool.stream(
            method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=[(name.encode("ascii"), text.encode()) for name, text in sent.items()],
            content=content,
        ) as reply,
    ):
        held = {k.decode("ascii").lower(): v.decode("latin-1") for k, v in reply.headers}
        yield Reply(reply.status, held, reply.iter_stream())


def _pool(url: httpx.URL, deadline: Deadline, private: bool) -> httpcore.ConnectionPool:
    proxy = None if proxy_bypass(url.host) else getproxies().get(url.scheme)
    if proxy:
        address = proxy if "://" in proxy else f"http://{proxy}"
        return httpcore.HTTPProxy(address, network_backend=_Network(deadline, True))
    return httpcore.ConnectionPool(network_backend=_Network(deadline, private))


class _Network(httpcore.NetworkBackend):
    def __init__(self, deadline: Deadline, private: bool) -> None:
        self._deadline, self._private = deadline, private
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        addresses = _resolved(host, port, self._deadline)
        if not self._private and not all(map(is_public, addresses)):
            raise PageRefused(f"{host} leads into a private network")
        for number, address in enumerate(addresses, start=1):
            try:
                patience = self._deadline.within(timeout)
                stream = self._network.connect_tcp(address, port, patience)
                return _Stream(stream, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise httpcore.ConnectError(f"{host} has no address")


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.within(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.within(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        patience = self._deadline.within(timeout)
        secured = self._stream.start_tls(ssl_context, server_hostname, patience)
        return _Stream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _resolved(host: str, port: int, deadline: Deadline) -> list[str]:
    """The addresses of a host, each once; the resolver has no time limit of its own."""
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def work() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:
            found.put(error)

    threads.start(work)
    try:
        outcome = found.get(timeout=deadline.left)
    except queue.Empty:
        raise httpcore.ConnectTimeout(f"{host} was not found in time") from None
    if isinstance(outcome, Exception):
        raise httpcore.ConnectError(f"{host} cannot be found: {outcome}") from outcome
    return list(dict.fromkeys(str(each[4][0]) for each in outcome))
