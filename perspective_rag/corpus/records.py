"""JSON lines and CSV as a stream of records; what cannot be used is reported."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from perspective_rag.text import valid
from perspective_rag.values import from_json

TEXT_FIELDS = ("text", "contents", "body", "passage", "document", "raw")
ID_FIELDS = ("id", "_id", "docid")
COLUMNS = ("id", "title", "text")
DELIMITERS = ",;\t|"

LONGEST_LINE = 32_000_000
"""Characters from which on a line is left out."""

# A line longer than this many times as much ends the file: it may never end.
_PASSED_OVER = 64
_LINE_ENDS = ("\n", "\r")

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


def jsonl_records(path: Path, report: Report, columns: Columns = _BY_NAME) -> Iterator[Record]:
    """One record for each line that holds a JSON object with a text; ``.gz`` is unpacked."""
    for number, line in _lines(path, report):
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


def csv_records(path: Path, report: Report, columns: Columns = _BY_NAME) -> Iterator[Record]:
    """One record for each row under the header, whose delimiter is found by trying."""
    lines = (line for _, line in _lines(path, report, newline=""))
    # The limit is a setting of the whole process; the default of 131,072 is below a long document.
    csv.field_size_limit(LONGEST_LINE)
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        return
    try:
        texts = (columns["text"].lower(),) if "text" in columns else TEXT_FIELDS
        delimiter = _delimiter(first, texts)
        header = _fields(first, delimiter)
    except csv.Error as error:
        report(1, f"not a valid CSV header: {error}")
        return
    if not any(name.strip().lower() in texts for name in header):
        report(1, f"no column named {', '.join(texts)}; columns: {', '.join(header)}")
        return
    # Strict, so that a quote that is never closed is an error and not a text as long as the file.
    rows = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    for number, row in _rows(rows, report):
        if number == 1 or not row:
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


def _lines(path: Path, report: Report, newline: str = "\n") -> Iterator[tuple[int, str]]:
    """Numbered lines as far as the file can be read; where it breaks off is reported."""
    number = 0
    try:
        with _open(path, newline) as stream:
            while line := stream.readline(LONGEST_LINE):
                number += 1
                if len(line) < LONGEST_LINE or line.endswith(_LINE_ENDS):
                    yield number, line
                    continue
                report(number, f"left out: more than {LONGEST_LINE:,} characters")
                if not _passed_over(stream):
                    report(number, "the line does not end: nothing is read from here on")
                    return
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        report(number + 1, f"cannot be read from here on: {error}")


def _passed_over(stream: io.TextIOWrapper) -> bool:
    """Goes on to the end of the line; False where it is too far off."""
    for _ in range(_PASSED_OVER):
        piece = stream.readline(LONGEST_LINE)
        if len(piece) < LONGEST_LINE or piece.endswith(_LINE_ENDS):
            return True
    return False


def _open(path: Path, newline: str) -> io.TextIOWrapper:
    opened = gzip.GzipFile(path) if path.suffix.lower() == ".gz" else io.FileIO(path)
    stream = io.BufferedReader(cast("io.RawIOBase", opened))
    try:
        start = stream.peek(2)[:2]
    except BaseException:
        stream.close()
        raise
    binary = cast("IO[bytes]", stream)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return io.TextIOWrapper(binary, encoding="utf-16", newline=newline)
    # Bytes that are not UTF-8 become lone surrogates, which are looked for line by line.
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline=newline)


def _rows(reader: Any, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line each begins on; a row that breaks the rules of CSV is reported."""
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            report(number, f"not a valid CSV row, left out to line {reader.line_num}: {error}")


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
    return Record(text, line, _id(values.get(id_key) if id_key else None), _valid(metadata))


def _valid(value: Any) -> Any:
    """JSON values with valid texts only."""
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, dict):
        return {valid(str(key)): _valid(each) for key, each in value.items()}
    return [_valid(each) for each in value] if isinstance(value, list) else value


def _id(value: Any) -> str | None:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return valid(str(value)).strip() or None
    return None
