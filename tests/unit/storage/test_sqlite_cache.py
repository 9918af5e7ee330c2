"""Values kept in a file, whoever their owner is."""

from __future__ import annotations

import functools
import sqlite3

import pytest

from perspective_rag.storage.sqlite_cache import SqliteCache


def test_the_first_value_of_a_key_stays(tmp_path):
    one, other = (SqliteCache(tmp_path / "deep" / "file", "things") for _ in range(2))
    one.put({b"a": 0.5, b"b": "text"})
    other.put({b"a": 0.7, b"c": b"bytes"})
    assert one.get([b"a", b"b", b"c", b"d"]) == {b"a": 0.5, b"b": "text", b"c": b"bytes"}
    with pytest.raises(sqlite3.Error):
        one.put({b"e": 1, b"f": None})  # all of them or none
    assert one.get([b"e", b"f"]) == {}
    assert SqliteCache(tmp_path / "deep" / "file", "others").get([b"a"]) == {}


def test_more_keys_than_a_statement_takes(tmp_path):
    kept = SqliteCache(tmp_path / "file", "things")
    values = {str(i).encode(): i for i in range(2500)}
    kept.put(values)
    assert kept.get([*values, b"unknown"]) == values
    assert kept.get([]) == {}


def test_a_file_of_another_kind_is_an_error_and_stays_as_it_is(tmp_path):
    (tmp_path / "notes").write_text("these are notes, not a database" * 50)
    with pytest.raises(sqlite3.Error):
        SqliteCache(tmp_path / "notes", "things")
    with pytest.raises(OSError, match="notes"):
        SqliteCache(tmp_path / "notes" / "below", "things")
    assert (tmp_path / "notes").read_text().startswith("these are notes")


def test_another_process_that_sets_the_journal_mode_is_waited_for(tmp_path, monkeypatch):
    """SQLite gives up at once on that statement, whatever the connection's time-out."""
    refusals = [sqlite3.OperationalError("database is locked")] * 3

    class Refused(sqlite3.Connection):
        def execute(self, statement, *values):
            if "journal_mode" in statement and refusals:
                raise refusals.pop()
            return super().execute(statement, *values)

    connect = functools.partial(sqlite3.connect, factory=Refused)
    monkeypatch.setattr("perspective_rag.storage.sqlite_cache.sqlite3.connect", connect)
    kept = SqliteCache(tmp_path / "file", "things")
    kept.put({b"a": 1})
    assert kept.get([b"a"]) == {b"a": 1}
    assert refusals == []
