"""Vectors that a LlamaIndex vector store already holds: one reader for each kind of store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from perspective_rag.types import Matrix, Passage

Reader = Callable[[Any, Sequence[str]], Mapping[str, Any]]
"""``reader(vector_store, node_ids)``: the vectors the store has, by node id, in one request."""


def matrix(reader: Reader, vector_store: Any, passages: Sequence[Passage]) -> Matrix:
    """The vectors of passages as shape (n, d); NaN rows where the store has none."""
    found = reader(vector_store, list(dict.fromkeys(passage.id for passage in passages)))
    width = next((len(row) for row in found.values() if row is not None), 1)
    result = np.full((len(passages), width), np.nan)
    for index, passage in enumerate(passages):
        row = found.get(passage.id)
        if row is not None:
            result[index] = row
    return result


def _simple(store: Any, names: Sequence[str]) -> Mapping[str, Any]:
    kept = store.data.embedding_dict
    return {name: kept[name] for name in names if name in kept}


def _chroma(store: Any, names: Sequence[str]) -> Mapping[str, Any]:
    found = store._collection.get(ids=list(names), include=["embeddings"])
    return dict(zip(found["ids"], found["embeddings"], strict=True))


def _qdrant(store: Any, names: Sequence[str]) -> Mapping[str, Any]:
    # A collection that compares by cosine keeps its vectors at length one.
    points = store._client.retrieve(
        store.collection_name, ids=list(names), with_payload=False, with_vectors=True
    )
    field = store.dense_vector_name
    return {
        str(p.id): p.vector.get(field) if isinstance(p.vector, dict) else p.vector for p in points
    }


def _milvus(store: Any, names: Sequence[str]) -> Mapping[str, Any]:
    rows = store.client.query(
        store.collection_name, ids=list(names), output_fields=[store.embedding_field]
    )
    return {row["id"]: row[store.embedding_field] for row in rows}


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "SimpleVectorStore": _simple,
        "ChromaVectorStore": _chroma,
        "QdrantVectorStore": _qdrant,
        "MilvusVectorStore": _milvus,
    }
)
"""By the name of the store's class, as text: no store's package is needed to know the others."""

AT_HAND = frozenset({"SimpleVectorStore", "FaissVectorStore"})
"""Stores that lie in this process: their vectors cost a look-up instead of a request."""


class FaissPositions:
    """A reader for FaissVectorStore, which knows vectors by their place alone.

    ``names`` is the index's own table, place (as text) to node id.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._places: dict[str, str] = {}

    def __call__(self, store: Any, names: Sequence[str]) -> Mapping[str, Any]:
        """Reconstructed by the index, where it keeps its vectors."""
        # Nodes come and go: what is remembered holds only while the index agrees with it.
        if any(self._names.get(self._places.get(name, "")) != name for name in names):
            self._places = {name: place for place, name in list(self._names.items())}
        found = {}
        for name in names:
            place = self._places.get(name)
            try:
                if place is not None:
                    found[name] = store.client.reconstruct(int(place))
            except RuntimeError:  # an index without a direct map, or one that keeps no vectors
                continue
        return found


def reader_of(vector_store: Any, index: Any) -> Reader | None:
    """The reader for a vector store or the nearest of its base classes; None for an unknown one."""
    for base in type(vector_store).__mro__:
        if base.__name__ == "FaissVectorStore":
            return FaissPositions(index.index_struct.nodes_dict)
        if base.__name__ in READERS:
            return READERS[base.__name__]
    return None
