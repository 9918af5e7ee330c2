"""Questions that are searched as they are, without perspectives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.flow.recording import degrade, note
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow, call

SkipIf = Callable[[str], Any]
"""``skip_if(question)``: true for a question that invites no perspectives."""


def check_skip_if(skip_if: SkipIf | None) -> None:
    """Raises ConfigError for what cannot be asked about a question."""
    if skip_if is None:
        return
    if not callable(skip_if):
        raise ConfigError(f"skip_if must be a function of the question, got {skip_if!r}")
    if inspect.iscoroutinefunction(skip_if):
        # What it returns would be true, whatever it meant.
        raise ConfigError("skip_if must be a plain function: it runs in a thread of its own")


def skips(request: Request, skip_if: SkipIf | None) -> Flow[bool]:
    """Whether ``skip_if`` is true of the question, which the trace's decisions then say.

    One that fails says no, and that is recorded.
    """
    if skip_if is None:
        return False
    reply = yield from call("skip", skip_if, request.question)
    if reply.error is not None:
        degrade("skip", "skip_if failed: nothing is left out", reply.error)
    elif reply.value:
        note(decision={"stage": "skip", "query": request.question})
        return True
    return False
