"""Lines written in the order of a stream, which go on where a killed process left off."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.storage.files import hold
from perspective_rag.text import from_json

_SAME_INPUT = "give the same input in the same order and the same judge, or another file"


class OrderedLog:
    """JSON lines in the order of a stream, each with the ``key`` of what it was made from.

    A stream that is read again passes the lines that are there and goes on behind them, and no more
    than one line is in memory. A last line torn by a kill is dropped. One process writes at a time.
    ``content`` says in error messages what a line is and ``remedy`` what to do about one of other
    input; ``lines`` counts those passed or added. Raises ConfigError when another process is
    writing the file.
    """

    def __init__(self, path: Path, content: str, remedy: str = _SAME_INPUT) -> None:
        self.path = path
        self.lines = 0
        self._content, self._remedy = content, remedy
        self._end: int | None = 0  # where the passed lines end; None once all are passed
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("a+b")
        hold(self._stream, path)
        self._stream.seek(0)

    def passes(self, key: str) -> bool:
        """Whether the next line is there; raises ConfigError when it has another key."""
        line = self._next_line()
        if line is None:
            return False
        try:
            known = from_json(line)["key"]
        except (ValueError, KeyError, TypeError):
            known = None
        if known != key:
            raise self._other_line()
        self.lines += 1
        return True

    def check_all_passed(self) -> None:
        """Raises ConfigError when the file goes on where the stream has ended."""
        if self._next_line() is not None:
            raise self._other_line()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes rows, each with its ``key``, behind the passed ones; on the disk on return."""
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        self._stream.write(b"".join(lines))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.lines += len(lines)

    def clear(self) -> None:
        """Forgets every line, passed or not."""
        self._stream.truncate(0)
        self._stream.seek(0)
        self._end, self.lines = 0, 0

    def close(self) -> None:
        """Lets another run write."""
        self._stream.close()

    def __enter__(self) -> OrderedLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _next_line(self) -> bytes | None:
        """The line after the passed ones; after the last whole one, None, and the rest is cut."""
        if self._end is None:
            return None
        line = self._stream.readline()
        if line.endswith(b"\n"):
            self._end += len(line)
            return line
        self._stream.truncate(self._end)
        self._stream.seek(self._end)
        self._end = None
        return None

    def _other_line(self) -> ConfigError:
        return ConfigError(
            f"{self.path}, line {self.lines + 1}, is not {self._content}: {self._remedy}"
        )
