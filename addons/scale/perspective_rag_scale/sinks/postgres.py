"""A PostgreSQL table with pgvector."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from perspective_rag import ConfigError, MissingDependency, Passage
from perspective_rag.addons import redacted
from perspective_rag.extend import Matrix
from perspective_rag_scale.sinks.documents import (
    check_dimensions,
    metadata_of,
    short_id,
    without_nul,
)

_INDEXED_MOST = 2000  # numbers a vector may have in an index of pgvector
_LONGEST_ID = 1000  # bytes; PostgreSQL indexes no more than about 2,700


class PostgresSink:
    """A ``Sink`` into a table as ``langchain_postgres.PGVectorStore`` reads it: langchain_id (here
    text: the passage's id), content, embedding, langchain_metadata.

    ``url`` is that of psycopg; ``table`` may be ``schema.table``. Rows come by COPY and replace
    those with their id. Raises MissingDependency without ``psycopg``.
    """

    appends = True

    def __init__(self, url: str, table: str) -> None:
        try:
            import psycopg
            from psycopg import sql
        except ImportError as error:
            raise MissingDependency("postgres", "filling PostgreSQL") from error
        self._psycopg: Any = psycopg
        self._sql: Any = sql
        self._url, self._table = url, table
        self._quoted = sql.Identifier(*table.split("."))
        self._open: Any = None

    @property
    def name(self) -> str:
        """Address, without its user, and table."""
        return redacted(f"{self._url}#{self._table}")

    @property
    def key(self) -> str:
        """The same."""
        return self.name

    def open(self, dimensions: int) -> None:
        """Creates extension and table; one that is there must have these columns."""
        sql = self._sql
        if self._oid() is None:
            with self._connection().transaction():
                self._execute("CREATE EXTENSION IF NOT EXISTS vector")
                self._execute(
                    sql.SQL(
                        "CREATE TABLE {} (langchain_id TEXT PRIMARY KEY, content TEXT NOT NULL,"
                        " embedding vector({}) NOT NULL, langchain_metadata JSON)"
                    ).format(self._quoted, sql.Literal(dimensions))
                )
        found = self._execute(
            "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s AND attname = 'embedding'",
            (self._oid(),),
        ).fetchone()
        if found is None:
            raise ConfigError(f"{self.name} has no column embedding: name another table")
        check_dimensions(self.name, found[0], dimensions)

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Copies them into a table of this session, and from there in one statement."""
        sql = self._sql
        with self._connection().transaction():
            self._execute(
                sql.SQL("CREATE TEMP TABLE incoming (LIKE {}) ON COMMIT DROP").format(self._quoted)
            )
            columns = "langchain_id, content, embedding, langchain_metadata"
            with (
                self._connection().cursor() as cursor,
                cursor.copy(f"COPY incoming ({columns}) FROM STDIN") as copy,
            ):
                for passage, row in zip(passages, rows.tolist(), strict=True):
                    id = without_nul(short_id(passage, _LONGEST_ID))
                    more = json.dumps(metadata_of(passage, id)).replace("\\u0000", "\\ufffd")
                    copy.write_row((id, without_nul(passage.text), json.dumps(row), more))
            # Of two rows with one id, as two ids without U+0000 may be, one statement takes one.
            self._execute(
                sql.SQL(
                    "INSERT INTO {0} ({1}) SELECT DISTINCT ON (langchain_id) {1} FROM incoming"
                    " ON CONFLICT (langchain_id) DO UPDATE SET content = EXCLUDED.content,"
                    " embedding = EXCLUDED.embedding,"
                    " langchain_metadata = EXCLUDED.langchain_metadata"
                ).format(self._quoted, sql.SQL(columns))
            )

    def finish(self, tell: Callable[[str], None]) -> None:
        """Builds a graph index by cosine, where pgvector can and there is no index of vectors."""
        sql = self._sql
        [(dimensions, indexed)] = self._execute(
            "SELECT atttypmod, EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND"
            " attnum = ANY(indkey)) FROM pg_attribute WHERE attrelid = %s AND attname = %s",
            (self._oid(), "embedding"),
        ).fetchall()
        if indexed:
            return
        if dimensions > _INDEXED_MOST:
            tell(f"pgvector indexes no vectors of more than {_INDEXED_MOST:,} numbers: none built")
            return
        tell("building an HNSW index by cosine")
        self._execute(
            sql.SQL("CREATE INDEX ON {} USING hnsw (embedding vector_cosine_ops)").format(
                self._quoted
            )
        )

    def count(self) -> int:
        """The rows of the table."""
        if self._oid() is None:
            return 0
        counting = self._sql.SQL("SELECT count(*) FROM {}").format(self._quoted)
        return int(self._execute(counting).fetchone()[0])

    def close(self) -> None:
        """Closes the connection."""
        if self._open is not None:
            self._open.close()

    def _oid(self) -> int | None:
        """The table's number, or None where there is no such table."""
        name = ".".join(f'"{part}"' for part in self._table.replace('"', '""').split("."))
        found = self._execute("SELECT to_regclass(%s)::oid", (name,)).fetchone()
        return None if found[0] is None else int(found[0])

    def _execute(self, statement: Any, values: Sequence[object] = ()) -> Any:
        return self._connection().execute(statement, values or None)

    def _connection(self) -> Any:
        """A connection; a new one where the last was lost."""
        if self._open is None or self._open.closed:
            self._open = self._psycopg.connect(self._url, autocommit=True)
        return self._open
