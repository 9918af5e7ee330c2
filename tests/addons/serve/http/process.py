"""The server as an operator starts it: a process of its own, on a free port of loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[4]
STARTING = 120.0


class Served:
    """A running server: its address, its process, and what it wrote to stderr so far."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self._at = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                self.url = found[1]
                self._at.set()
        self._at.set()

    def wait_for_address(self):
        assert self._at.wait(STARTING), "the server did not start"
        assert self.url, f"the server ended: {''.join(self.lines)}"

    @property
    def log(self):
        return "".join(self.lines)

    def ended(self, seconds=60):
        """The status with which it ended."""
        status = self.process.wait(seconds)
        self._reader.join(10)
        return status


@contextmanager
def served(*arguments, env=None, cwd=None):
    """A server started by ``perspective-rag serve ARGUMENTS``, killed at the end if it still runs."""
    with tempfile.TemporaryDirectory() as cache:
        command = [
            sys.executable,
            "-m",
            "perspective_rag",
            "serve",
            "--port",
            "0",
            "--cache",
            cache,
            *arguments,
        ]
        path = os.pathsep.join([str(ROOT), str(cwd or ROOT), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            command,
            cwd=cwd or ROOT,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": path, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        found = Served(process)
        try:
            found.wait_for_address()
            yield found
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
