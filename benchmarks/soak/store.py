"""A Chroma server as a process of its own, which can be killed and started again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.load.server import STARTING, free_port
from perspective_rag import MissingDependency, PerspectiveRAGError


class ChromaServer:
    """Keeps its data in a folder, so that it has them again after ``kill`` and ``start``."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.command = Path(sys.executable).with_name("chroma")
        if not self.command.exists():
            raise MissingDependency("dev", "the soak over a Chroma server")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Starts it; the seconds until it answered. Raises PerspectiveRAGError if it does not."""
        arguments = ["run", "--path", str(self.folder), "--host", "127.0.0.1"]
        started = time.monotonic()
        with (self.folder.parent / "chroma.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self.command), *arguments, "--port", str(self.port)],
                stdout=log,
                stderr=log,
                cwd=self.folder.parent,
                env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
            )
        while time.monotonic() - started < STARTING and self._process.poll() is None:
            try:
                url = f"http://127.0.0.1:{self.port}/api/v2/heartbeat"
                if httpx.get(url, timeout=5.0).status_code == 200:
                    return time.monotonic() - started
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise PerspectiveRAGError(f"the Chroma server did not start: see {self.folder.parent}")

    def kill(self) -> None:
        """Ends it as a crash does, without a chance to tidy up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def chroma(folder: Path) -> Iterator[ChromaServer]:
    """A server that runs until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    server = ChromaServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
