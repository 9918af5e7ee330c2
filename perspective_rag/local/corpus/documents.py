"""Whole files as one record each: plain text, Markdown, HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from perspective_rag.local.corpus.records import Record, Report, decoded

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.S | re.M)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.M)
_UNDERLINED = re.compile(r"^(\S.*)\r?\n(?:=+|-{2,})[ \t]*$", re.M)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S.*)$", re.M)
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.I)

_DROPPED = frozenset({"script", "style", "nav", "noscript", "template"})
_INLINE = re.compile(
    r"a|abbr|b|bdi|bdo|cite|code|data|dfn|em|font|i|img|kbd|label|mark|q|s|samp|small|span|strong"
    r"|sub|sup|time|tt|u|var|wbr"
)


def text_record(path: Path, report: Report) -> Iterator[Record]:
    """A plain text file."""
    yield from _record(decoded(path.read_bytes(), report), "", report)


def markdown_record(path: Path, report: Report) -> Iterator[Record]:
    """A Markdown file without its front matter; its first heading is the title."""
    text = decoded(path.read_bytes(), report)
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    prose = _FENCED.sub("", body)
    yield from _record(body, _heading(prose) or _front_title(front[1] if front else ""), report)


def _heading(prose: str) -> str:
    found = [match for match in (_HEADING.search(prose), _UNDERLINED.search(prose)) if match]
    if not found:
        return ""
    first = min(found, key=lambda match: match.start())
    return first[1].rstrip().rstrip("#") if first.re is _HEADING else first[1]


def _front_title(front: str) -> str:
    match = _FRONT_TITLE.search(front)
    if match is None:
        return ""
    title = match[1].rstrip()
    return title.removeprefix(title[0]).removesuffix(title[0]) if title[0] in "\"'" else title


def html_record(path: Path, report: Report) -> Iterator[Record]:
    """The text of an HTML file, a line for each block, without scripts, styles, navigation."""
    data = path.read_bytes()
    page = _Page()
    try:
        # The line end completes an entity at the end. The parser's own close() goes through what is
        # never ended once for each "<" in it.
        page.feed(decoded(data, report, declared_charset(data)) + "\n")
        if page.rawdata:
            report(0, f"the last {len(page.rawdata)} characters are in a tag that never ends")
    except AssertionError as error:  # html.parser, on some broken declarations
        report(0, f"cannot be read to its end: {error}")
    yield from _record(page.text(), page.titled("title") or page.titled("h1"), report)


def declared_charset(data: bytes) -> str | None:
    """The character set that a page names at its beginning."""
    named = _CHARSET.search(data, 0, 2048)
    return named[1].decode("ascii", "replace") if named else None


def _record(text: str, title: str, report: Report) -> Iterator[Record]:
    if "\0" in text:
        report(0, "left out: it holds NUL characters, so it is no text")
    elif text.strip():
        yield Record(text.strip(), metadata={"title": title.strip()} if title.strip() else {})
    else:
        report(0, "no text")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._titles: dict[str, list[str]] = {}
        self._open_title: str | None = None
        self._dropping: list[str] = []  # the open tags whose text is left out, each once

    def titled(self, tag: str) -> str:
        return " ".join("".join(self._titles.get(tag, [])).split())

    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._parts).split("\n"))
        return "\n".join(line for line in lines if line)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED:
            if tag not in self._dropping:
                self._dropping.append(tag)
        elif tag in ("main", "article"):
            self._dropping.clear()  # navigation that was never closed ends where the content begins
        if not _INLINE.fullmatch(tag):
            self._open_title = None
        if tag in ("title", "h1") and tag not in self._titles and not self._dropping:
            self._open_title = tag
            self._titles[tag] = []
        if not _INLINE.fullmatch(tag):
            self._parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._dropping:
            del self._dropping[self._dropping.index(tag) :]
        if tag == self._open_title:
            self._open_title = None
        if not _INLINE.fullmatch(tag):
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._dropping:
            return
        if self._open_title is not None:
            self._titles[self._open_title].append(data)
        if self._open_title != "title":
            # A line break in the source is a space in the page.
            self._parts.append(data.replace("\n", " "))
