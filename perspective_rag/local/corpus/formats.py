"""The formats of files, by their names and by what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perspective_rag.errors import ConfigError, count, unknown_name
from perspective_rag.local.corpus.documents import html_record, markdown_record, text_record
from perspective_rag.local.corpus.records import (
    COLUMNS,
    Columns,
    Record,
    Report,
    csv_records,
    jsonl_records,
)
from perspective_rag.local.corpus.tables import parquet_records
from perspective_rag.storage.unpacking import MOST_UNPACKED


@dataclass(frozen=True, slots=True)
class How:
    """How files are read: ``format`` for all of them (default: by their names), which columns hold
    id, title and text (default: by their names), and how many bytes a packed file may unpack to.
    """

    format: str | None = None
    columns: Columns = field(default_factory=dict)
    most_unpacked: int = MOST_UNPACKED

    def __post_init__(self) -> None:
        count("most_unpacked", self.most_unpacked)
        if self.format is not None and self.format not in FORMATS:
            raise unknown_name(self.format, FORMATS, "format")
        sound = isinstance(self.columns, Mapping) and all(
            isinstance(name, str) and name for name in self.columns.values()
        )
        if not sound or set(self.columns) - set(COLUMNS):
            raise ConfigError(
                f"columns must give names of columns for some of {', '.join(COLUMNS)};"
                f" got {self.columns!r:.200}"
            )


Reader = Callable[[Path, Report, How], Iterator[Record]]

FORMATS: dict[str, Reader] = {
    "jsonl": lambda path, report, how: jsonl_records(path, report, how.columns, how.most_unpacked),
    "csv": lambda path, report, how: csv_records(path, report, how.columns, how.most_unpacked),
    "parquet": lambda path, report, how: parquet_records(
        path, report, how.columns, how.most_unpacked
    ),
    "text": lambda path, report, how: text_record(path, report),
    "markdown": lambda path, report, how: markdown_record(path, report),
    "html": lambda path, report, how: html_record(path, report),
}
DOCUMENTS = ("text", "markdown", "html")
"""Formats of which a file is one record, and is read whole."""

ENDINGS = {
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".txt": "text",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
}


def format_of(path: Path) -> str | None:
    """The format that the ending of a file's name stands for; None for one that is not known."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    return ENDINGS.get(ending)


def beir_corpus(folder: Path) -> Path | None:
    """The passages of a BEIR folder, which has queries or labels beside them; None for others."""
    if not any((folder / name).exists() for name in ("queries.jsonl", "queries.jsonl.gz", "qrels")):
        return None
    found = (folder / name for name in ("corpus.jsonl", "corpus.jsonl.gz"))
    return next((path for path in found if path.exists()), None)
