"""The process's server: an application on a port, ended so that only answers under way are waited
for.
"""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI

from perspective_rag_serve.connections import LARGEST_HEAD, Connections

GRACE = 60
"""Seconds that answers in flight may take after SIGTERM."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.context.admission.close()
        await super().shutdown(sockets)


def server_of(app: FastAPI, connections: Connections, host: str, port: int) -> uvicorn.Server:
    """A server of an application that ``create_app`` made, with the limits of ``connections``.

    Its parser is h11, within this process, which bounds what it holds; httptools does not.
    """
    config = uvicorn.Config(
        connections.guarded(app),
        host=host,
        port=port,
        http=connections.protocol(),
        ws="none",
        lifespan="on",
        h11_max_incomplete_event_size=LARGEST_HEAD,
        log_config=None,
        log_level="info",
        access_log=False,  # it would hold what people look at
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    return _Server(config, app)
