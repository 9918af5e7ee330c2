"""The index as a store of the library, the embedder and the judge beside it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.scale.exact import Positions, rows_at
from benchmarks.scale.indexes import REFINED, Built
from perspective_rag.flow.steps import Flow
from perspective_rag.flow.threads import in_thread
from perspective_rag.project.table import projected_scores
from perspective_rag.types import Hit, Matrix, Passage, Perspective, Vector
from perspective_rag.vectors import normalised

LEAST_REFINED = 200


class ScaledStore:
    """Searches an index; estimates of compressed codes are compared exactly with the rows on disk.

    ``along`` is the perspective that the index was projected by, where it was. ``asked`` holds the
    searches since it was last emptied.
    """

    takes_vector = True

    def __init__(self, built: Built, rows: Matrix, along: Vector | None = None) -> None:
        self.built, self.rows, self.along = built, rows, along
        self.asked: list[tuple[Vector, int]] = []

    def nearest(self, vector: Vector, k: int) -> tuple[Vector, Positions]:
        """Scores and positions of the k best, best first."""
        if self.built.kind != "ivfpq":
            return self.built.search(vector, k)
        wanted = min(max(LEAST_REFINED, REFINED * k), len(self.rows))
        _, positions = self.built.search(vector, wanted)
        near = rows_at(self.rows, positions)
        if self.along is None:
            scores = near @ normalised(vector).astype(np.float32)
        else:
            scores = projected_scores("pap+", near, vector, vector, self.along)
        best = np.argsort(-scores, kind="stable")[:k]
        return scores[best], positions[best]

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages, best first."""
        assert vector is not None
        self.asked.append((vector, k))
        scores, positions = self.nearest(vector, k)
        return [
            Hit(Passage(str(position), f"passage {position}"), float(score))
            for score, position in zip(scores.tolist(), positions.tolist(), strict=True)
        ]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """``search`` in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """Unit rows of the passages, shape (n, d)."""
        return rows_at(self.rows, np.array([int(each.id) for each in passages]))


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
