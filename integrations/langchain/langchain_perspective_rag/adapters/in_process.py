"""Stores that lie in this process: InMemoryVectorStore, FAISS and SQLiteVec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.documents import Document

from langchain_perspective_rag.adapters.base import Rows, StoreAdapter
from perspective_rag import Passage

_OVERFETCH = 20
_POSITIONS: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()


class InMemoryAdapter(StoreAdapter):
    """langchain-core's InMemoryVectorStore; a filter is a predicate on documents."""

    at_hand = True
    filter_name = "filter"

    def in_turn(self, store: Any) -> bool:
        """Always: most of a search makes an array of lists of numbers."""
        return True

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """From the store's own dictionary."""
        entries = [store.store.get(passage.id) for passage in passages]
        return [entry["vector"] if entry else None for entry in entries]


class SQLiteVecAdapter(StoreAdapter):
    """langchain-community's SQLiteVec, whose connection belongs to the thread that opened it."""

    def thread_bound(self, store: Any) -> bool:
        """Always: a connection does not say whether it was opened for other threads too."""
        return True


class FaissAdapter(StoreAdapter):
    """langchain-community's FAISS, whatever its distance; a filter is a dictionary or predicate."""

    at_hand = True

    def by_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """FAISS filters what it found: it is asked for more until k are left or all were seen."""
        total = store.index.ntotal
        if filter is None or "fetch_k" in more or not total:
            more = {**more, "filter": filter} if filter is not None else more
            return list(store.similarity_search_by_vector(vector, k=k, **more)) if total else []
        fetch_k = _OVERFETCH * k
        while True:
            found = store.similarity_search_by_vector(
                vector, k=k, filter=filter, fetch_k=fetch_k, **more
            )
            if len(found) >= k or fetch_k >= total:
                return list(found)
            fetch_k *= _OVERFETCH

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """Reconstructed by the index; None from an index that keeps no vectors."""
        names: dict[int, str] = store.index_to_docstore_id
        positions = _POSITIONS.get(store, {})
        # Documents come and go: what is remembered holds only while the store agrees with it.
        if any(names.get(positions.get(passage.id, -1)) != passage.id for passage in passages):
            positions = _POSITIONS[store] = {name: at for at, name in list(names.items())}
        places = [positions.get(passage.id) for passage in passages]
        try:
            rows = iter(store.index.reconstruct_batch([at for at in places if at is not None]))
        except RuntimeError:  # an index without a direct map, or one that keeps no vectors
            return [None] * len(places)
        return [None if at is None else next(rows) for at in places]
