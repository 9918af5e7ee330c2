"""Where a passage is from, as people are told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from perspective_rag.redaction import redacted
from perspective_rag.text import printable
from perspective_rag.types import Passage

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
