"""Lines that a person types: with editing, history and completion where the terminal has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROMPT = "> "

ReadLine = Callable[[], str]
"""Blocks until there is a line; raises EOFError at the end of the input, KeyboardInterrupt."""


def line_reader(commands: Sequence[str], history: Path | None) -> ReadLine:
    """prompt_toolkit's editor in a terminal where it is installed, else ``input``.

    ``commands`` are completed with Tab. ``history`` is a file that only its owner can read, from
    which earlier lines come back with the arrow keys (None: those of this session alone).
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _piped
    try:
        return _editor(commands, history)
    except ImportError:
        return _plain


def _piped() -> str:
    return input()


def _plain() -> str:
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, editing by importing it
    return input(PROMPT)


def _editor(commands: Sequence[str], history: Path | None) -> ReadLine:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    kept: Any = InMemoryHistory()
    if history is not None and _own_file(history):
        kept = FileHistory(str(history))
    session: Any = PromptSession(
        history=kept,
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        enable_history_search=True,
    )

    def read() -> str:
        line: str = session.prompt(PROMPT)
        return line

    return read


def _own_file(path: Path) -> bool:
    """Whether the file can be written, made with rights for its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return False
    return True
