"""The claims of a model's reply, one by one while it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from perspective_rag.protocols import StreamsText
from perspective_rag.types import Prompt

LONGEST = 200_000  # characters of a reply that are read
_LONGEST_CLAIM = 8_000  # after more without an end nothing is told before the reply's end


class ClaimReader:
    """Finds the complete objects of the list "claims" in a reply that grows.

    ``feed`` takes the next piece and returns the objects that it completes; a reply without such a
    list gives none. The time is linear in the reply's length.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._opened = self._lost = False
        self._decoder = json.JSONDecoder(strict=False)

    def feed(self, piece: str) -> list[Any]:
        """The objects that ended with this piece."""
        if self._lost:
            return []
        self._pending += piece
        if not self._opened:
            self._open()
        found = self._objects() if self._opened and "}" in piece else []
        if len(self._pending) > _LONGEST_CLAIM:
            self._lost, self._pending = True, ""
        return found

    def _open(self) -> None:
        name = self._pending.find('"claims"')
        bracket = self._pending.find("[", name) if name >= 0 else -1
        if bracket >= 0:
            self._opened, self._pending = True, self._pending[bracket + 1 :]

    def _objects(self) -> list[Any]:
        found: list[Any] = []
        start = 0
        while True:
            place = self._pending.find("{", start)
            if place < 0 or self._pending[start:place].strip(" \t\r\n,"):
                break
            try:
                value, start = self._decoder.raw_decode(self._pending, place)
            except (json.JSONDecodeError, RecursionError):
                break
            found.append(value)
        self._pending = self._pending[start:]
        return found


class StreamedReply:
    """A reply that is being written. ``step`` blocks until it has a claim more, or is at its end;
    ``stop`` ends it at the next piece.
    """

    def __init__(self, llm: StreamsText, prompt: Prompt) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.done = False
        self._pieces: Iterator[str] = iter(llm.stream(prompt))
        self._reader = ClaimReader()
        self._stopped = False

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self._parts)

    def step(self) -> list[Any]:
        """The objects of the next claims; empty at the end."""
        for piece in self._pieces:
            if self._stopped or self._length > LONGEST:
                break
            self._parts.append(piece)
            self._length += len(piece)
            if found := self._reader.feed(piece):
                return found
        self.done = True
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()
        return []

    def stop(self) -> None:
        """Ends the reply at its next piece."""
        self._stopped = True
