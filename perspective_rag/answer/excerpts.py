"""A passage as people read it: without mark-up of headings, around the sentence that proves it."""

from __future__ import annotations

import re

from perspective_rag.answer.citations import without_marks
from perspective_rag.text import printable, split_sentences

_HEADING = re.compile(r"(?m)^[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_LONGEST_SEARCH = 2000


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
