"""Files and folders as a stream of passages."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from perspective_rag.corpus.documents import html_record, markdown_record, text_record
from perspective_rag.corpus.records import Record, Report, csv_records, jsonl_records
from perspective_rag.corpus.splitting import count_words, split_text
from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.text import printable, valid
from perspective_rag.types import Passage

LONGEST_PASSAGE = 150
"""Words from which on a text is split."""

LONGEST_DOCUMENT = 100_000_000
"""Bytes from which on a document, which is read whole, is left out."""

_Reader = Callable[[Path, Report], Iterator[Record]]
_READERS: dict[str, _Reader] = {
    ".jsonl": jsonl_records,
    ".jsonl.gz": jsonl_records,
    ".csv": csv_records,
    ".tsv": csv_records,
    ".txt": text_record,
    ".md": markdown_record,
    ".html": html_record,
    ".htm": html_record,
}
_DOCUMENTS = (text_record, markdown_record, html_record)
_NOT_REGULAR = "no regular file (a pipe, a device, or a link that leads nowhere)"

_log = logging.getLogger(__name__)


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


def read_corpus(
    path: str | os.PathLike[str], *, on_problem: Callable[[ReadProblem], None] | None = None
) -> Iterator[Passage]:
    """The passages of a file (.jsonl, .jsonl.gz, .csv, .tsv, .txt, .md, .html) or a folder of such.

    A record's ``id``, ``title`` and ``text`` (or contents, body, passage, document) become the
    passage, every other field its metadata; without an id it is named after file and line. A text
    of more than 150 words is split at sentence ends, with {"part": i} in the metadata. Records are
    streamed; what stays in memory is their ids, and one file at a time for .txt, .md and .html.

    What cannot be read is left out and given to ``on_problem`` (default: logged as a warning): also
    what is no regular file (a pipe, a device), a document of more than 100 MB and a line of more
    than 32 million characters. Raises CorpusError when the path does not exist, is no regular file
    or folder or holds no passage, ConfigError when its type is not supported.
    """
    start = Path(path)
    if not start.exists():
        raise CorpusError(f"{start} does not exist")
    if not start.is_dir() and _reader_of(start) is None:
        raise ConfigError(f"{start.name}: unsupported file type; supported: {', '.join(_READERS)}")
    if not start.is_dir() and not os.path.isfile(start):
        raise CorpusError(f"{start} is {_NOT_REGULAR}")
    return _passages(
        start, on_problem or (lambda problem: _log.warning("%s", printable(str(problem))))
    )


def _passages(start: Path, on_problem: Callable[[ReadProblem], None]) -> Iterator[Passage]:
    names = _Names()
    first: ReadProblem | None = None
    empty = True

    def tell(problem: ReadProblem) -> None:
        nonlocal first
        first = first or problem
        on_problem(problem)

    for path in _files(start, tell):
        name = valid(path.relative_to(start).as_posix() if start.is_dir() else path.name)
        for passage in _of_file(path, name, names, tell):
            empty = False
            yield passage
    if empty:
        reason = f"; first problem: {first}" if first else ""
        raise CorpusError(f"{start} holds no passages{reason}")


def _of_file(
    path: Path, name: str, names: _Names, tell: Callable[[ReadProblem], None]
) -> Iterator[Passage]:
    reader = _reader_of(path)
    if reader is None:
        tell(ReadProblem(path, 0, f"left out: unsupported type; supported: {', '.join(_READERS)}"))
        return

    def report(line: int, message: str) -> None:
        tell(ReadProblem(path, line, message))

    is_document = reader in _DOCUMENTS
    if not os.path.isfile(path):  # reading it might wait, or never end
        report(0, f"left out: {_NOT_REGULAR}")
        return
    if is_document and path.stat().st_size > LONGEST_DOCUMENT:
        report(0, f"left out: larger than {LONGEST_DOCUMENT:,} bytes")
        return
    try:
        for record in reader(path, report):
            if is_document:
                record = replace(record, id=name, metadata={**record.metadata, "file": name})
            elif record.id is None:
                record = replace(record, id=f"{name}:{record.line}")
            yield from _split(record, names, report)
    except OSError as error:
        report(0, f"cannot be read: {error}")


def _split(record: Record, names: _Names, report: Report) -> Iterator[Passage]:
    id = names.distinct(record.id or "", record.line, report)
    # A text has at most as many words as characters.
    if len(record.text) <= LONGEST_PASSAGE or count_words(record.text) <= LONGEST_PASSAGE:
        yield Passage(id, record.text, record.metadata)
        return
    for part, text in enumerate(split_text(record.text)):
        part_id = names.distinct(f"{id}:{part}", record.line, report)
        yield Passage(part_id, text, {**record.metadata, "part": part})


class _Names:
    """The ids given so far, and for those given more than once the last number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def distinct(self, id: str, line: int, report: Report) -> str:
        """The id, or with ``~2``, ``~3`` ... appended when it is taken, which is reported."""
        name, count = id, self._last.get(id, 1)
        while name in self._taken:
            count += 1
            name = f"{id}~{count}"
        if name != id:
            self._last[id] = count
            report(line, f"the id {id!r} is taken; this one is now {name!r}")
        self._taken.add(name)
        return name


def corpus_files(start: Path) -> Iterator[Path]:
    """The files that would be read at a path."""
    return _files(start, lambda problem: None)


def _files(start: Path, tell: Callable[[ReadProblem], None]) -> Iterator[Path]:
    if not start.is_dir():
        yield start
        return

    def unreadable(error: OSError) -> None:
        tell(ReadProblem(Path(error.filename or start), 0, f"cannot be read: {error}"))

    for folder, subfolders, files in os.walk(start, onerror=unreadable):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(folder, name)


def _reader_of(path: Path) -> _Reader | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    return _READERS.get(ending)
