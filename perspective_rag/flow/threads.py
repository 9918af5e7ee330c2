"""Blocking functions, awaited."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from perspective_rag.flow.attempt import current_permit
from perspective_rag.flow.cancelling import current_work

S = TypeVar("S")
T = TypeVar("T")


def start(work: Callable[[], None]) -> None:
    """Starts ``work`` in a thread that does not keep the process alive if it never ends."""
    owner = current_work()

    def counted() -> None:
        try:
            work()
        finally:
            owner.thread_ends()

    owner.thread_begins()
    threading.Thread(target=counted, daemon=True, name="perspective-rag-call").start()


def outcome_in_thread(
    function: Callable[..., T], /, *args: Any, **kwargs: Any
) -> asyncio.Future[tuple[Any, BaseException | None]]:
    """What ``function(*args, **kwargs)`` returns or raises, in a thread of its own and in the
    caller's context.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()
    permit = current_permit()

    def tell(outcome: tuple[Any, BaseException | None]) -> None:
        if not answer.done():  # nobody waits any more
            answer.set_result(outcome)

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = context.run(function, *args, **kwargs), None
        except BaseException as error:
            outcome = None, error
        permit.thread_ends()
        with suppress(RuntimeError):  # the event loop has ended meanwhile
            loop.call_soon_threadsafe(tell, outcome)

    permit.thread_begins()
    start(work)
    return answer


async def in_thread(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """``function(*args, **kwargs)`` in a thread of its own, in the caller's context.

    ``asyncio.to_thread`` shares a small pool with the whole program: calls that hang would use it
    up, and the event loop would wait for them when it ends.
    """
    value, error = await outcome_in_thread(function, *args, **kwargs)
    if error is not None:
        raise error
    result: T = value
    return result


def map_in_threads(function: Callable[[S], T], items: Sequence[S], *, most: int) -> list[T]:
    """``function`` of every item, in order, at most ``most`` at a time, each in a copy of the
    caller's context; one item is done in the calling thread.
    """
    workers = min(most, len(items))
    if workers <= 1:
        return [function(item) for item in items]
    contexts = [contextvars.copy_context() for _ in items]
    with ThreadPoolExecutor(workers, thread_name_prefix="perspective-rag-map") as pool:
        return list(pool.map(lambda context, item: context.run(function, item), contexts, items))


def map_in_pool(
    pool: ThreadPoolExecutor, function: Callable[[S], T], items: Sequence[S]
) -> list[T]:
    """``function`` of every item, in order, in the threads of a pool; raises Cancelled before an
    item where the caller's work was cancelled.
    """
    work = current_work()

    def one(item: S) -> T:
        work.check()
        return function(item)

    return list(pool.map(one, items))
