"""What the server logs: no question, passage or header value, at any level, on any error path.

Messages of others, and values in our own while a request is answered, may quote what was asked: of
these the place is logged, and of errors the kinds and the places.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextvars import ContextVar
from pathlib import Path

from perspective_rag.addons import printable, redacted

_ANSWERING = ContextVar("perspective_rag_serve_answering", default=False)
_OURS = "perspective_rag"
_FRAMES = 6
_CAUSES = 8


class Known(str):
    """A text for the log that holds nothing of a request."""

    __slots__ = ()


def answering() -> None:
    """From here on this task, and what it starts, is about somebody's request."""
    _ANSWERING.set(True)


def places(error: BaseException | None) -> Known:
    """The kinds of an error and of its causes, and where each was raised; not their words."""
    told: list[str] = []
    while error is not None and len(told) < _CAUSES:
        frames = list(traceback.walk_tb(error.__traceback__))[-_FRAMES:]
        at = ", ".join(
            f"{Path(frame.f_code.co_filename).name}:{line} {frame.f_code.co_name}"
            for frame, line in reversed(frames)
        )
        number = getattr(error, "errno", None) if isinstance(error, OSError) else None
        reason = f" ({os.strerror(number)})" if isinstance(number, int) else ""
        told.append(f"{type(error).__name__}{reason} at {at or 'no known place'}")
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)
    return Known("\n  caused by ".join(told))


class Careful(logging.Formatter):
    """Lines without what a request holds, without secrets, and that cannot steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        ours = record.name.split(".")[0].startswith(_OURS)
        if ours and not _ANSWERING.get():
            return printable(redacted(super().format(record)))
        text = f"{record.levelname}:     {self._message(record, ours)}"
        if record.exc_info and record.exc_info[1] is not None:
            text += f"\n  {places(record.exc_info[1])}"
        return printable(redacted(text))

    def _message(self, record: logging.LogRecord, ours: bool) -> str:
        # The server's own lines hold addresses that it listens at, and constants.
        if record.name.startswith("uvicorn") and record.levelno >= logging.INFO:
            return record.getMessage().strip()
        if not ours or not isinstance(record.msg, str):
            return f"{record.name} has a message of {Path(record.pathname).name}:{record.lineno}"
        given = record.args if isinstance(record.args, tuple) else ()
        try:
            return record.msg % tuple(map(_safe, given)) if given else record.msg
        except (TypeError, ValueError):  # a value that is written as a number was none
            return record.msg


def _safe(value: object) -> object:
    if isinstance(value, (bool, int, float, Known)) or value is None:
        return value
    return Known(f"<{type(value).__name__}>")


def log_to_stderr() -> None:
    """Everything that is logged goes to stderr, as ``Careful`` says it."""
    handler = logging.StreamHandler()
    handler.setFormatter(Careful("%(levelname)s:     %(message)s"))
    logging.getLogger().addHandler(handler)
