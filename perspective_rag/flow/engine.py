"""Where batches are worked on: in this process, or where an add-on says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

B = TypeVar("B")
R = TypeVar("R")


class Engine(Protocol):
    """Works on batches, here or elsewhere; the results do not depend on which engine it was."""

    @property
    def name(self) -> str:
        """Such as "local" or "ray"."""

    def map(self, batches: Iterable[B], make_worker: Callable[[], Callable[[B], R]]) -> Iterator[R]:
        """One result for each batch, in the order of the batches.

        Batches are taken as results are: a bounded number is in memory, however many there are.
        ``make_worker`` is called once in each process that works, and what it returns once for each
        batch. What a worker raises is raised when its batch's turn has come, after the results of
        all batches before it.
        """


class LocalEngine:
    """One batch after the other in this process; models use its cores by threads of their own."""

    name = "local"

    def map(self, batches: Iterable[B], make_worker: Callable[[], Callable[[B], R]]) -> Iterator[R]:
        """One result for each batch, made when it is asked for.

        Args:
            batches: What there is to do.
            make_worker: Called once; what it returns is called with each batch.

        Yields:
            The worker's results, in the order of the batches.
        """
        worker = make_worker()
        for batch in batches:
            yield worker(batch)
