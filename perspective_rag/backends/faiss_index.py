"""A vector store in memory on FAISS."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.backends.filters import Positions
from perspective_rag.backends.numpy_index import NumpyStore
from perspective_rag.errors import MissingDependency
from perspective_rag.types import Matrix, Passage, Vector

_GPU_MOST = 2048  # FAISS gives no more hits than this on a GPU

_log = logging.getLogger(__name__)


class FaissStore(NumpyStore):
    """A ``NumpyStore`` on an exact FAISS index (inner product of unit rows).

    Searches without a filter run on the GPU where FAISS finds one. Raises MissingDependency without
    FAISS, and ConfigError as ``NumpyStore`` does.
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
