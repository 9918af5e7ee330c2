"""Chroma, Qdrant and Milvus: databases with a client that hands vectors out by id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.vectorstores import VectorStore

from langchain_perspective_rag.adapters.base import Rows, StoreAdapter, names_of, placed
from perspective_rag import Passage


class ChromaAdapter(StoreAdapter):
    """langchain-chroma; a filter is a dictionary."""

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One ``get`` by id."""
        found = store._collection.get(ids=names_of(passages), include=["embeddings"])
        return placed(passages, dict(zip(found["ids"], found["embeddings"], strict=True)))


class QdrantAdapter(StoreAdapter):
    """langchain-qdrant, local or server; a filter is a ``qdrant_client.models.Filter``.

    A collection that compares by cosine keeps its vectors at length one.
    """

    id_key = "_id"

    def in_turn(self, store: Any) -> bool:
        """Of a local one, whose every search makes a copy of all vectors; a server takes many."""
        return type(getattr(store.client, "_client", None)).__name__ == "QdrantLocal"

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One ``retrieve`` by id."""
        names = [passage.metadata.get("_id") for passage in passages]
        points = store.client.retrieve(
            store.collection_name,
            ids=[name for name in dict.fromkeys(names) if name is not None],
            with_payload=False,
            with_vectors=True,
        )
        rows = {point.id: _dense(point.vector, store.vector_name) for point in points}
        return [rows.get(name) for name in names]


def _dense(vector: Any, name: str) -> Any:
    return vector.get(name) if isinstance(vector, dict) else vector


class MilvusAdapter(StoreAdapter):
    """langchain-milvus; a filter is an expression, as in ``'side == "against"'``."""

    id_key = "pk"

    def awaits(self, store: VectorStore) -> bool:
        """Never: its async client belongs to the loop that used it first and fails in the next."""
        return False

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One ``query`` by primary key."""
        key, field = store._primary_field, store._vector_field
        names = [passage.metadata.get(key) for passage in passages]
        wanted = [name for name in dict.fromkeys(names) if name is not None]
        if not wanted or not isinstance(field, str):
            return [None] * len(passages)
        # Written out here: pymilvus puts ids between quotes as they are, quotes in them too.
        only = f"{key} in {json.dumps(wanted, ensure_ascii=False)}"
        found = store.client.query(store.collection_name, filter=only, output_fields=[field])
        rows = {row[key]: row[field] for row in found}
        return [rows.get(name) for name in names]
