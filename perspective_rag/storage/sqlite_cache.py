"""Values kept in a file: what was paid for once is there for every thread and process."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perspective_rag.errors import ConfigError
from perspective_rag.storage.files import make_private

# SQLite takes at least this many values in one statement.
_AT_ONCE = 900
_PATIENCE = 30.0
"""Seconds to wait for another process that holds the file."""

_NO_WRITING = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_WRITING_SAID = ("readonly", "unable to open", "is full", "disk i/o")


class SqliteCache:
    """Values by key in a table of a SQLite file, made if missing, for its owner alone.

    Threads and processes can share the file; of two values for a key the first stored stays. A file
    that cannot be written (no permission, no space, a read-only disk) is read as far as it is
    there: ``problem`` says why, None otherwise, and nothing new is kept. Everything else raises
    OSError or sqlite3.Error where the file fails: what that means is for the owner of the values to
    say.
    """

    def __init__(self, path: Path, table: str) -> None:
        self._path, self._table = path, table
        self._open()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The values of those keys that have one."""
        self._check_process()
        found: dict[bytes, Any] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            # The table's name is the library's own; keys are parameters.
            query = f"SELECT key, value FROM {self._table} WHERE key IN ({marks})"  # noqa: S608
            with self._lock:
                found.update(self._file.execute(query, some).fetchall())
        return found

    def put(self, values: Mapping[bytes, Any]) -> None:
        """Keeps the values (numbers, texts, bytes) of keys that have none: all of them or none."""
        self._check_process()
        if self.problem is not None:
            return
        with self._lock, self._file:
            self._file.executemany(
                f"INSERT INTO {self._table} VALUES (?, ?) ON CONFLICT (key) DO NOTHING",  # noqa: S608
                list(values.items()),
            )

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._file.close()

    def _open(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self.problem: Exception | None = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            make_private(self._path)
            self._file = self._connected(str(self._path))
        except (OSError, sqlite3.OperationalError) as error:
            if self._path.is_dir() or not _says_no_writing(error):
                raise
            self.problem = error
            self._file = self._readable()

    def _check_process(self) -> None:
        if self._process != os.getpid():  # SQLite's files may not be used across a fork
            self._open()

    def _connected(self, path: str, *, uri: bool = False) -> sqlite3.Connection:
        file = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, uri=uri)
        try:
            if uri:
                file.execute(f"SELECT key, value FROM {self._table} LIMIT 1").fetchall()  # noqa: S608
                return file
            _write_ahead(file)
            file.execute("PRAGMA synchronous=NORMAL")
            with file:
                file.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._table} "
                    "(key BLOB PRIMARY KEY, value NOT NULL) WITHOUT ROWID"
                )
        except sqlite3.Error:
            file.close()
            raise
        return file

    def _readable(self) -> sqlite3.Connection:
        """The file as it can be read, else an empty table."""
        place = quote(str(self._path.absolute()))
        # Beside a file in write-ahead mode SQLite writes, unless it is told that nobody does.
        for how in ("mode=ro", "mode=ro&immutable=1"):
            try:
                return self._connected(f"file:{place}?{how}", uri=True)
            except sqlite3.OperationalError:
                continue
        return self._connected(":memory:")


def open_cache(path: Path, table: str, values: str) -> SqliteCache:
    """The cache for a component that its caller makes: a file that cannot be opened is a
    ConfigError, one that cannot be written a warning at that caller's line.
    """
    try:
        cache = SqliteCache(path, table)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"the cache of {values} {path} cannot be used: {error}") from error
    if cache.problem is not None:
        said = f"{path} cannot be written, new {values} are not kept: {cache.problem}"
        warnings.warn(said, stacklevel=3)
    return cache


def _write_ahead(file: sqlite3.Connection) -> None:
    """Sets the journal mode; SQLite's own time-out does not hold for that statement."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            file.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _says_no_writing(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_WRITING
    return any(each in str(error).lower() for each in _NO_WRITING_SAID)
