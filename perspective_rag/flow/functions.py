"""A user's own function, plain or ``async``, as a call of either driver."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from perspective_rag.errors import ConfigError


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
        raise ConfigError(f"{wanted}; got {_shown(function)}")
    name = str(getattr(function, "__name__", type(function).__name__))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none: the first call will tell
        signature = None
    if signature is not None:
        try:
            signature.bind(*arguments)
        except TypeError as error:
            raise ConfigError(f"{wanted}; got {name}{_plain(signature)}: {error}") from error
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


def _plain(signature: inspect.Signature) -> str:
    return f"({', '.join(signature.parameters)})"


def _shown(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else repr(value)
