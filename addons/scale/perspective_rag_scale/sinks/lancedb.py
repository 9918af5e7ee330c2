"""A LanceDB table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from perspective_rag import ConfigError, MissingDependency, Passage
from perspective_rag.addons import redacted
from perspective_rag.extend import Matrix
from perspective_rag_scale.sinks.documents import check_dimensions, key_of, metadata_of


class LanceSink:
    """A ``Sink`` into a table as ``langchain_lancedb.LanceDB`` reads it: id, text, vector, and
    metadata as JSON.

    ``uri`` is a folder or what else ``lancedb.connect`` takes. Raises MissingDependency without
    ``lancedb``.
    """

    appends = True

    def __init__(self, uri: str, table: str) -> None:
        try:
            import lancedb
            import pyarrow
        except ImportError as error:
            raise MissingDependency("lancedb", "filling LanceDB") from error
        self._arrow: Any = pyarrow
        self._uri, self._name = uri, table
        self._database: Any = lancedb.connect(uri)
        self._table: Any = None

    @property
    def name(self) -> str:
        """Folder and table."""
        return redacted(f"lancedb:{self._uri}#{self._name}")

    @property
    def key(self) -> str:
        """The same; a folder by its whole path."""
        return key_of("lancedb", self._uri, self._name)

    def open(self, dimensions: int) -> None:
        """Creates the table; one that is there must have these columns."""
        arrow = self._arrow
        schema = arrow.schema(
            [
                arrow.field("id", arrow.string(), nullable=False),
                arrow.field("text", arrow.string()),
                arrow.field("vector", arrow.list_(arrow.float32(), dimensions)),
                arrow.field("metadata", arrow.string()),
            ]
        )
        table = self._existing()
        self._table = table or self._database.create_table(self._name, schema=schema)
        there = self._table.schema
        missing = [each for each in schema.names if each not in there.names]
        if missing:
            raise ConfigError(f"{self.name} has no column {missing[0]!r}: name another table")
        check_dimensions(self.name, getattr(there.field("vector").type, "list_size", 0), dimensions)

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Merges rows by id, in one version of the table."""
        arrow, schema = self._arrow, self._table.schema
        numbers = arrow.array(rows.reshape(-1), arrow.float32())
        batch = arrow.table(
            {
                "id": [each.id for each in passages],
                "text": [each.text for each in passages],
                "vector": arrow.FixedSizeListArray.from_arrays(numbers, rows.shape[1]),
                "metadata": [json.dumps(metadata_of(each, each.id)) for each in passages],
            }
        ).select(schema.names)
        merging = self._table.merge_insert("id")
        merging.when_matched_update_all().when_not_matched_insert_all().execute(batch)

    def finish(self, tell: Callable[[str], None]) -> None:
        """Joins the pieces that were written into larger ones."""
        tell("compacting the table")
        self._table.optimize()

    def count(self) -> int:
        """The rows of the table."""
        table = self._existing()
        return 0 if table is None else int(table.count_rows())

    def close(self) -> None:
        """Nothing: LanceDB keeps no connection."""

    def _existing(self) -> Any:
        try:
            return self._database.open_table(self._name)
        except (ValueError, FileNotFoundError) as error:
            if "not found" in str(error).lower() or isinstance(error, FileNotFoundError):
                return None
            raise
