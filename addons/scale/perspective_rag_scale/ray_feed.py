"""What runs in Ray's processes: the feed of batches, the task that reads it, and the workers.

A batch is one row of a Ray data set: its number, and its pickled content. The driver puts batches
into the feed, one task turns the feed into a data set, actors map its rows, and the driver reads
the results and says up to where it has them. The feed holds what the driver has no result of, so
that the reading task, too, can be begun again: for what is done it reads empty rows.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from perspective_rag import EngineError
from perspective_rag_scale.carried import dumps

CONTENT, NUMBER = "content", "number"
DONE = b""
"""The content of a batch whose result the driver has."""


class Feed:
    """An asynchronous actor: the batches that are in work, by their numbers."""

    def __init__(self) -> None:
        self._held: dict[int, bytes] = {}
        self._attempts: dict[int, int] = {}
        self._end: int | None = None
        self._first = 0
        self._changed = asyncio.Condition()

    async def put(self, number: int, content: bytes | None, first: int) -> None:
        """Takes a batch in, or with None says how many there are; the driver has all before
        ``first``.
        """
        async with self._changed:
            if content is None:
                self._end = number
            else:
                self._held[number] = content
            for done in [each for each in self._held if each < first]:
                del self._held[done]
                self._attempts.pop(done, None)
            self._first = max(self._first, first)
            self._changed.notify_all()

    async def get(self, number: int) -> bytes | None:
        """The content of a batch, once it is there; None after the last."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._known(number))
            if number in self._held:
                return self._held[number]
            return DONE if number < self._first else None

    async def begin(self, number: int) -> int:
        """How often the batch has been begun, with this time."""
        self._attempts[number] = self._attempts.get(number, 0) + 1
        return self._attempts[number]

    def _known(self, number: int) -> bool:
        over = self._end is not None and number >= self._end
        return number in self._held or number < self._first or over


def reading(feed: Any) -> Callable[[Any], Iterator[Any]]:
    """A function for ``map_batches`` that gives a table of one row for each batch of the feed."""

    def read(_: Any) -> Iterator[Any]:
        import ray

        number = 0
        while (content := ray.get(feed.get.remote(number))) is not None:
            yield table(number, content)
            number += 1

    return read


class Mapper:
    """An actor class for ``map_batches``: a worker, and what it makes of each row.

    What the worker raises is its result. A batch that was begun ``attempts`` times and never ended
    is not begun again: it ends the process that works on it.
    """

    def __init__(self, make_worker: Callable[[], Callable[[Any], Any]], feed: Any, attempts: int):
        self._feed = feed
        self._attempts = attempts
        self._failed: Exception | None = None
        try:
            self._worker = make_worker()
        except Exception as error:
            self._failed = error

    def __call__(self, rows: Any) -> Iterator[Any]:
        numbers, contents = rows[NUMBER].to_pylist(), rows[CONTENT].to_pylist()
        for number, content in zip(numbers, contents, strict=True):
            yield table(number, DONE if content == DONE else self._result(number, content))

    def _result(self, number: int, content: bytes) -> bytes:
        import ray

        if self._failed is not None:
            return dumps((None, self._failed))
        if ray.get(self._feed.begin.remote(number)) > self._attempts:
            problem = f"batch {number} ended the process of its worker {self._attempts} times"
            return dumps((None, EngineError(problem)))
        try:
            result = self._worker(pickle.loads(content))  # noqa: S301  (of the driver)
            return dumps((result, None))
        except Exception as error:
            return dumps((None, error))


def table(number: int, content: bytes) -> Any:
    """A batch, or its result, as a row."""
    import pyarrow

    columns = {NUMBER: [number], CONTENT: pyarrow.array([content], pyarrow.large_binary())}
    return pyarrow.table(columns)
