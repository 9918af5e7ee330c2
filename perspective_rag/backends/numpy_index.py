"""A store in memory, searched by brute force with numpy: exact, and fast up to 100,000 passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.backends.filters import Positions, indexable, passing, positions_of
from perspective_rag.errors import ConfigError
from perspective_rag.flow.threads import in_thread
from perspective_rag.select.inputs import places
from perspective_rag.types import Hit, Matrix, Passage, Vector
from perspective_rag.vectors import as_matrix, as_vector, normalised

_CHUNK = 16_384


class NumpyStore:
    """Passages by cosine to the query vector; scores are in [-1, 1].

    ``embeddings`` has shape (n, d), a row for each passage, and may be memory-mapped; a copy is
    kept as unit rows in float32. ``filter`` is a predicate on passages or a mapping of metadata
    fields to values; the k best of those that pass are found. Raises ConfigError for no
    passages, for repeated ids and for embeddings that do not fit them.
    """

    takes_vector = True

    def __init__(self, passages: Sequence[Passage], embeddings: ArrayLike) -> None:
        self._passages = indexable(passages)
        rows: Any = embeddings if isinstance(embeddings, np.ndarray) else np.asarray(embeddings)
        if rows.ndim != 2 or len(rows) != len(self._passages):
            raise ConfigError(
                f"embeddings must have shape ({len(self._passages)}, d), got shape {rows.shape}"
            )
        self._dimensions: int = rows.shape[1]
        self._position = positions_of(self._passages)
        self._create()
        # In pieces, so that a memory-mapped index of float16 is never whole in memory as float64.
        for start in range(0, len(rows), _CHUNK):
            piece = as_matrix(rows[start : start + _CHUNK], f"embeddings from row {start} on")
            self._add(start, np.ascontiguousarray(normalised(piece), dtype=np.float32))

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages, best first; fewer when fewer there are or pass the filter."""
        if vector is None:
            raise ConfigError(f"{type(self).__name__} searches by vector: pass an embedder")
        query = as_vector(vector, "the query vector", size=self._dimensions)
        unit = np.ascontiguousarray(normalised(query), dtype=np.float32)
        kept = passing(self._passages, filter)
        count = places(k, len(self._passages) if kept is None else len(kept))
        if count == 0:
            return []
        scores, positions = self._best(unit, count, kept)
        return [
            Hit(self._passages[position], score)
            for score, position in zip(
                np.clip(scores, -1.0, 1.0).tolist(), positions.tolist(), strict=True
            )
        ]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """``search`` in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """Unit rows of the passages, shape (n, d); NaN rows for those that are not in the store."""
        result: Matrix = np.full((len(passages), self._dimensions), np.nan, dtype=np.float32)
        for row, passage in zip(result, passages, strict=True):
            position = self._position(passage.id)
            if position is not None:
                row[:] = self._row(position)
        return result

    def __len__(self) -> int:
        return len(self._passages)

    def _create(self) -> None:
        self._rows = np.empty((len(self._passages), self._dimensions), dtype=np.float32)

    def _add(self, start: int, rows: Matrix) -> None:
        self._rows[start : start + len(rows)] = rows

    def _best(self, unit: Vector, count: int, kept: Positions | None) -> tuple[Vector, Positions]:
        """Scores and positions of the ``count`` best rows among ``kept``, best first."""
        scores = (self._rows if kept is None else self._rows[kept]) @ unit
        best = np.argsort(-scores, kind="stable")[:count]
        return scores[best], best if kept is None else kept[best]

    def _row(self, position: int) -> Vector:
        row: Vector = self._rows[position]
        return row
