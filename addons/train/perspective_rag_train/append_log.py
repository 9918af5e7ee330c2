"""Append-only files that survive being killed: what was paid for once is never paid for again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perspective_rag.addons import fingerprint, from_json, hold, make_private


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


class AppendLog:
    """Values by id in a JSON lines file, one line each, on disk before ``add`` returns.

    ``key`` is everything the values depend on: it names the file and is its first line, so that
    values of other models or code are never taken for these. A line torn by a kill is dropped when
    the file is opened, and its id is unknown again. One process writes at a time; a second one gets
    a ConfigError.
    """

    def __init__(self, folder: Path, name: str, key: Mapping[str, Any]) -> None:
        head = json.dumps({"key": key}, sort_keys=True).encode() + b"\n"
        self.path = folder / f"{slug(name)}-{fingerprint(head)}.jsonl"
        self.values: dict[str, Any] = {}
        folder.mkdir(parents=True, exist_ok=True)
        make_private(self.path)
        self._stream = self.path.open("ab+", buffering=0)
        hold(self._stream, self.path)
        self._stream.seek(0)
        data = self._stream.read()
        whole = self._taken_in(data, head)
        self._stream.truncate(whole)
        if not whole:
            self._stream.write(head)

    def add(self, values: Iterable[tuple[str, Any]]) -> None:
        """Keeps values by id: all of them in one write, flushed to the disk."""
        new = list(values)
        lines = b"".join(json.dumps(each).encode() + b"\n" for each in new)
        self._stream.write(lines)
        os.fsync(self._stream.fileno())
        self.values.update(new)

    def close(self) -> None:
        """Lets another run write."""
        self._stream.close()

    def __enter__(self) -> AppendLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _taken_in(self, data: bytes, head: bytes) -> int:
        """Takes the values in; the bytes up to the first line that is not whole."""
        if not data.startswith(head):
            return 0
        whole = len(head)
        for line in data[whole:].splitlines(keepends=True):
            try:
                identity, value = from_json(line)
            except (ValueError, TypeError):
                break
            if not line.endswith(b"\n") or not isinstance(identity, str):
                break
            self.values[identity] = value
            whole += len(line)
        return whole
