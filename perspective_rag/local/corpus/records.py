"""JSON lines and CSV as a stream of records; what cannot be used is reported."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perspective_rag.storage.files import MOST_UNPACKED, unpacked
from perspective_rag.text import from_json, valid

TEXT_FIELDS = ("text", "contents", "body", "passage", "document", "raw")
ID_FIELDS = ("id", "_id", "docid")
COLUMNS = ("id", "title", "text")
DELIMITERS = ",;\t|"

LONGEST_LINE = 32_000_000
"""Characters from which on a line, or a row of a CSV file, is left out."""

# A line longer than this many times as much ends the file: it may never end.
_PASSED_OVER = 64
_LINE_ENDS = ("\n", "\r")
# Deeper values than any writer of JSON takes.
_DEEPEST = 100

Report = Callable[[int, str], None]
"""Called with a line number (0: the file as a whole) and what is wrong there."""

Columns = Mapping[str, str]
"""The names of the fields that hold id, title and text, where they are not those of the lists."""

_BY_NAME: Columns = {}
_SURROGATE = re.compile("[\ud800-\udfff]")
# Encodings of Python that are no page's: quadratic in the length, or with escapes for anything.
_NO_CHARSETS = frozenset(
    "idna punycode unicode_escape unicode-escape raw_unicode_escape raw-unicode-escape utf-7"
    " undefined mbcs oem".split()
)


@dataclass(frozen=True, slots=True)
class Record:
    """A text and what is known about it; ``id`` is None where the file gives none."""

    text: str
    line: int = 0
    id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def jsonl_records(
    path: Path, report: Report, columns: Columns = _BY_NAME, most_unpacked: int = MOST_UNPACKED
) -> Iterator[Record]:
    """One record for each line that holds a JSON object with a text; ``.gz`` is unpacked."""
    passing = False  # over the rest of a line that is too long
    for number, line, ends in _pieces(path, report, "\n", most_unpacked):
        if passing or not ends:
            if not passing:
                report(number, f"left out: more than {LONGEST_LINE:,} characters")
            passing = not ends
            continue
        if not line.strip():
            continue
        if _SURROGATE.search(line):
            report(number, "not valid UTF-8")
            continue
        try:
            values = from_json(line)
        except ValueError as error:
            report(number, f"not valid JSON: {error}")
            continue
        if not isinstance(values, dict):
            report(number, f"expected a JSON object, got {type(values).__name__}")
            continue
        record = as_record(values, number, report, columns)
        if record is not None:
            yield record


def csv_records(
    path: Path, report: Report, columns: Columns = _BY_NAME, most_unpacked: int = MOST_UNPACKED
) -> Iterator[Record]:
    """One record for each row under the header, whose delimiter is found by trying."""
    lines = _RowLines(_pieces(path, report, "", most_unpacked))
    # The limit is a setting of the whole process; the default of 131,072 is below a long document.
    csv.field_size_limit(LONGEST_LINE)
    try:
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            return
        texts = (columns["text"].lower(),) if "text" in columns else TEXT_FIELDS
        delimiter = _delimiter(first, texts)
        header = _fields(first, delimiter)
    except csv.Error as error:
        report(max(1, lines.number), f"not a valid CSV header: {error}")
        return
    if not any(name.strip().lower() in texts for name in header):
        report(1, f"no column named {', '.join(texts)}; columns: {', '.join(header)}")
        return
    # Strict, so that a quote that is never closed is an error and not a text as long as the file.
    rows = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    header_line = lines.number
    for number, row in _rows(rows, lines, report):
        if number == header_line or not row:
            continue
        if len(row) > len(header):
            report(number, f"{len(row)} fields where the header has {len(header)}")
        elif any(map(_SURROGATE.search, row)):
            report(number, "not valid UTF-8")
        else:
            values = dict(zip(header, row, strict=False))
            record = as_record(values, number, report, columns)
            if record is not None:
                yield record


def decoded(data: bytes, report: Report, declared: str | None = None) -> str:
    """Text from bytes in UTF-8, UTF-16 with its mark, or else the ``declared`` encoding.

    Bytes that fit none of them are replaced and reported.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if declared is not None:
            try:
                if codecs.lookup(declared).name not in _NO_CHARSETS:
                    return data.decode(declared)
            except (LookupError, ValueError):
                pass
        line = data.count(b"\n", 0, error.start) + 1
        report(line, "not valid UTF-8; the bytes that could not be read were replaced")
        return data.decode("utf-8-sig", errors="replace")


def _pieces(
    path: Path, report: Report, newline: str, most_unpacked: int
) -> Iterator[tuple[int, str, bool]]:
    """The lines of a file, each with its number and whether it ends here, as far as the file can be
    read; where it breaks off is reported. A line that is too long comes in pieces.
    """
    number, pieces = 0, 0  # of the line that has not ended
    try:
        with _open(path, newline, most_unpacked) as stream:
            while piece := stream.readline(LONGEST_LINE):
                number += not pieces
                ends = len(piece) < LONGEST_LINE or piece.endswith(_LINE_ENDS)
                yield number, piece, ends
                pieces = 0 if ends else pieces + 1
                if pieces > _PASSED_OVER:
                    report(number, "the line does not end: nothing is read from here on")
                    return
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        report(number + 1, f"cannot be read from here on: {error}")


def _open(path: Path, newline: str, most_unpacked: int) -> io.TextIOWrapper:
    stream: Any = unpacked(path, most_unpacked)
    try:
        start = stream.peek(2)[:2]
    except BaseException:
        stream.close()
        raise
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return io.TextIOWrapper(stream, encoding="utf-16", newline=newline)
    # Bytes that are not UTF-8 become lone surrogates, which are looked for line by line.
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=newline)


class _RowLines:
    """The lines of a CSV file as its reader takes them, which ends a row that is too long.

    csv.Error ends the row; ``end_row`` then passes over the rest of it, so that the next row is
    read as what it is. Inside a quoted field the row has an odd number of quotes.
    """

    def __init__(self, pieces: Iterator[tuple[int, str, bool]]) -> None:
        self._pieces = pieces
        self.number = 0
        self.too_long = False
        self._ends, self._size, self._quotes = True, 0, 0

    def begin(self) -> None:
        """A row begins with the next line."""
        self._size, self._quotes, self.too_long = 0, 0, False

    def __iter__(self) -> _RowLines:
        return self

    def __next__(self) -> str:
        line = self._take()
        self._size += len(line)
        if self._size > LONGEST_LINE or not self._ends:
            self.too_long = True
            raise csv.Error(f"more than {LONGEST_LINE:,} characters")
        return line

    def end_row(self) -> bool:
        """Goes behind the end of the row; False where the file ends before."""
        while not self._ends or self._quotes % 2:
            try:
                self._take()
            except StopIteration:
                return False
        return True

    def _take(self) -> str:
        self.number, piece, self._ends = next(self._pieces)
        self._quotes += piece.count('"')
        return piece


def _rows(reader: Any, lines: _RowLines, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line each begins on; a row that breaks the rules of CSV is reported."""
    number = lines.number  # of the header, which was taken from the lines to be looked at
    while True:
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            whole = not lines.too_long or lines.end_row()
            report(number, f"not a valid CSV row, left out to line {lines.number}: {error}")
            if not whole:
                report(number, "the row does not end: nothing is read from here on")
        lines.begin()
        number = lines.number + 1


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter))


def _delimiter(header: str, texts: tuple[str, ...]) -> str:
    def fit(delimiter: str) -> tuple[bool, int]:
        names = _fields(header, delimiter)
        return any(name.strip().lower() in texts for name in names), len(names)

    return max(DELIMITERS, key=fit)


def as_record(
    values: dict[str, Any], line: int, report: Report, columns: Columns = _BY_NAME
) -> Record | None:
    """The record of a row's fields, None where none of them holds a text, which is reported.

    Of Sphere's passages (the text is ``raw``) the ``vector`` is left out.
    """
    keys = {key.strip().lower(): key for key in reversed(values)}

    def among(column: str, names: tuple[str, ...]) -> list[str]:
        wanted = (columns[column].strip().lower(),) if column in columns else names
        return [keys[name] for name in wanted if name in keys]

    named = among("text", TEXT_FIELDS)
    texts = [key for key in named if isinstance(values[key], str) and values[key].strip()]
    if not texts:
        wanted = columns["text"] if "text" in columns else ", ".join(TEXT_FIELDS)
        report(line, f"no text: none of {wanted} holds one; fields: {', '.join(values) or 'none'}")
        return None
    text: str = values[texts[0]]
    if _SURROGATE.search(text):
        report(line, "the text holds half a surrogate pair, which was replaced")
        text = valid(text)
    id_key = next(iter(among("id", ID_FIELDS)), None)
    passed = {texts[0], id_key} | ({keys.get("vector")} if texts[0].lower() == "raw" else set())
    metadata = {key: value for key, value in values.items() if key not in passed}
    for key in among("title", ("title",)):
        if key in metadata and ("title" in columns or "title" not in metadata):
            metadata["title"] = metadata.pop(key)
    try:
        sound = _valid(metadata)
    except RecursionError:
        report(line, f"left out: nested deeper than {_DEEPEST} levels")
        return None
    return Record(text, line, _id(values.get(id_key) if id_key else None), sound)


def _valid(value: Any, depth: int = 0) -> Any:
    """JSON values with valid texts only; raises RecursionError for what is nested too deep."""
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, dict):
        return {valid(str(key)): _valid(each, depth + 1) for key, each in value.items()}
    return [_valid(each, depth + 1) for each in value] if isinstance(value, list) else value


def _id(value: Any) -> str | None:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return valid(str(value)).strip() or None
    return None
