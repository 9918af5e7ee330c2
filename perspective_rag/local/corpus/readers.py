"""Files and folders as a stream of passages: formats, links, ids."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perspective_rag.errors import ConfigError, CorpusError, count, unknown_name
from perspective_rag.extensions import part
from perspective_rag.local.corpus.documents import html_record, markdown_record, text_record
from perspective_rag.local.corpus.records import (
    COLUMNS,
    Columns,
    Record,
    Report,
    csv_records,
    jsonl_records,
)
from perspective_rag.local.corpus.splitting import count_words, split_text
from perspective_rag.local.corpus.tables import parquet_records
from perspective_rag.storage.files import MOST_UNPACKED
from perspective_rag.text import printable, valid
from perspective_rag.types import Passage

LONGEST_PASSAGE = 150
"""Words from which on a text is split."""

LONGEST_DOCUMENT = 100_000_000
"""Bytes from which on a document, which is read whole, is left out."""

HUB = "hf:"
"""What the name of a dataset begins with."""

MOST_PROBLEMS = 100
"""Problems that are kept or logged; of further ones the number is."""

_LONGEST_MESSAGE = 500

_NOT_REGULAR = "no regular file (a pipe, a device, or a link that leads nowhere)"
_LINK = "left out: it is a link; --follow-links reads those that stay within the folder"
_OUTSIDE = "left out: it is a link that leads out of the folder, or nowhere"

_log = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Something that could not be read as it stands; ``line`` 0 means the file as a whole."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.message}"
            if self.line
            else f"{self.path}: {self.message}"
        )


OnProblem = Callable[[ReadProblem], None]


def read_corpus(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    follow_links: bool = False,
    most_unpacked: int = MOST_UNPACKED,
    on_problem: OnProblem | None = None,
) -> Iterator[Passage]:
    """The passages that ``Corpus.load`` reads, one after the other.

    In memory is one record at a time; of .txt, .md and .html one file. Without ``on_problem`` the
    first hundred problems are logged as warnings, then their number. Raises as ``Corpus.load``.
    """
    reading = _Reading(How(format, columns or {}, most_unpacked), follow_links, on_problem)
    if os.fspath(path).startswith(HUB):
        return reading.passages(os.fspath(path))
    start = Path(path)
    if not start.exists():
        raise CorpusError(f"{start} does not exist")
    if not start.is_dir() and format is None and format_of(start) is None:
        raise ConfigError(
            f"{start.name}: unsupported file type; supported: {', '.join(ENDINGS)}; of another "
            f"name with a format: {', '.join(FORMATS)}"
        )
    if not start.is_dir() and not os.path.isfile(start):
        raise CorpusError(f"{start} is {_NOT_REGULAR}")
    return reading.passages(start)


class Names:
    """The ids given so far, in a temporary file as soon as they are many."""

    def __init__(self) -> None:
        self._taken = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._taken.execute("PRAGMA journal_mode = OFF")
        self._taken.execute("CREATE TABLE taken (name BLOB PRIMARY KEY) WITHOUT ROWID")
        self._taken.execute("BEGIN")
        self._last: dict[str, int] = {}  # of ids given more than once

    def distinct(self, id: str, line: int, report: Report) -> str:
        """The id, or with ``~2``, ``~3`` ... appended when it is taken, which is reported."""
        name, number = id, self._last.get(id, 1)
        while not self._take(name):
            number += 1
            name = f"{id}~{number}"
        if name != id:
            self._last[id] = number
            report(line, f"the id {id!r} is taken; this one is now {name!r}")
        return name

    def _take(self, name: str) -> bool:
        key = name.encode("utf-8", "surrogatepass")
        return self._taken.execute("INSERT OR IGNORE INTO taken VALUES (?)", (key,)).rowcount == 1


@dataclass(slots=True)
class _Reading:
    """A corpus that is being read."""

    how: How
    follow_links: bool
    on_problem: OnProblem | None
    names: Names = field(default_factory=Names)
    problems: int = 0
    first: ReadProblem | None = None

    def passages(self, start: Path | str) -> Iterator[Passage]:
        """The passages of files or of a dataset; raises CorpusError where there are none."""
        empty = True
        for passage in self._of_files(start) if isinstance(start, Path) else self._of_hub(start):
            empty = False
            yield passage
        if self.on_problem is None and self.problems > MOST_PROBLEMS:
            _log.warning("%d problems more", self.problems - MOST_PROBLEMS)
        if empty:
            reason = f"; first problem: {self.first}" if self.first else ""
            raise CorpusError(f"{start} holds no passages{reason}")

    def _tell(self, problem: ReadProblem) -> None:
        self.first = self.first or problem
        self.problems += 1
        if self.on_problem is not None:
            self.on_problem(problem)
        elif self.problems <= MOST_PROBLEMS:
            _log.warning("%s", printable(str(problem)))

    def _report(self, path: Path) -> Report:
        return lambda line, said: self._tell(ReadProblem(path, line, said[:_LONGEST_MESSAGE]))

    def _of_hub(self, source: str) -> Iterator[Passage]:
        report = self._report(Path(source))
        hub_records = part("hub_records", "hub", "reading a Hugging Face dataset")
        for record in hub_records(source, report, self.how.columns):
            yield from self._split(record, f"{source.removeprefix(HUB)}:{record.line}", report)

    def _of_files(self, start: Path) -> Iterator[Passage]:
        for path in files_of(start, self.follow_links, self._tell):
            name = valid(path.relative_to(start).as_posix() if start.is_dir() else path.name)
            yield from self._of_file(path, name)

    def _of_file(self, path: Path, name: str) -> Iterator[Passage]:
        format, report = self.how.format or format_of(path), self._report(path)
        is_document = format in DOCUMENTS
        if format is None:
            report(0, f"left out: unsupported type; supported: {', '.join(ENDINGS)}")
        elif not os.path.isfile(path):  # reading it might wait, or never end
            report(0, f"left out: {_NOT_REGULAR}")
        elif is_document and path.stat().st_size > LONGEST_DOCUMENT:
            report(0, f"left out: larger than {LONGEST_DOCUMENT:,} bytes")
        else:
            try:
                for record in FORMATS[format](path, report, self.how):
                    if is_document:
                        record.metadata["file"] = name
                    named = name if is_document else f"{name}:{record.line}"
                    yield from self._split(record, named, report)
            except (OSError, RecursionError) as error:
                report(0, f"cannot be read: {error}")

    def _split(self, record: Record, name: str, report: Report) -> Iterator[Passage]:
        """The passages of a record, which has the id ``name`` where it has none of its own."""
        id = self.names.distinct(record.id or name, record.line, report)
        # A text has at most as many words as characters.
        if len(record.text) <= LONGEST_PASSAGE or count_words(record.text) <= LONGEST_PASSAGE:
            yield Passage(id, record.text, record.metadata)
            return
        for number, text in enumerate(split_text(record.text)):
            part_id = self.names.distinct(f"{id}:{number}", record.line, report)
            yield Passage(part_id, text, {**record.metadata, "part": number})


def files_of(start: Path, follow_links: bool, tell: OnProblem) -> Iterator[Path]:
    """The files that are read at a path; ``tell`` is told of links and folders left out."""
    if not start.is_dir():
        yield start
        return
    inside = os.path.realpath(start)
    visited = {inside}

    def unreadable(error: OSError) -> None:
        tell(ReadProblem(Path(error.filename or start), 0, f"cannot be read: {error}"))

    def may_read(path: Path) -> bool:
        """Whether it is no link, or one that may be followed; what is left out is told."""
        if not path.is_symlink():
            return True
        real = os.path.realpath(path)
        stays = os.path.exists(real) and os.path.commonpath((inside, real)) == inside
        if not (follow_links and stays):
            tell(ReadProblem(path, 0, _LINK if stays else _OUTSIDE))
            return False
        return True

    def first_visit(folder: Path) -> bool:
        real = os.path.realpath(folder)
        known = real in visited
        visited.add(real)
        return not known

    for folder, subfolders, files in os.walk(start, onerror=unreadable, followlinks=follow_links):
        only = beir_corpus(Path(folder))
        if only is not None:
            subfolders.clear()
            if may_read(only):
                yield only
            continue
        subfolders[:] = [
            name
            for name in sorted(subfolders)
            if not name.startswith(".") and may_read(Path(folder, name))
            if not follow_links or first_visit(Path(folder, name))
        ]
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and may_read(path):
                yield path
