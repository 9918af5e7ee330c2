"""Web archives (WARC, WET) as a stream of records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perspective_rag.corpus.documents import declared_charset, page_text
from perspective_rag.corpus.records import Record, Report, decoded
from perspective_rag.errors import MissingDependency
from perspective_rag.text import valid

LONGEST_PAGE = 10_000_000
"""Bytes from which on a record is left out."""

PageText = Callable[[bytes, str], tuple[str, str]]
"""Title and text of an HTML page, from its bytes and its address; raises ValueError for a page that
cannot be read."""

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_HTML = ("text/html", "application/xhtml+xml")


def warc_records(path: Path, report: Report, read_page: PageText | None = None) -> Iterator[Record]:
    """The text of each ``conversion`` record, and of each ``response`` that is an HTML page.

    ``id`` is the record's own, the address stands in the metadata as ``url``. ``read_page`` finds
    title and text of a page (default: all its text). Other records are passed over, those that
    cannot be read reported, with their number in the file for a line. Raises MissingDependency
    without warcio.
    """
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError as error:
        raise MissingDependency("warc", "reading WARC") from error
    number = 0

    def tell(line: int, message: str) -> None:
        report(number, message)

    try:
        with path.open("rb") as stream:
            for each in ArchiveIterator(stream):
                number += 1
                if each.rec_type == "conversion":
                    found = _conversion(each, tell)
                elif each.rec_type == "response" and _is_page(each):
                    found = _page(each, tell, read_page)
                else:
                    continue
                if found is None:
                    continue
                title, text = found
                if text.strip():
                    yield _record(each, number, title, text)
                else:
                    tell(0, "no text")
    except Exception as error:  # warcio raises errors of several packages on what is no WARC
        report(number + 1, f"cannot be read from here on: {error}")


def _is_page(record: Any) -> bool:
    headers = record.http_headers
    kind = (headers.get_header("Content-Type") or "") if headers is not None else ""
    return kind.partition(";")[0].strip().lower() in _HTML and headers.get_statuscode() == "200"


def _conversion(record: Any, report: Report) -> tuple[str, str] | None:
    data = _body(record, report)
    return None if data is None else ("", decoded(data, report))


def _page(record: Any, report: Report, read_page: PageText | None) -> tuple[str, str] | None:
    data = _body(record, report)
    if data is None:
        return None
    named = _CHARSET.search(record.http_headers.get_header("Content-Type"))
    if named is not None and declared_charset(data) is None:
        data = _in_utf8(data, named[1])
    if read_page is None:
        return page_text(data, report, declared_charset(data))
    try:
        return read_page(data, _url(record))
    except ValueError as error:
        report(0, f"left out: {error}")
        return None


def _in_utf8(data: bytes, charset: str) -> bytes:
    """A page whose encoding its server named alone; as it is where it is not of that encoding."""
    wrong = False

    def see(line: int, message: str) -> None:
        nonlocal wrong
        wrong = True

    text = decoded(data, see, charset)
    return data if wrong else text.encode()


def _body(record: Any, report: Report) -> bytes | None:
    data: bytes = record.content_stream().read(LONGEST_PAGE + 1)
    if len(data) > LONGEST_PAGE:
        report(0, f"left out: larger than {LONGEST_PAGE:,} bytes")
        return None
    return data


def _url(record: Any) -> str:
    return record.rec_headers.get_header("WARC-Target-URI") or ""


def _record(record: Any, number: int, title: str, text: str) -> Record:
    id = record.rec_headers.get_header("WARC-Record-ID") or ""
    id = id.strip("<>").removeprefix("urn:uuid:")
    values = {"title": title.strip(), "url": _url(record)}
    metadata = {key: valid(value) for key, value in values.items() if value}
    return Record(text.strip(), number, valid(id) or None, metadata)
