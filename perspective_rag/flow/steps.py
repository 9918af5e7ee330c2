"""Flows: what a component asks for, and what it is told.

A flow is a generator: multi-step logic written once, carried out synchronously or asynchronously by
``driver``. It yields a batch of calls to models and stores, which do not depend on each other, and
is sent a reply for each: so time-outs, limits, strict mode and the trace hold for every call,
whoever runs it. All else is a plain function. (httpx does this for authentication:
``httpx._auth.Auth.auth_flow``.)
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from perspective_rag.errors import ConfigError
from perspective_rag.types import Degradation, Prompt, Query

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    """A call to something outside: ``function(*args, **kwargs)``, or ``afunction`` awaited.

    Args:
        stage: What the trace counts the call under, e.g. "judge".
        function: What to call.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        afunction: The async form, used where the pipeline runs in an event loop.
        counts: Quantities added to the trace when the call is made, e.g. ``{"judged_pairs": 20}``.
        in_turn: True: the calls of this batch run one after the other, because side by side they
            would only wait for each other.
        in_caller: True: the call runs in the thread that runs the flow, because what it calls is
            bound to that thread; the time-out cannot cut it.
    """

    stage: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    afunction: Callable[..., Awaitable[Any]] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    in_turn: bool = False
    in_caller: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the trace: quantities, queries, a decision or a degradation.

    Args:
        counts: Quantities, added up by name.
        queries: Queries that are searched.
        decision: What was chosen and why.
        degradation: What failed; in strict mode its error is raised.
        warning: A line for the log.
        begins: The stage that begins here, for observers of the request.
        ends: The stage that ends here.
        outcome: What that stage returned.
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
    """What came of a call.

    Attributes:
        value: What the call returned.
        error: What it raised, otherwise None.
    """

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
    """Makes one call from a flow: ``reply = yield from call("judge", model.score, pairs)``.

    Args:
        stage: What the trace counts the call under.
        function: What to call.
        *args: Its positional arguments.
        afunction: Its async form, used where the pipeline runs in an event loop.
        counts: Quantities added to the trace, e.g. ``{"judged_pairs": 20}``.
        **kwargs: Keyword arguments of ``function``.

    Returns:
        What came of the call; an error is handed back, not raised.
    """
    replies = yield [Call(stage, function, args, kwargs, afunction, counts or {})]
    return replies[0]


def ask(stage: str, llm: Any, prompts: Sequence[Prompt]) -> Flow[Sequence[Reply]]:
    """Sends prompts to a language model, all at once: ``replies = yield from ask(...)``.

    Args:
        stage: What the trace counts the calls under.
        llm: The language model.
        prompts: What to ask.

    Returns:
        A reply for each prompt, in their order; its value is a Completion.
    """
    replies = yield [
        Call(stage, llm.complete, (prompt,), afunction=llm.acomplete) for prompt in prompts
    ]
    return replies


def complete(outcome: Any, component: str, returns: str) -> Flow[Any]:
    """Gets the result of a component's method, whether that is a flow or a plain function.

    Args:
        outcome: What the method returned.
        component: The component's name, for the error.
        returns: What it must return, for the error.

    Returns:
        The result of the flow, or ``outcome`` itself.

    Raises:
        ConfigError: ``outcome`` is a coroutine, or a generator that yields something other than
            calls.
        RuntimeError: The component raised StopIteration or GeneratorExit, which would be taken for
            the end of the flow that called it.
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


@dataclass(frozen=True, slots=True)
class UserFunction:
    """``run`` gives the function's value, awaited where need be; ``awaited`` is the function itself
    where it is ``async``.
    """

    name: str
    run: Callable[..., Any]
    awaited: Callable[..., Awaitable[Any]] | None = None


def as_function(component: str, function: Any, arguments: Sequence[str]) -> UserFunction:
    """The function that ``component`` was made of; raises ConfigError unless it can be called with
    these arguments, by position.
    """
    wanted = f"{component} needs a function of ({', '.join(arguments)})"
    if isinstance(function, type) or not callable(function):
        given = f"the class {function.__name__}" if isinstance(function, type) else repr(function)
        raise ConfigError(f"{wanted}; got {given}")
    name = str(getattr(function, "__name__", type(function).__name__))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none: the first call will tell
        signature = None
    if signature is not None:
        try:
            signature.bind(*arguments)
        except TypeError as error:
            own = ", ".join(signature.parameters)
            raise ConfigError(f"{wanted}; got {name}({own}): {error}") from error
    asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    )

    def run(*given: Any) -> Any:
        value = function(*given)
        # Calls are made in threads of their own, where no event loop runs yet.
        return asyncio.run(_value_of(value)) if inspect.isawaitable(value) else value

    return UserFunction(name, run, function if asynchronous else None)


async def _value_of(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
