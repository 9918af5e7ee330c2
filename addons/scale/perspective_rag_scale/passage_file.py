"""Passages in an SQLite file, by their place: few are in memory at a time."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perspective_rag import CorpusError, Passage
from perspective_rag.addons import from_json, json_ready, make_private

_AT_ONCE = 900  # SQLite takes at least this many values in one statement


class PassageFile:
    """Passages at the places 0, 1, 2, ...; threads may share it.

    Metadata is kept as JSON: what JSON does not have becomes text. Raises CorpusError where the
    file cannot be read or written.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self._path, self._lock = path, threading.Lock()
        mode = "rwc" if writable else "ro"
        try:
            if writable:
                make_private(path)
            self._file = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}", uri=True, check_same_thread=False
            )
            if writable:
                with self._file:
                    self._file.execute(
                        "CREATE TABLE IF NOT EXISTS passages (place INTEGER PRIMARY KEY, id TEXT"
                        " NOT NULL, text TEXT NOT NULL, metadata TEXT NOT NULL)"
                    )
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def __len__(self) -> int:
        try:
            with self._lock:
                [(last,)] = self._file.execute("SELECT max(place) FROM passages").fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        return 0 if last is None else int(last) + 1

    def put(self, start: int, passages: Sequence[Passage]) -> None:
        """Writes passages from a place on; what was there or behind is gone. All or none of it."""
        rows = [
            (start + at, each.id, each.text, json.dumps(json_ready(each.metadata)))
            for at, each in enumerate(passages)
        ]
        try:
            with self._lock, self._file:
                self._file.execute("DROP INDEX IF EXISTS ids")
                self._file.execute("DELETE FROM passages WHERE place >= ?", (start,))
                self._file.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def index_ids(self) -> None:
        """Makes ``places`` possible; raises CorpusError when two passages share an id."""
        try:
            with self._lock, self._file:
                self._file.execute("CREATE UNIQUE INDEX IF NOT EXISTS ids ON passages (id)")
        except sqlite3.IntegrityError as error:
            with self._lock:
                [(id,)] = self._file.execute(
                    "SELECT id FROM passages GROUP BY id HAVING count(*) > 1 LIMIT 1"
                ).fetchall()
            raise CorpusError(f"two passages have the id {id!r}; ids must be distinct") from error
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def at(self, places: Sequence[int]) -> dict[int, Passage]:
        """The passages at those of the places that hold one."""
        rows = self._select("place, id, text, metadata", "place", places)
        try:
            return {place: _passage(*parts) for place, *parts in rows}
        except ValueError as error:
            raise self._unusable(error) from error

    def places(self, ids: Sequence[str]) -> dict[str, int]:
        """The places of those passages that are there."""
        return dict(self._select("id, place", "id", ids))

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._file.close()

    def _select(self, columns: str, by: str, values: Sequence[object]) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(values), _AT_ONCE):
            some = list(values[start : start + _AT_ONCE])
            marks = ",".join("?" * len(some))
            query = f"SELECT {columns} FROM passages WHERE {by} IN ({marks})"  # noqa: S608, ours
            try:
                with self._lock:
                    found += self._file.execute(query, some).fetchall()
            except sqlite3.Error as error:
                raise self._unusable(error) from error
        return found

    def _unusable(self, error: Exception) -> CorpusError:
        return CorpusError(f"{self._path} cannot be used: {error}")


def _passage(id: object, text: object, more: object) -> Passage:
    """A row's passage; SQLite holds a value of any kind in any column."""
    for value in (id, text, more):
        if not isinstance(value, str):
            raise ValueError(f"a passage holds {type(value).__name__} where a text should be")
    metadata = from_json(str(more))
    if not isinstance(metadata, dict):
        raise ValueError("a passage's metadata is no JSON object")
    return Passage(str(id), str(text), metadata)
