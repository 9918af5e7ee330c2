"""Parquet files as a stream of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perspective_rag.errors import MissingDependency
from perspective_rag.local.corpus.records import Columns, Record, Report, as_record
from perspective_rag.storage.files import MOST_UNPACKED, beyond
from perspective_rag.text import json_ready

ROWS = 1024
"""Rows of a Parquet file that are in memory at a time, where they are not long."""

_AT_ONCE = 64_000_000  # bytes of a batch's texts from which on its rows are read one by one
_DEEPEST = 20  # levels of a schema: columns nested deeper hold no passage


def parquet_records(
    path: Path, report: Report, columns: Columns, most_unpacked: int = MOST_UNPACKED
) -> Iterator[Record]:
    """One record for each row of a Parquet file, read 1,024 rows at a time.

    A row group that takes more than ``most_unpacked`` bytes by what the file's footer says is left
    out. Texts stay in the file's dictionary until their row is read: a short file may hold a long
    text many times. Times in nanoseconds are read as text. Raises MissingDependency without
    pyarrow.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingDependency("parquet", "reading Parquet") from error
    number = 0
    try:
        with parquet.ParquetFile(path) as plain:
            texts = _texts(plain.schema)
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            for group in range(file.num_row_groups):
                said = _size_said(file.metadata.row_group(group))
                end = number + file.metadata.row_group(group).num_rows
                if said > most_unpacked:
                    said_so = f"row group {group} takes {said:,} bytes unpacked"
                    report(number + 1, f"left out to row {end}: {beyond(said_so, most_unpacked)}")
                    number = end
                    continue
                for batch in file.iter_batches(batch_size=ROWS, row_groups=[group]):
                    for row in _rows(batch):
                        number += 1
                        if isinstance(row, Exception):
                            report(number, f"cannot be read: {row}")
                            continue
                        record = as_record(json_ready(row), number, report, columns)
                        if record is not None:
                            yield record
    except (OSError, ValueError, ArrowException) as error:
        report(number + 1, f"cannot be read from here on: {error}")


def _texts(schema: Any) -> list[str]:
    """The columns that hold texts or bytes, of those that are no lists; raises ValueError for a
    schema that is nested too deep.
    """
    found = []
    for place in range(len(schema)):
        column = schema.column(place)
        if column.path.count(".") > _DEEPEST:
            raise ValueError(f"a column is nested deeper than {_DEEPEST} levels")
        if column.physical_type == "BYTE_ARRAY" and column.max_repetition_level == 0:
            found.append(column.path)
    return found


def _size_said(group: Any) -> int:
    """Bytes of a row group: what its footer says, and 32 for each value that it says it holds in
    lists, which may take no bytes in the file.
    """
    columns = [group.column(place) for place in range(group.num_columns)]
    listed: int = sum(each.num_values for each in columns if each.num_values > group.num_rows)
    said = max(group.total_byte_size, sum(c.total_uncompressed_size for c in columns), 0)
    return int(said) + 32 * listed


def _rows(batch: Any) -> Iterator[dict[str, Any] | Exception]:
    """The rows of a batch; in place of one that Python cannot hold, why."""
    names = batch.schema.names
    step = batch.num_rows if len(batch) * sum(map(_longest, batch.columns)) < _AT_ONCE else 1
    for start in range(0, batch.num_rows, max(1, step)):
        piece = batch.slice(start, step)
        try:
            yield from (dict(zip(names, row, strict=True)) for row in _values(piece.columns))
            continue
        except Exception as error:  # of a value, as pyarrow or Python raise it
            if step == 1:
                yield error
                continue
        for place in range(piece.num_rows):
            try:
                (row,) = _values(piece.slice(place, 1).columns)
                yield dict(zip(names, row, strict=True))
            except Exception as error:
                yield error


def _longest(column: Any) -> int:
    """Bytes of the longest text of a column; of others about those of a value."""
    import pyarrow
    from pyarrow import compute

    texts = column.dictionary if pyarrow.types.is_dictionary(column.type) else column
    if pyarrow.types.is_string(texts.type) or pyarrow.types.is_binary(texts.type):
        return int(compute.max(compute.binary_length(texts)).as_py() or 0)
    return int(texts.nbytes // max(1, len(texts)))


def _values(columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of columns of the same length."""
    return zip(*(map(_text, _in_python(each).to_pylist()) for each in columns), strict=True)


def _in_python(column: Any) -> Any:
    """A column whose values Python has without further packages: times in nanoseconds as text."""
    import pyarrow

    def readable(kind: Any) -> Any:
        if pyarrow.types.is_temporal(kind) and getattr(kind, "unit", "") == "ns":
            return pyarrow.string() if not pyarrow.types.is_duration(kind) else pyarrow.int64()
        if pyarrow.types.is_list(kind):
            return pyarrow.list_(readable(kind.value_type))
        if pyarrow.types.is_struct(kind):
            return pyarrow.struct([(each.name, readable(each.type)) for each in kind])
        return kind

    wanted = readable(column.type)
    return column if wanted == column.type else column.cast(wanted)


def _text(value: Any) -> Any:
    """Bytes that are a text as that text (some writers call no column one), others as None."""
    if not isinstance(value, bytes):
        return value
    try:
        return None if b"\0" in value else value.decode()
    except UnicodeDecodeError:
        return None
