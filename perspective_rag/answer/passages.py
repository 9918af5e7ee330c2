"""A passage as people read it: what it is cited by, where it is from, and an excerpt of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from perspective_rag.redaction import redacted
from perspective_rag.text import printable, split_sentences
from perspective_rag.types import Candidate, Passage, passage_key

# The space before a mark is looked at once, from its beginning.
MARK = re.compile(r"(?<!\s)\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
# Brackets of other scripts, and spaces inside, look like a mark too; so does a link in brackets.
_FORGED = re.compile(
    r"(?<!\s)\s*(?:[\[［【〔]\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*[\]］】〕]"
    r"|\[{1,2}https?://[^\s\]]*\]{1,2})"
)
_ROUND = str.maketrans("[［【〔]］】〕", "(（((" + ")）))")
_HEADING = re.compile(r"(?m)^[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_LONGEST_SEARCH = 2000
_LONGEST = 300
_LONGEST_URL = 2000
_URLS = ("url", "link", "source_url", "source")
_DATES = ("date", "published", "published_at", "publication_date", "created", "year")
_LEANINGS = ("leaning", "outlet_leaning", "political_leaning", "bias")
_MOTION = re.compile(
    r"^TH[A-Z]{1,3}\b|(?i:^(?:this house|resolved)\b|\b(?:should|must|ought to)\b)|\?$"
)
# A folder of the machine's own: loaders of other libraries put one into "source".
_PATH = re.compile(r"^(?:file:/|[/\\~]|[A-Za-z]:[/\\])")


def citation_keys(candidates: Sequence[Candidate]) -> list[str]:
    """The name by which a claim cites each candidate: its passage's id, else what
    ``identity.passage_key`` makes of it; no two are the same.
    """
    keys: dict[str, None] = {}
    for candidate in candidates:
        own = key = passage_key(candidate.passage)
        number = 1
        while key in keys:
            number += 1
            key = f"{own}#{number}"
        keys[key] = None
    return list(keys)


def without_marks(text: str) -> str:
    """A text without what looks like a citation, as "[2]" does: those of a quoted passage are not
    ours.
    """
    bare = _FORGED.sub("", text)
    # "[1[2]]": what is left of a mark around a mark.
    return _FORGED.sub(lambda left: left[0].translate(_ROUND), bare).strip()


def without_headings(text: str) -> str:
    """A text without the "#" of Markdown headings; their words stay."""
    return _HEADING.sub("", text)


def span_of(sentence: str, text: str) -> tuple[int, int] | None:
    """Where a sentence of ``quotable`` or ``tellable`` stands in the text it was cut from: (start,
    end) in characters, None where it does not.
    """
    wanted = _plain(printable(sentence))
    end = 0
    for each in split_sentences(text):
        start = text.index(each, end)
        end = start + len(each)
        if _plain(each) == wanted:
            return start, end
    # Of two sentences, or with another end than it has there.
    for part in (wanted, wanted.rstrip(".")):
        words = part[:_LONGEST_SEARCH].split()
        if words and words != ["."]:
            found = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
            if found:
                return found.span()
    return None


def excerpt(
    text: str, span: tuple[int, int] | None, length: int
) -> tuple[str, tuple[int, int] | None]:
    """At most about ``length`` characters of a text, cut at spaces, and where the span is in them.

    Around the span; without one, the beginning and the end, where a conclusion often stands.
    """
    if len(text) <= length:
        return text, span
    if span is None:
        half = length // 2
        return f"{text[:half].rsplit(' ', 1)[0]} … {text[-half:].partition(' ')[2]}", None
    start, end = span
    room = max(0, length - (end - start))
    first = max(0, min(start - room // 2, len(text) - length))
    last = min(len(text), max(end, first + length))
    if first > 0:
        first = text.find(" ", first, start) + 1 or start
    if last < len(text):
        last = max(end, text.rfind(" ", end, last))
    head, tail = "… " if first else "", " …" if last < len(text) else ""
    moved = len(head) - first
    return f"{head}{text[first:last]}{tail}", (start + moved, end + moved)


def _plain(sentence: str) -> str:
    return without_marks(" ".join(sentence.split()))


@dataclass(frozen=True, slots=True)
class Origin:
    """Title, source, address, date and the outlet's leaning, as far as the metadata has them."""

    title: str
    source: str
    url: str | None
    date: str | None
    leaning: str | None


def origin_of(passage: Passage) -> Origin:
    """The origin of a passage: of a file the name alone, of an address only http and https without
    a user.
    """
    metadata = passage.metadata
    source = _line(metadata.get("source") or metadata.get("file"))
    url = next((u for name in _URLS if (u := _address(metadata.get(name)))), None)
    if not source and url is not None:
        source = urlsplit(url).hostname or ""
    if _PATH.match(source):
        source = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    title = _line(passage.title)
    if _MOTION.search(title):  # a debate's motion is not what the passage says
        title = f"debate: {title}"
    return Origin(
        title or _line(passage.id),
        source,
        url,
        _first(metadata, _DATES),
        _first(metadata, _LEANINGS),
    )


def _first(metadata: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((line for name in names if (line := _line(metadata.get(name)))), None)


def _line(value: Any) -> str:
    if value is None or isinstance(value, (dict, list, tuple, set, bytes)):
        return ""
    return redacted(" ".join(printable(str(value)).split()))[:_LONGEST]


def _address(value: Any) -> str | None:
    if not isinstance(value, str) or not value.lower().startswith(("http://", "https://")):
        return None
    text = value.strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    sound = parts.hostname and parts.username is None and len(text) <= _LONGEST_URL
    return text if sound and text.isprintable() and not re.search(r"[\s<>\"]", text) else None
