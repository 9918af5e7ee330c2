"""Values kept in a file: what was paid for once is there for every thread and process."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# SQLite takes at least this many values in one statement.
_AT_ONCE = 900
_PATIENCE = 30.0
"""Seconds to wait for another process that holds the file."""


class KeptValues:
    """Values by key in a table of a SQLite file, made if missing.

    Threads and processes can share the file; of two values for a key the first stored stays.
    Everything raises OSError or sqlite3.Error where the file fails: what that means is for the
    owner of the values to say.
    """

    def __init__(self, path: Path, table: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._table = table
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
        try:
            self._write_ahead()
            self._file.execute("PRAGMA synchronous=NORMAL")
            with self._file:
                self._file.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} "
                    "(key BLOB PRIMARY KEY, value NOT NULL) WITHOUT ROWID"
                )
        except sqlite3.Error:
            self._file.close()
            raise

    def _write_ahead(self) -> None:
        """Sets the journal mode; SQLite's own time-out does not hold for that statement."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._file.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The values of those keys that have one."""
        found: dict[bytes, Any] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, value FROM {self._table} WHERE key IN ({marks})"
            with self._lock:
                found.update(self._file.execute(query, some).fetchall())
        return found

    def put(self, values: Mapping[bytes, Any]) -> None:
        """Keeps the values (numbers, texts, bytes) of keys that have none: all of them or none."""
        with self._lock, self._file:
            self._file.executemany(
                f"INSERT INTO {self._table} VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
                list(values.items()),
            )

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._file.close()
