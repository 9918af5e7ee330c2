"""The embeddings of some passages, texts of similar length together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.protocols import Embedder
from perspective_rag.types import Matrix, Passage
from perspective_rag.vectors import as_matrix


def embedded(
    passages: Sequence[Passage],
    embedder: Embedder,
    *,
    batch: int,
    dimensions: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Matrix:
    """A row for each passage with its title, shape (n, d), in the order of the passages.

    Texts of similar length share a batch, so that little of it is padding. ``on_batch`` is called
    with the passages done so far. Raises ConfigError where the embedder gives other than one row a
    text, or other than ``dimensions`` numbers a row.
    """
    titled = [each.titled for each in passages]
    order = sorted(range(len(titled)), key=lambda i: len(titled[i]))
    parts = []
    for first in range(0, len(order), batch):
        texts = [titled[i] for i in order[first : first + batch]]
        found = as_matrix(embedder.embed_passages(texts), "passage embeddings", columns=dimensions)
        if len(found) != len(texts):
            raise ConfigError(f"the embedder gave {len(found)} rows for {len(texts)} texts")
        dimensions = found.shape[1]
        parts.append(found)
        if on_batch is not None:
            on_batch(first + len(texts))
    rows: Matrix = np.concatenate(parts)
    result = np.empty_like(rows)
    result[order] = rows
    return result
