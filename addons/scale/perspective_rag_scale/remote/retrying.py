"""Attempts at one request, by ``tenacity``: with jitter, and when the server asks to be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from perspective_rag_scale.remote.failures import ServerError

T = TypeVar("T")

_FIRST = 0.25
_LONGEST = 8.0
_PATIENCE = 30.0


async def with_retries(
    attempt: Callable[[], Awaitable[T]], retries: int, sleep: Callable[[float], Awaitable[None]]
) -> T:
    """What ``attempt()`` gives, made up to ``1 + retries`` times.

    Waits a random time of up to 0.25, 0.5, 1 ... 8 s ("full jitter"), or as long as the server's
    ``Retry-After`` says. A server that asks for more than 30 s is not asked again. Raises the last
    error.
    """
    import tenacity

    random_wait = tenacity.wait_random_exponential(multiplier=_FIRST, max=_LONGEST)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ServerError) else None
        return max(asked or 0.0, random_wait(state))

    attempts: Any = tenacity.AsyncRetrying(
        stop=tenacity.stop_after_attempt(1 + retries),
        wait=wait,
        retry=tenacity.retry_if_exception(_worth_it),
        sleep=sleep,
        reraise=True,
    )
    found: T = await attempts(attempt)
    return found


def _worth_it(error: BaseException) -> bool:
    return (
        isinstance(error, ServerError) and error.again and (error.retry_after or 0.0) <= _PATIENCE
    )
