"""The data of a benchmark: where it is, or how to get it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.catalogue import named
from perspective_rag import CorpusError

FOLDER = Path("data")
"""Where ``download`` puts data when nothing else is said."""


def needed(path: Path, benchmark: str) -> Path:
    """``path`` if it exists; else raises CorpusError with the command that gets such data."""
    if path.exists():
        return path
    raise CorpusError(f"{path} does not exist; {_commands(benchmark)} gets public data")


def data_note(benchmark: str, more: str = "") -> str:
    """Where the data comes from: the last lines of a command's ``--help``."""
    return f"Public data: {_commands(benchmark)}. {more}".strip()


def _commands(benchmark: str) -> str:
    names = named(benchmark).downloads
    *first, last = names
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"`python -m benchmarks download NAME` with the name {listed}"
