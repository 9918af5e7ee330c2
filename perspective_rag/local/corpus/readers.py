"""Files and folders as a stream of passages."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.local.corpus.formats import (
    DOCUMENTS,
    ENDINGS,
    FORMATS,
    How,
    beir_corpus,
    format_of,
)
from perspective_rag.local.corpus.names import Names
from perspective_rag.local.corpus.records import Record, Report
from perspective_rag.local.corpus.splitting import count_words, split_text
from perspective_rag.local.corpus.tables import HUB, hub_records
from perspective_rag.storage.unpacking import MOST_UNPACKED
from perspective_rag.text import printable, valid
from perspective_rag.types import Passage

LONGEST_PASSAGE = 150
"""Words from which on a text is split."""

LONGEST_DOCUMENT = 100_000_000
"""Bytes from which on a document, which is read whole, is left out."""

MOST_PROBLEMS = 100
"""Problems that are kept or logged; of further ones the number is."""

_LONGEST_MESSAGE = 500

_NOT_REGULAR = "no regular file (a pipe, a device, or a link that leads nowhere)"
_LINK = "left out: it is a link; --follow-links reads those that stay within the folder"
_OUTSIDE = "left out: it is a link that leads out of the folder, or nowhere"

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
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    follow_links: bool = False,
    most_unpacked: int = MOST_UNPACKED,
    on_problem: Callable[[ReadProblem], None] | None = None,
) -> Iterator[Passage]:
    """The passages of a file, a folder of files, or ``hf:NAME[:CONFIG][:SPLIT]``, a Hugging Face
    dataset.

    Files are .jsonl, .csv, .tsv (each also .gz), .parquet, .txt, .md and .html; of a
    folder in the layout of BEIR the corpus alone is read. A record's ``id``, ``title`` and ``text``
    (or contents, body, passage, document, raw) become the passage, every other field its metadata;
    without an id it is named after file and line. A text of more than 150 words is split at
    sentence ends, with {"part": i} in the metadata. Records are streamed; what stays in memory is 8
    bytes for each id that does not count on, and one file at a time for .txt, .md and .html.

    ``format`` is that of all files, whatever their names: jsonl, csv, parquet, text, markdown
    or html. ``columns`` names the fields of ``id``, ``title`` or ``text`` where they are others.
    ``follow_links`` reads what symbolic links in the folder lead to, as long as that lies in the
    folder too; other links are never followed. ``most_unpacked`` is how many bytes a row group of a
    Parquet file may take, and a gzip'd file unpack to where that is over 100 times its size.

    What cannot be read is left out and given to ``on_problem`` (default: the first hundred are
    logged as warnings, then their number): also what is no regular file (a pipe, a device), a link,
    a document of more than 100 MB and a line of more than 32 million characters. Raises CorpusError
    when the path does not exist, is no regular file or folder or holds no passage, ConfigError when
    its type is not supported, MissingDependency for Parquet and datasets without the extras
    ``parquet`` and ``hub``.
    """
    how = How(format, columns or {}, most_unpacked)
    tell = on_problem or _Logged()
    if os.fspath(path).startswith(HUB):
        return _passages(path, how, follow_links, tell)
    start = Path(path)
    if not start.exists():
        raise CorpusError(f"{start} does not exist")
    if not start.is_dir() and how.format is None and format_of(start) is None:
        raise ConfigError(
            f"{start.name}: unsupported file type; supported: {', '.join(ENDINGS)}; of another "
            f"name with a format: {', '.join(FORMATS)}"
        )
    if not start.is_dir() and not os.path.isfile(start):
        raise CorpusError(f"{start} is {_NOT_REGULAR}")
    return _passages(start, how, follow_links, tell)


class _Logged:
    """Logs the first problems, and in the end how many more there were."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, problem: ReadProblem) -> None:
        self._count += 1
        if self._count <= MOST_PROBLEMS:
            _log.warning("%s", printable(str(problem)))

    def end(self) -> None:
        if self._count > MOST_PROBLEMS:
            _log.warning("%d problems more", self._count - MOST_PROBLEMS)


def _passages(
    start: str | os.PathLike[str],
    how: How,
    follow_links: bool,
    on_problem: Callable[[ReadProblem], None],
) -> Iterator[Passage]:
    names = Names()
    first: ReadProblem | None = None
    empty = True

    def tell(problem: ReadProblem) -> None:
        nonlocal first
        first = first or problem
        on_problem(problem)

    found = (
        _of_files(start, how, follow_links, names, tell)
        if isinstance(start, Path)
        else _of_hub(os.fspath(start), how, names, tell)
    )
    for passage in found:
        empty = False
        yield passage
    if isinstance(on_problem, _Logged):
        on_problem.end()
    if empty:
        reason = f"; first problem: {first}" if first else ""
        raise CorpusError(f"{start} holds no passages{reason}")


def _of_hub(
    source: str, how: How, names: Names, tell: Callable[[ReadProblem], None]
) -> Iterator[Passage]:
    def report(line: int, message: str) -> None:
        tell(ReadProblem(Path(source), line, message[:_LONGEST_MESSAGE]))

    for record in hub_records(source, report, how.columns):
        named = replace(record, id=record.id or f"{source.removeprefix(HUB)}:{record.line}")
        yield from _split(named, names, report)


def _of_files(
    start: Path,
    how: How,
    follow_links: bool,
    names: Names,
    tell: Callable[[ReadProblem], None],
) -> Iterator[Passage]:
    for path in _files(start, follow_links, tell):
        name = valid(path.relative_to(start).as_posix() if start.is_dir() else path.name)
        yield from _of_file(path, name, how, names, tell)


def _of_file(
    path: Path, name: str, how: How, names: Names, tell: Callable[[ReadProblem], None]
) -> Iterator[Passage]:
    format = how.format or format_of(path)
    if format is None:
        tell(ReadProblem(path, 0, f"left out: unsupported type; supported: {', '.join(ENDINGS)}"))
        return

    def report(line: int, message: str) -> None:
        tell(ReadProblem(path, line, message[:_LONGEST_MESSAGE]))

    is_document = format in DOCUMENTS
    if not os.path.isfile(path):  # reading it might wait, or never end
        report(0, f"left out: {_NOT_REGULAR}")
        return
    if is_document and path.stat().st_size > LONGEST_DOCUMENT:
        report(0, f"left out: larger than {LONGEST_DOCUMENT:,} bytes")
        return
    try:
        for record in FORMATS[format](path, report, how):
            if is_document:
                record = replace(record, id=name, metadata={**record.metadata, "file": name})
            elif record.id is None:
                record = replace(record, id=f"{name}:{record.line}")
            yield from _split(record, names, report)
    except (OSError, RecursionError) as error:
        report(0, f"cannot be read: {error}")


def _split(record: Record, names: Names, report: Report) -> Iterator[Passage]:
    id = names.distinct(record.id or "", record.line, report)
    # A text has at most as many words as characters.
    if len(record.text) <= LONGEST_PASSAGE or count_words(record.text) <= LONGEST_PASSAGE:
        yield Passage(id, record.text, record.metadata)
        return
    for part, text in enumerate(split_text(record.text)):
        part_id = names.distinct(f"{id}:{part}", record.line, report)
        yield Passage(part_id, text, {**record.metadata, "part": part})


def corpus_files(start: Path, *, follow_links: bool = False) -> Iterator[Path]:
    """The files that would be read at a path."""
    return _files(start, follow_links, lambda problem: None)


def _files(start: Path, follow_links: bool, tell: Callable[[ReadProblem], None]) -> Iterator[Path]:
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
