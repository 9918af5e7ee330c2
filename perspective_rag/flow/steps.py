"""Steps: what a flow asks for, and what it is told.

A flow is a generator: multi-step logic written once, carried out synchronously or asynchronously by
``drivers``. It yields a batch of steps and is sent a reply for each. A step is a ``Call`` (to a
model or a store; the calls of a batch do not depend on each other), a ``Work`` (a computation that
an event loop should not wait for) or a ``Note`` (something for the trace). A flow has no other
effect, so that time-outs, limits, strict mode and the trace hold for every step, whoever runs it.
(httpx does this for authentication: ``httpx._auth.Auth.auth_flow``.)
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar, overload

from perspective_rag.errors import ConfigError
from perspective_rag.types import Candidate, Degradation, Prompt, Query

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    """A call to something outside: ``function(*args, **kwargs)``, or ``afunction`` where it is
    given and awaited.

    ``counts`` are quantities added to the trace when the call is made, e.g. ``{"judged_pairs":
    20}``. ``in_turn``: the calls of its batch are made one after the other, because side by side
    they would only wait for each other. ``in_caller``: the call is made in the thread that runs the
    flow, one after the other, because what it calls is bound to that thread; the time-out cannot
    cut such a call. ``again``: the call failed beside others and is made once more; the limiter
    notes whether that works.
    """

    stage: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    afunction: Callable[..., Awaitable[Any]] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    in_turn: bool = False
    in_caller: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the trace: quantities, queries that are searched, a decision, a degradation.

    ``counts`` are added up by name; ``decision`` says what was chosen and why, and ``warning`` is a
    line about it for the log. In strict mode the driver raises the error of a degradation.
    ``begins`` and ``ends`` name a stage that begins or ends here, and ``outcome`` is what it gave:
    for whoever observes the request.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    queries: Sequence[Query] = ()
    decision: Mapping[str, Any] | None = None
    degradation: Degradation | None = None
    warning: str = ""
    begins: str = ""
    ends: str = ""
    outcome: Any = None


@dataclass(frozen=True, slots=True)
class Work:
    """A computation, ``function()``, that may take longer than an event loop can wait: a driver on
    a loop has a thread do it, the other one does it where it is. It is no call: without time-out,
    permit or place in the trace.
    """

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a step: its value, or the error it ended with."""

    value: Any = None
    error: Exception | None = None


Step = Call | Note | Work
Flow = Generator[Sequence[Step], Sequence[Reply], R]


def call(
    stage: str,
    function: Callable[..., Any],
    *args: Any,
    afunction: Callable[..., Awaitable[Any]] | None = None,
    counts: Mapping[str, int] | None = None,
    **kwargs: Any,
) -> Flow[Reply]:
    """A flow of one call: ``reply = yield from call("judge", model.score, pairs)``."""
    replies = yield [Call(stage, function, args, kwargs, afunction, counts or {})]
    return replies[0]


def ask(stage: str, llm: Any, prompts: Sequence[Prompt]) -> Flow[Sequence[Reply]]:
    """A flow that sends prompts to a language model, all at once; the replies' values are
    Completions.
    """
    replies = yield [
        Call(stage, llm.complete, (prompt,), afunction=llm.acomplete) for prompt in prompts
    ]
    return replies


AT_ONCE = 4000
"""Characters that a plain function reads within a few milliseconds."""


def aside(size: int, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> Flow[R]:
    """A flow of ``function(*args, **kwargs)``, which calls nothing outside: at once, or as ``Work``
    where there is much to do. ``size`` is about the number of characters that it reads.

    Raises what the function raises.
    """
    if size <= AT_ONCE:
        return function(*args, **kwargs)
    (reply,) = yield [Work(partial(function, *args, **kwargs))]
    if reply.error is not None:
        raise reply.error
    found: R = reply.value
    return found


def characters(candidates: Iterable[Candidate]) -> int:
    """How many characters the candidates' passages have: the ``size`` of reading them ``aside``."""
    return sum(len(candidate.passage.text) for candidate in candidates)


def note(
    *,
    counts: Mapping[str, int] | None = None,
    queries: Sequence[Query] = (),
    decision: Mapping[str, Any] | None = None,
    warning: str = "",
) -> Flow[None]:
    """A flow that adds quantities, queries or a decision to the trace, and a line to the log."""
    yield [Note(counts or {}, queries, decision, warning=warning)]


def degrade(stage: str, message: str, error: Exception | None = None) -> Flow[None]:
    """A flow that records a degradation, without secrets; in strict mode the driver raises it."""
    yield [Note(degradation=Degradation(stage, message, error))]


@overload
def stage(step: Callable[P, Flow[R]], /, *args: P.args, **kwargs: P.kwargs) -> Flow[R]: ...
@overload
def stage(step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Flow[R]: ...
def stage(step: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Flow[Any]:
    """A flow that runs a step, a flow or a plain function, as a stage of the name it has.

    A stage that raises is not noted as ended: the request ends with it.
    """
    name = step.__name__.lstrip("_")
    yield [Note(begins=name)]
    outcome = step(*args, **kwargs)
    if isinstance(outcome, Generator):
        outcome = yield from outcome
    yield [Note(ends=name, outcome=outcome)]
    return outcome


def complete(outcome: Any, component: str, returns: str) -> Flow[Any]:
    """What a component's method returned: the result of its flow, or the value itself.

    Components may be flows or plain functions. ``component`` names it and ``returns`` says what it
    must return, for the error. Raises ConfigError for a coroutine and for a generator that yields
    something else than steps; a StopIteration or GeneratorExit of the component becomes a
    RuntimeError, so that neither is taken for the end of the flow that called it.
    """
    if inspect.isawaitable(outcome):
        close = getattr(outcome, "close", None)
        if close is not None:
            close()
        raise ConfigError(
            f"{component} returned a coroutine; expected {returns}: use a plain function or a "
            "flow (a generator of steps)"
        )
    if not isinstance(outcome, Generator):
        return outcome
    replies: Any = None
    try:
        while True:
            try:
                steps = outcome.send(replies)
            except StopIteration as stop:
                return stop.value
            except GeneratorExit as error:
                raise RuntimeError(f"{component} raised GeneratorExit") from error
            if not isinstance(steps, (list, tuple)) or not all(
                isinstance(step, (Call, Note, Work)) for step in steps
            ):
                raise ConfigError(
                    f"{component} yielded {steps!r:.200}; a flow yields lists of Call and Note, "
                    f"and returns {returns}"
                )
            replies = yield steps
    finally:
        outcome.close()
