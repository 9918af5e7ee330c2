"""What LlamaIndex's vector stores have not in common: one adapter for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from perspective_rag import Passage
from perspective_rag.extend import Matrix, matrix_of


def _yes(store: Any) -> bool:
    return True


def _no(store: Any) -> bool:
    return False


Reader = Callable[[Any, Sequence[str]], Mapping[str, Any]]
"""``reader(vector_store, node_ids)``: the vectors the store has, by node id, in one request."""


@dataclass(frozen=True, slots=True)
class StoreAdapter:
    """How to treat one kind of vector store, where it is special.

    Pass one of your own to ``LlamaIndexStore(adapter=)`` or ``PerspectiveRetriever(adapter=)``. The
    functions are called with the vector store.

    Args:
        vectors: ``vectors(vector_store, node_ids)`` reads its vectors back, by node id, in one
            request; None: it cannot.
        at_hand: True: the vectors lie in this process and cost a look-up instead of a request.
        awaits: Whether its async search works in any event loop.
        blocks: Whether its async search computes where it is awaited, and blocks the loop.
        in_turn: Whether it computes in Python, so that searches side by side gain nothing.
        thread_bound: Whether it works only in the thread that made it.
        is_new: Whether nothing was ever stored, for a store that then raises instead of finding
            nothing.
    """

    vectors: Reader | None = None
    at_hand: bool = False
    awaits: Callable[[Any], bool] = _yes
    blocks: Callable[[Any], bool] = _no
    in_turn: Callable[[Any], bool] = _no
    thread_bound: Callable[[Any], bool] = _no
    is_new: Callable[[Any], bool] = _no

    def matrix(self, vector_store: Any, passages: Sequence[Passage]) -> Matrix:
        """Reads vectors back as an array.

        Args:
            vector_store: The vector store.
            passages: n passages that it found.

        Returns:
            Shape (n, d); NaN rows where the store has no vector.
        """
        names = list(dict.fromkeys(passage.id for passage in passages))
        found = self.vectors(vector_store, names) if self.vectors is not None else {}
        return matrix_of([found.get(passage.id) for passage in passages])


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


def _is_local(store: Any) -> bool:
    # Every search of a local Qdrant makes a copy of all vectors; a server takes many at a time.
    return type(getattr(store._client, "_client", None)).__name__ == "QdrantLocal"


def _is_local_async(store: Any) -> bool:
    return type(getattr(store._aclient, "_client", None)).__name__ == "AsyncQdrantLocal"


def _milvus(store: Any, names: Sequence[str]) -> Mapping[str, Any]:
    rows = store.client.query(
        store.collection_name, ids=list(names), output_fields=[store.embedding_field]
    )
    return {row["id"]: row[store.embedding_field] for row in rows}


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
        found = {name: int(self._places[name]) for name in names if name in self._places}
        try:
            rows = store.client.reconstruct_batch(list(found.values()))
        except RuntimeError:  # an index without a direct map, or one that keeps no vectors
            return {}
        return dict(zip(found, rows, strict=True))


ADAPTERS: Mapping[str, StoreAdapter] = MappingProxyType(
    {
        "SimpleVectorStore": StoreAdapter(_simple, at_hand=True, in_turn=_yes),
        "FaissVectorStore": StoreAdapter(at_hand=True),  # its reader needs the index
        "ChromaVectorStore": StoreAdapter(_chroma),
        "QdrantVectorStore": StoreAdapter(
            _qdrant,
            # It searches asynchronously with a client of its own only, and raises without it.
            awaits=lambda store: store._aclient is not None,
            blocks=_is_local_async,
            in_turn=_is_local,
            is_new=lambda store: not store._client.collection_exists(store.collection_name),
        ),
        # Its vectors come with its nodes.
        "LanceDBVectorStore": StoreAdapter(is_new=lambda store: store._table is None),
        # Its async client belongs to the loop that used it first and fails in the next.
        "MilvusVectorStore": StoreAdapter(_milvus, awaits=_no),
    }
)
"""By the name of the store's class, as text: no store's package is needed to know the others."""


def adapter_of(vector_store: Any, index: Any) -> StoreAdapter:
    """The adapter for a store or the nearest of its base classes; else the one for any store."""
    names = [base.__name__ for base in type(vector_store).__mro__]
    found = next((ADAPTERS[name] for name in names if name in ADAPTERS), StoreAdapter())
    if "FaissVectorStore" in names:
        return replace(found, vectors=FaissPositions(index.index_struct.nodes_dict))
    return found
