"""The embeddings of passages, texts of similar length together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow.engine import Engine, LocalEngine
from perspective_rag.maths.vectors import as_matrix
from perspective_rag.protocols import Embedder
from perspective_rag.types import Matrix, Passage


def embedded(
    passages: Sequence[Passage],
    embedder: Embedder,
    *,
    batch: int,
    dimensions: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Matrix:
    """A row for each of at least one passage, shape (n, d), as ``embedded_windows`` gives it."""
    (rows,) = embedded_windows(
        [passages], embedder, LocalEngine(), batch=batch, dimensions=dimensions, on_batch=on_batch
    )
    return rows


def embedded_windows(
    windows: Iterable[Sequence[Passage]],
    embedder: Embedder,
    engine: Engine,
    *,
    batch: int,
    dimensions: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Iterator[Matrix]:
    """For each window of passages a row for each, with its title, shape (n, d), in their order.

    Within a window, texts of similar length share a batch, so that little of it is padding: the
    batches, and so the rows, do not depend on the ``engine``. ``on_batch`` is called with the
    passages done so far. Raises ConfigError where the embedder gives other than one row a text, or
    other than ``dimensions`` numbers a row.
    """
    orders: deque[list[int]] = deque()  # of the windows that the engine has begun

    def batches() -> Iterator[list[str]]:
        for window in windows:
            titled = [each.titled for each in window]
            order = sorted(range(len(titled)), key=lambda i: len(titled[i]))
            orders.append(order)
            for first in range(0, len(order), batch):
                yield [titled[i] for i in order[first : first + batch]]

    done = 0
    order: list[int] = []
    parts: list[Matrix] = []
    for rows in engine.map(batches(), partial(_embedding, embedder)):
        if not parts:
            order = orders.popleft()
        held = sum(map(len, parts))
        wanted = min(batch, len(order) - held)
        found = as_matrix(rows, "passage embeddings", columns=dimensions)
        if len(found) != wanted:
            raise ConfigError(f"the embedder gave {len(found)} rows for {wanted} texts")
        dimensions = found.shape[1]
        parts.append(found)
        done += wanted
        if on_batch is not None:
            on_batch(done)
        if held + wanted == len(order):
            together: Matrix = np.concatenate(parts)
            result = np.empty_like(together)
            result[order] = together
            parts = []
            yield result


def _embedding(embedder: Embedder) -> Callable[[Sequence[str]], Matrix]:
    return embedder.embed_passages
