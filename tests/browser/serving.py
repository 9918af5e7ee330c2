"""`perspective-rag serve` as a process of its own, and a slow line to it."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
STARTED = re.compile(r"running on http://127\.0\.0\.1:(\d+)")
PATIENCE = 120


class Serving:
    """The server, from its start until it is killed; ``url`` is where its page is."""

    def __init__(self, *arguments, **variables):
        command = [sys.executable, "-m", "perspective_rag", "serve", "--port", "0", *arguments]
        self._process = subprocess.Popen(
            list(map(str, command)),
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log = []
        self._up = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._up.wait(PATIENCE), "the server did not start"
        assert self.port, "".join(self.log)
        self.url = f"http://127.0.0.1:{self.port}/"

    port = None

    def _read(self):
        for line in self._process.stderr:
            self.log.append(line)
            if found := STARTED.search(line):
                self.port = int(found[1])
                self._up.set()
        self._up.set()

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()


class SlowLine:
    """Everything between a browser and a server, with ``gap`` seconds after each event of a stream.

    A stream's events come within milliseconds here; a page has to stand still while they come from
    a model, one by one.
    """

    def __init__(self, port, gap):
        self._port, self._gap = port, gap
        self._open = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._open.getsockname()[1]}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                browser, _ = self._open.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(browser,), daemon=True).start()

    def _carry(self, browser):
        server = socket.create_connection(("127.0.0.1", self._port))
        with browser, server:
            try:
                self._carry_both(browser, server)
            except OSError:
                return

    def _carry_both(self, browser, server):
        while True:
            for ready in select.select([browser, server], [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                if ready is browser:
                    server.sendall(data)
                    continue
                for part in re.split(rb"(?<=\n\n)(?=[^\n])", data):
                    browser.sendall(part)
                    if b"event: " in part:
                        time.sleep(self._gap)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open.close()
