"""Exact indexes in memory, of NumPy or FAISS."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.flow.driver import in_thread
from perspective_rag.maths.ranking import places
from perspective_rag.maths.vectors import as_matrix, as_vector, normalised
from perspective_rag.storage.stored_passages import StoredPassages
from perspective_rag.types import Hit, Matrix, Passage, Vector

Positions = NDArray[np.int64]
"""Rows of a store's passages, ascending, shape (m,)."""


def indexable(passages: Sequence[Passage]) -> Sequence[Passage]:
    """The passages as a list, or as they are where they lie in a folder and have distinct ids.

    Raises ConfigError when there are none or two share an id.
    """
    if isinstance(passages, StoredPassages):
        return passages
    kept = list(passages)
    if not kept:
        raise ConfigError("there are no passages to index")
    seen: set[str] = set()
    for passage in kept:
        if passage.id in seen:
            raise ConfigError(f"two passages have the id {passage.id!r}; ids must be distinct")
        seen.add(passage.id)
    return kept


def positions_of(passages: Sequence[Passage]) -> Callable[[str], int | None]:
    """What gives the row of a passage by its id, None for an id that is not there."""
    if isinstance(passages, StoredPassages):
        return passages.position
    return {passage.id: i for i, passage in enumerate(passages)}.get


def rows_of(passages: Sequence[Passage], ids: Sequence[str]) -> Positions:
    """The row of the passage with each id, -1 for an id that is not there; shape (n,)."""
    if isinstance(passages, StoredPassages):
        return passages.rows(ids)
    place = positions_of(passages)
    found = (place(id) for id in ids)
    return np.array([-1 if row is None else row for row in found], dtype=np.int64)


def passing(passages: Sequence[Passage], filter: Any) -> Positions | None:
    """Positions of the passages that pass a filter, or None for all of them.

    A filter is a predicate on passages, or a mapping of metadata fields to the values they must
    equal. Raises ConfigError for anything else.
    """
    if filter is None:
        return None
    test = predicate(filter)
    if isinstance(passages, StoredPassages):
        passages = passages.in_memory()
    return np.array([i for i, passage in enumerate(passages) if test(passage)], dtype=np.int64)


def predicate(filter: Any) -> Callable[[Passage], bool]:
    """Whether a passage passes a filter, as ``passing`` has it."""
    if isinstance(filter, Mapping):
        wanted = dict(filter)
        absent = object()
        return lambda passage: all(
            passage.metadata.get(name, absent) == value for name, value in wanted.items()
        )
    if callable(filter):
        return lambda passage: bool(filter(passage))
    raise ConfigError(
        "filter must be a predicate on passages or a mapping of metadata fields to values,"
        f" got {type(filter).__name__}"
    )


_CHUNK = 16_384


class NumpyStore:
    """Searches passages by their cosine to the query vector, without an index.

    Args:
        passages: At least one; with different ids.
        embeddings: Shape (n_passages, d), a row for each passage; may be memory-mapped. A copy is
            kept as unit rows in float32.

    Raises:
        ConfigError: There are no passages, two share an id, or the embeddings do not fit them.
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
        """The k passages nearest to a vector.

        Args:
            text: Not used.
            vector: The query's vector, shape (d,).
            k: Maximum number of hits.
            filter: A predicate on passages, or a mapping of metadata fields to the values they must
                equal.

        Returns:
            Hits with their cosines in [-1, 1], best first; fewer than k where fewer pass the
            filter.

        Raises:
            ConfigError: There is no vector, it has another length, or the filter is something else.
        """
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
        """The same as ``search``, in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """The vectors of passages, found by their ids.

        Args:
            passages: Any passages.

        Returns:
            Unit rows, shape (n_passages, d); NaN for passages that are not in the store.
        """
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


_GPU_MOST = 2048  # FAISS gives no more hits than this on a GPU

_log = logging.getLogger(__name__)


class FaissStore(NumpyStore):
    """A ``NumpyStore`` on an exact FAISS index (inner product of unit rows).

    Searches without a filter run on the GPU where FAISS finds one.

    Args:
        passages: At least one; with different ids.
        embeddings: Shape (n_passages, d), a row for each passage; may be memory-mapped.

    Raises:
        ConfigError: There are no passages, two share an id, or the embeddings do not fit them.
        MissingDependency: FAISS is not installed.
    """

    def __init__(self, passages: Sequence[Passage], embeddings: ArrayLike) -> None:
        try:
            import faiss
        except ImportError as error:
            raise MissingDependency("local", "searching with FAISS") from error
        self._faiss: Any = faiss
        super().__init__(passages, embeddings)
        # A GPU index knows no selectors, so filtered searches stay here; it serves one thread.
        self._gpu: Any = None
        self._gpu_lock = threading.Lock()
        if getattr(faiss, "get_num_gpus", int)() > 0:
            try:
                self._resources = faiss.StandardGpuResources()
                self._gpu = faiss.index_cpu_to_gpu(self._resources, 0, self._index)
            except RuntimeError as error:
                _log.warning("the index does not fit the GPU and stays on the CPU: %s", error)

    def _create(self) -> None:
        self._index: Any = self._faiss.IndexFlatIP(self._dimensions)

    def _add(self, start: int, rows: Matrix) -> None:
        self._index.add(rows)

    def _best(self, unit: Vector, count: int, kept: Positions | None) -> tuple[Vector, Positions]:
        query = unit[None, :]
        if kept is not None:
            selector = self._faiss.IDSelectorBatch(kept)
            wanted = self._faiss.SearchParameters(sel=selector)
            scores, positions = self._index.search(query, count, params=wanted)
        elif self._gpu is not None and count <= _GPU_MOST:
            with self._gpu_lock:
                scores, positions = self._gpu.search(query, count)
        else:
            scores, positions = self._index.search(query, count)
        return scores[0], positions[0]

    def _row(self, position: int) -> Vector:
        row: Vector = np.asarray(self._index.reconstruct(position))
        return row
