"""A reply as Markdown, written as its parts arrive; nothing in a passage acts as mark-up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

_MARKS = re.compile(r"[\\`*_\[\]<>|~$#]|!(?=\[)|&(?=[#\w]{1,40};)")
# What makes a list or a heading at the beginning of a line.
_BEGINS = re.compile(r"^(\s*)([+=-]|\d{1,9}(?=[.)]))")
# A chat client may turn a bare address into a link or load a preview of it.
_SCHEME = re.compile(r"\b(https?|ftp|mailto|data|javascript)(?=:)", re.IGNORECASE)


def plain(text: str) -> str:
    """A text as Markdown that shows it as it is, on one line: no image, link, mark-up or HTML."""
    line = " ".join(text.split())
    line = _MARKS.sub(lambda found: "\\" + found[0], line)
    line = _SCHEME.sub(lambda found: found[0] + "\u200b", line)
    return _BEGINS.sub(lambda found: f"{found[1]}\\{found[2]}", line)


class Writer:
    """Turns the events of a question into pieces of one Markdown text."""

    def __init__(self) -> None:
        self._sides: dict[str, str] = {}
        self._cards: dict[int, dict[str, Any]] = {}
        self._section: object = None
        self._chat = False
        self._cited: dict[int, None] = {}

    def pieces(self, name: str, data: dict[str, Any]) -> Iterator[str]:
        """What an event adds to the text."""
        if name == "reading" and data["kind"] == "chat":
            self._chat = True
            yield "Ask me a question that people answer differently, and I show you every side.\n"
        elif name == "result":
            yield from self._result(data)
        elif name == "claim":
            yield from self._claim(data)
        elif name == "answer":
            yield from self._rest(data)

    def _result(self, view: dict[str, Any]) -> Iterator[str]:
        self._sides = {side["id"]: side["text"] for side in view["sides"]}
        columns = [side["cards"] for side in view["sides"]]
        columns += [view[name] for name in ("mixed", "neither", "unsorted")]
        self._cards = {card["n"]: card for column in columns for card in column}
        if view["headline"] and not self._chat:
            yield f"{plain(view['headline'])}\n"
        if view["caution"]:
            yield f"\n{plain(view['caution'])}\n"

    def _claim(self, claim: dict[str, Any]) -> Iterator[str]:
        side = claim["perspective"] if claim["perspective"] in self._sides else None
        if self._section != (side,):
            self._section = (side,)
            yield f"\n**{plain(self._sides[side])}**\n\n" if side else "\n"
        self._cited.update(dict.fromkeys(claim["citations"]))
        marks = "".join(f"[{number}]" for number in claim["citations"])
        notes = " (reported)" if claim["reported"] else ""
        notes += " (not borne out by what it cites)" if claim["verified"] is False else ""
        yield f"- {plain(claim['text'])}{notes} {marks}\n"

    def _rest(self, answer: dict[str, Any]) -> Iterator[str]:
        missing = [self._sides[each] for each in answer["unsupported"] if each in self._sides]
        if missing and self._cited:
            yield "\n"
            for text in missing:
                yield f"No passage is sorted under: {plain(text)}\n"
        for text in answer.get("missing", ()):
            yield f"\nNo passage says: {plain(text)}\n"
        if self._cited and answer.get("sources", True):
            yield "\nSources:\n\n"
            for number in sorted(self._cited):
                yield f"- [{number}] {source_line(self._cards[number])}\n"


def source_line(card: dict[str, Any]) -> str:
    """Title, source and date of a card, the title as a link where it has an address."""
    title = plain(card["title"])
    if card["url"]:
        title = f"[{title}]({quote(card['url'], safe=':/?#@!$&*+,;=%~-._')})"
    further = [plain(str(card[name])) for name in ("source", "date") if card[name]]
    further = [each for each in further if each != title]
    return f"{title} ({', '.join(further)})" if further else title
