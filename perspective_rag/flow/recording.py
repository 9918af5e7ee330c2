"""What a request's trace is told while it runs: quantities, decisions, degradations and stages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from perspective_rag.flow.recorder import Recorder
from perspective_rag.flow.steps import Note
from perspective_rag.types import Degradation, Query

P = ParamSpec("P")
R = TypeVar("R")

RECORDER: ContextVar[Recorder | None] = ContextVar("perspective_rag_recorder", default=None)
"""The recorder of the request that is under way."""


def recorder() -> Recorder:
    """That of the request to which this code belongs; outside of any, one that only logs."""
    return RECORDER.get() or Recorder()


def note(
    *,
    counts: Mapping[str, int] | None = None,
    queries: Sequence[Query] = (),
    decision: Mapping[str, Any] | None = None,
    warning: str = "",
) -> tuple[()]:
    """Adds quantities, queries or a decision to the trace of the request, and a line to the log.

    (What it returns is empty, so that ``note(...)`` is the same.)
    """
    recorder().note(Note(counts or {}, queries, decision, warning=warning))
    return ()


def degrade(stage: str, message: str, error: Exception | None = None) -> tuple[()]:
    """Records a degradation in the trace of the request, without secrets; in strict mode it is
    raised. (``degrade(...)`` is the same.)
    """
    recorder().note(Note(degradation=Degradation(stage, message, error)))
    return ()


def stage(step: Callable[P, R]) -> Callable[P, R]:
    """A step of a request, a flow or a plain function, as a stage of the name it has: who observes
    the request is told when it begins and what it gave.
    """
    return _observed(step, whole=False)


def whole_request(step: Callable[P, R]) -> Callable[P, R]:
    """The same of all the stages together."""
    return _observed(step, whole=True)


def _observed(step: Callable[P, R], *, whole: bool) -> Callable[P, R]:
    name = step.__name__.lstrip("_")

    @wraps(step)
    def plain(*args: P.args, **kwargs: P.kwargs) -> Any:
        with recorder().stage(name, whole=whole) as outcome:
            outcome.append(step(*args, **kwargs))
        return outcome[0]

    @wraps(step)
    def flow(*args: P.args, **kwargs: P.kwargs) -> Any:
        with recorder().stage(name, whole=whole) as outcome:
            outcome.append((yield from cast(Any, step(*args, **kwargs))))
        return outcome[0]

    return flow if inspect.isgeneratorfunction(step) else plain
