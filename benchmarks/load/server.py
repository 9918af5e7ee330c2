"""``examples/serve_fastapi.py`` in a process of its own, on a free port of loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx

from benchmarks.core.results import CHECKOUT
from perspective_rag import PerspectiveRAGError

APP = "examples.serve_fastapi:app"
STARTING = 120.0


@contextmanager
def served(app: str = APP) -> Iterator[tuple[str, int]]:
    """Its address and process id while it runs; raises PerspectiveRAGError if it does not start."""
    command = ["uvicorn", app, "--host", "127.0.0.1", "--log-level", "warning"]
    with running(command, "/health") as found:
        yield found


@contextmanager
def running(command: Sequence[str], ready: str) -> Iterator[tuple[str, int]]:
    """The same for ``python -m COMMAND --port PORT``, once the path ``ready`` answers with 200."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--port", str(port)],
        cwd=CHECKOUT,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url + ready, process)
        yield url, process.pid
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTING
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(url, timeout=5.0).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    status = process.poll()
    raise PerspectiveRAGError(
        f"the server did not start within {STARTING:g} s"
        if status is None
        else f"the server ended with status {status} before it answered"
    )


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        port: int = each.getsockname()[1]
        return port
