"""Vectors that a store already holds, so that nothing is embedded twice: one reader a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.vectorstores import VectorStore

from perspective_rag import Passage
from perspective_rag.types import Matrix

Rows = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Reader:
    """``rows`` gives the vector of each passage, None where the store has none.

    ``at_hand``: the vectors lie in this process and cost a look-up, not a request.
    """

    rows: Callable[[Any, Sequence[Passage]], Rows]
    at_hand: bool

    def matrix(self, vectorstore: VectorStore, passages: Sequence[Passage]) -> Matrix:
        """Shape (n, d); NaN rows where the store has no vector."""
        rows = self.rows(vectorstore, passages)
        width = next((len(row) for row in rows if row is not None), 1)
        result = np.full((len(passages), width), np.nan)
        for index, row in enumerate(rows):
            if row is not None:
                result[index] = row
        return result


def _in_memory(store: Any, passages: Sequence[Passage]) -> Rows:
    entries = [store.store.get(passage.id) for passage in passages]
    return [entry["vector"] if entry else None for entry in entries]


_POSITIONS: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()


def _faiss(store: Any, passages: Sequence[Passage]) -> Rows:
    names: dict[int, str] = store.index_to_docstore_id
    positions = _POSITIONS.get(store, {})
    # Documents come and go: what is remembered holds only while the store agrees with it.
    if any(names.get(positions.get(passage.id, -1)) != passage.id for passage in passages):
        positions = _POSITIONS[store] = {name: at for at, name in list(names.items())}
    return [_reconstructed(store.index, positions.get(passage.id)) for passage in passages]


def _reconstructed(index: Any, position: int | None) -> Any:
    try:
        return None if position is None else index.reconstruct(position)
    except RuntimeError:  # an index without a direct map, or one that keeps no vectors
        return None


def _chroma(store: Any, passages: Sequence[Passage]) -> Rows:
    names = [passage.id for passage in passages]
    found = store._collection.get(ids=list(dict.fromkeys(names)), include=["embeddings"])
    rows = dict(zip(found["ids"], found["embeddings"], strict=True))
    return [rows.get(name) for name in names]


def _qdrant(store: Any, passages: Sequence[Passage]) -> Rows:
    names = [passage.metadata.get("_id") for passage in passages]
    points = store.client.retrieve(
        store.collection_name,
        ids=[name for name in dict.fromkeys(names) if name is not None],
        with_payload=False,
        with_vectors=True,
    )
    rows = {}
    for point in points:
        vector = point.vector
        rows[point.id] = vector.get(store.vector_name) if isinstance(vector, dict) else vector
    return [rows.get(name) for name in names]


READERS = {
    "InMemoryVectorStore": Reader(_in_memory, at_hand=True),
    "FAISS": Reader(_faiss, at_hand=True),
    "Chroma": Reader(_chroma, at_hand=False),
    "QdrantVectorStore": Reader(_qdrant, at_hand=False),
}
"""By the name of the store's class, so that no store's package is needed; add your own here."""
