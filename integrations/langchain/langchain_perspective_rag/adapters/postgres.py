"""PostgreSQL with pgvector: both classes of langchain-postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.vectorstores import VectorStore

from langchain_perspective_rag.adapters.base import Rows, StoreAdapter, names_of, placed
from perspective_rag import Passage


class PGVectorAdapter(StoreAdapter):
    """PGVector; a filter is a dictionary. One made with ``async_mode`` serves async calls alone."""

    def awaits(self, store: Any) -> bool:
        """As the store was made: one mode cannot do the other's work."""
        return bool(store.async_mode)

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One SELECT by id, within the store's collection."""
        row = store.EmbeddingStore
        with store._make_sync_session() as session:
            collection = store.get_collection(session)
            found = (
                session.query(row.id, row.embedding)
                .filter(row.collection_id == collection.uuid, row.id.in_(names_of(passages)))
                .all()
            )
        return placed(passages, {str(name): vector for name, vector in found})


class PGVectorStoreAdapter(StoreAdapter):
    """PGVectorStore; a filter is a dictionary over its metadata columns."""

    def awaits(self, store: VectorStore) -> bool:
        """Always: the store works in an event loop of its own thread."""
        return True

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One SELECT by id."""
        found = store.get(ids=names_of(passages), include=["embeddings"])
        rows = [
            json.loads(row) if isinstance(row, str) else row for row in found.get("embeddings", [])
        ]
        return placed(passages, dict(zip(found["ids"], rows, strict=True)))
