"""The engine of one machine: this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from perspective_rag.engines.engine import B, R


class LocalEngine:
    """One batch after the other in this process; models use its cores by threads of their own."""

    name = "local"

    def map(self, batches: Iterable[B], make_worker: Callable[[], Callable[[B], R]]) -> Iterator[R]:
        """One result for each batch, worked on when it is asked for."""
        worker = make_worker()
        for batch in batches:
            yield worker(batch)
