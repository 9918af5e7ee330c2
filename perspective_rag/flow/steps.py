"""Flows: what a component asks for, and what it is told.

A flow is a generator: multi-step logic written once, carried out synchronously or asynchronously by
``drivers``. It yields a batch of calls to models and stores, which do not depend on each other, and
is sent a reply for each: so time-outs, limits, strict mode and the trace hold for every call,
whoever runs it. All else is a plain function. (httpx does this for authentication:
``httpx._auth.Auth.auth_flow``.)
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from perspective_rag.errors import ConfigError
from perspective_rag.types import Degradation, Prompt, Query

if TYPE_CHECKING:
    pass

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
    line about it for the log. In strict mode the error of a degradation is raised.
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
class Reply:
    """What came of a call: its value, or the error it ended with."""

    value: Any = None
    error: Exception | None = None


Flow = Generator[Sequence[Call], Sequence[Reply], R]


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


def complete(outcome: Any, component: str, returns: str) -> Flow[Any]:
    """What a component's method returned: the result of its flow, or the value itself.

    Components may be flows or plain functions. ``component`` names it and ``returns`` says what it
    must return, for the error. Raises ConfigError for a coroutine and for a generator that yields
    something else than calls; a StopIteration or GeneratorExit of the component becomes a
    RuntimeError, so that neither is taken for the end of the flow that called it.
    """
    if inspect.isawaitable(outcome):
        close = getattr(outcome, "close", None)
        if close is not None:
            close()
        raise ConfigError(
            f"{component} returned a coroutine; expected {returns}: use a plain function or a "
            "flow (a generator of calls)"
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
                isinstance(step, Call) for step in steps
            ):
                raise ConfigError(
                    f"{component} yielded {steps!r:.200}; a flow yields lists of Call, "
                    f"and returns {returns}"
                )
            replies = yield steps
    finally:
        outcome.close()
