"""The main text of a page, read in a process of its own that is ended when it takes too long.

Markup decides how long parsers work on it, and a thread that parses cannot be stopped.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import queue
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import Any, BinaryIO

from benchmarks.web.addresses import PageRefused
from benchmarks.web.pages import RawPage
from perspective_rag import MissingDependency
from perspective_rag.addons import between, from_json
from perspective_rag.flow import driver as threads
from perspective_rag.local.corpus.documents import declared_charset
from perspective_rag.local.corpus.records import decoded

_SERVE = "from benchmarks.web.reading import serve; serve()"
_START = 60.0  # seconds for the process to be there


class PageReader:
    """Reads pages one after the other; one that takes longer than ``seconds`` is refused.

    The process starts with the first page, again after one that was ended, and ends with the reader
    or its program. Threads can share a reader. Raises ConfigError for ``seconds`` out of range.
    """

    def __init__(self, seconds: float = 10.0) -> None:
        self.seconds = between("seconds", seconds, 0.001, math.inf)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, page: RawPage) -> tuple[str, str]:
        """(title, main text) of a page, as ``readable`` finds them.

        Raises PageRefused for markup that cannot be parsed, or not in time, and MissingDependency
        without trafilatura.
        """
        if importlib.util.find_spec("trafilatura") is None:
            raise MissingDependency("web", "reading web pages")
        with self._lock:
            reply = self._asked(page)
            if reply is None:
                self._end()
                raise PageRefused(f"{page.url} cannot be parsed within {self.seconds:g} s")
        if "problem" in reply:
            raise PageRefused(reply["problem"])
        return reply["title"], reply["text"]

    def close(self) -> None:
        """Ends the process; a later page starts another."""
        with self._lock:
            self._end()

    def _asked(self, page: RawPage) -> dict[str, Any] | None:
        """The reply of the process; None where there is none in time."""
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
            weakref.finalize(self, _ended, self._process)
            if _line(self._process, _START) is None:
                return None
        head = {"url": page.url, "charset": page.charset, "kind": page.kind}
        stream = self._process.stdin
        assert stream is not None
        with suppress(OSError):  # a process that has ended gives no line either
            _write(stream, {**head, "length": len(page.body)}, page.body)
        return _line(self._process, self.seconds)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _ended(process)


def readable(page: RawPage) -> tuple[str, str]:
    """(title, main text) of a page by trafilatura; empty where it finds none.

    Bytes are read as UTF-8 where they are, else in the character set that the server or the page
    names. Scripts, styles and navigation are left out. Raises PageRefused for markup that cannot be
    parsed, MissingDependency without trafilatura.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise MissingDependency("web", "reading web pages") from error
    text = decoded(page.body, lambda line, problem: None, _charset(page))
    if page.kind == "text/plain":
        return "", text.strip()
    try:
        found = trafilatura.bare_extraction(
            text.replace("\x00", ""), with_metadata=True, include_comments=False, fast=True
        )
    except Exception as error:  # whatever hostile markup makes of the parsers
        raise PageRefused(f"{page.url} cannot be parsed: {error!r}") from error
    if found is None:
        return "", ""
    return str(getattr(found, "title", None) or ""), str(getattr(found, "text", None) or "")


def serve() -> None:
    """The process itself: a page on standard input, its text on standard output, until the end."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints is no reply
    # Loaded before the first page's time begins.
    readable(RawPage("", b"<p>ready</p>", None, "text/html"))
    _write(replies, {})
    while head := sys.stdin.buffer.readline():
        values = from_json(head)
        body = sys.stdin.buffer.read(values.pop("length"))
        try:
            title, text = readable(RawPage(body=body, **values))
            _write(replies, {"title": title, "text": text})
        except PageRefused as error:
            _write(replies, {"problem": str(error)})


def _charset(page: RawPage) -> str | None:
    """What the server names, unless that is UTF-8, which was tried; else what the page names."""
    if page.charset and page.charset.lower().replace("-", "") != "utf8":
        return page.charset
    return declared_charset(page.body)


def _started() -> subprocess.Popen[bytes]:
    found_on = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        env=found_on,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _write(stream: BinaryIO | Any, values: dict[str, Any], body: bytes = b"") -> None:
    stream.write(json.dumps(values).encode() + b"\n" + body)
    stream.flush()


def _line(process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any] | None:
    """The next line of the process as JSON; None where it ends or takes longer."""
    stream = process.stdout
    assert stream is not None
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def work() -> None:
        with suppress(OSError, ValueError):  # closed meanwhile
            lines.put(stream.readline())

    threads.start(work)
    try:
        line = lines.get(timeout=seconds)
    except queue.Empty:
        return None
    reply: dict[str, Any] | None = from_json(line) if line else None
    return reply
