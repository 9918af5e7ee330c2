"""What a pipeline over a folder is made of: store, embedder and judge."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.exact import Positions
from perspective_rag import Hit, Passage, Perspective
from perspective_rag.extend import Flow, Matrix, Vector, in_thread
from perspective_rag_scale.faiss_folder import FaissFolder


class Noted:
    """A folder with an index as a store; ``spent`` holds the processor time, in milliseconds, of
    every search since it was last emptied.
    """

    takes_vector = True

    def __init__(self, folder: Path) -> None:
        self.folder = FaissFolder(folder, gpu=False)
        self.spent: list[float] = []

    def nearest(self, vector: Vector, k: int) -> Positions:
        """Positions of the k best, best first."""
        hits = self.folder.search("", vector, k=k)
        return np.array([int(hit.passage.id) for hit in hits], dtype=np.int64)

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages, best first."""
        started = time.thread_time()  # the index searches with one thread, this one
        hits = self.folder.search(text, vector, k=k, filter=filter)
        self.spent.append(1000 * (time.thread_time() - started))
        return hits

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """``search`` in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """Unit rows of the passages, shape (n, d)."""
        return self.folder.embeddings_of(passages)


class LookUp:
    """The vectors of given texts; any other text has one of its own, always the same."""

    def __init__(self, vectors: Mapping[str, Vector], others: Matrix) -> None:
        self.vectors, self.others = vectors, others

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Shape (n, d)."""
        return np.array([self._of(text) for text in texts])

    embed_passages = embed_queries

    def _of(self, text: str) -> Vector:
        row: Vector = self.others[zlib.crc32(text.encode()) % len(self.others)]
        return self.vectors.get(text, row)


class FixedCost:
    """A judge whose work for a pair is always the same (one product of two matrices), and which
    finds nothing, so that the guard spends its whole budget.
    """

    name = "fixed cost"
    threshold = 0.5

    def __init__(self, side: int = 192) -> None:
        self.pairs = 0
        self._work = np.ones((side, side), dtype=np.float32)

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """0.1 for every pair."""
        for _ in range(len(passages) * len(perspectives)):
            self._work @ self._work
            self.pairs += 1
        return np.full((len(passages), len(perspectives)), 0.1)
        yield  # a flow that needs no step
