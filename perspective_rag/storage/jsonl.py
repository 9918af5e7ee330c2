"""Files of one thing a line: read whole, or refused with the place of what is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perspective_rag.errors import CorpusError
from perspective_rag.storage.unpacking import unpacked
from perspective_rag.values import from_json

LONGEST_LINE = 100_000_000
"""Bytes from which on a line is refused."""


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of every line that is not blank, of a file that is ``.gz`` or not.

    Lines end at line feeds alone, as JSON lines do: their texts may hold other separators. Raises
    CorpusError for a file that cannot be read.
    """
    try:
        with unpacked(path) as stream:
            lines = iter(lambda: stream.readline(LONGEST_LINE + 1), b"")
            for number, line in enumerate(lines, start=1):
                if len(line) > LONGEST_LINE:
                    raise CorpusError(f"{path}:{number}: more than {LONGEST_LINE:,} bytes")
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON lines file, each with its place ("file:line") for messages.

    Raises CorpusError for a file that cannot be read and for a line that is no JSON object.
    """
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        yield place, json_object(line, place)


def json_object(line: str, place: str) -> dict[str, Any]:
    """The JSON object of a line; raises CorpusError, naming ``place``, for anything else."""
    try:
        row = from_json(line)
    except ValueError as error:
        raise CorpusError(f"{place} is not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise CorpusError(f"{place}: expected a JSON object, got {type(row).__name__}")
    return row
