"""A server as the command runs it, in this process, and sockets that talk to it byte by byte."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from perspective_rag_serve.app import create_app
from perspective_rag_serve.connections import Connections
from perspective_rag_serve.listening import server_of
from perspective_rag_serve.settings import ServeSettings

PATIENCE = 60.0
"""Seconds after which something is taken never to happen."""


class Running:
    """A server and its address."""

    def __init__(self, server, app, connections):
        self.server, self.app, self.connections = server, app, connections

    @property
    def context(self):
        return self.app.state.context

    @property
    def port(self):
        return self.server.servers[0].sockets[0].getsockname()[1]

    @property
    def loop(self):
        """The event loop that runs in the server's thread."""
        return self.server.servers[0].get_loop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connected(self):
        """A connection of one's own, on which nothing was sent."""
        found = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        found.settimeout(PATIENCE)
        return found

    def raw(self, data):
        """What comes back for these bytes until the server closes the connection."""
        with self.connected() as found:
            with contextlib.suppress(OSError):
                found.sendall(data)
            return received(found)

    def health(self):
        """The status of a health check on a connection of its own."""
        return status_of(
            self.raw(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        )


def received(connection):
    """Everything until the server closes."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def status_of(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else 0


def head(path="/api/ask", *, method="POST", **headers):
    """A request's line and headers, whose names have _ for -."""
    lines = [f"{method} {path} HTTP/1.1"]
    named = {"Host": "127.0.0.1", "Content_Type": "application/json", **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def until(true, seconds=PATIENCE):
    """Waits for what another thread does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@contextlib.contextmanager
def running(pipeline, *, most=1000, per_address=0, **settings):
    """A server over a pipeline, on a free port of loopback."""
    app = create_app(pipeline, ServeSettings(**{"per_minute": 0, **settings}))
    connections = Connections(most, per_address)
    server = server_of(app, connections, "127.0.0.1", 0)
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield Running(server, app, connections)
    finally:
        server.should_exit = True
        thread.join(10)
        server.force_exit = True  # for what a test left open
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server does not end"
