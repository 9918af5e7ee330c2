"""LanceDB, through langchain-community and through langchain-lancedb."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_perspective_rag.adapters.base import Rows, StoreAdapter, names_of, placed
from perspective_rag import Passage


class CommunityLanceAdapter(StoreAdapter):
    """langchain-community's LanceDB; a filter is SQL, applied before the search and not after."""

    def by_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """The rows of the store's own query, with the ids that its documents lack."""
        if store.get_table() is None:
            return []
        rows = store._query(vector, k, filter=filter, **{"prefilter": True, **more})
        return [
            Document(id=row[store._id_key], page_content=row[store._text_key], metadata=given)
            for row in rows.to_pylist()
            for given in [row.get("metadata") or {}]
        ]

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One query by id."""
        return _by_id(store.get_table(), store._id_key, store._vector_key, passages)


class LanceAdapter(StoreAdapter):
    """langchain-lancedb, which can search by text alone: its table is searched by vector.

    A filter is SQL over the columns id, text and metadata, the last of which holds JSON.
    """

    def by_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """What the store's own search makes of its rows, with the ids that its documents lack."""
        table, _ = store._get_or_create_table()
        if table is None:
            return []
        search = table.search(vector).limit(k)
        if filter is not None:
            search = search.where(filter, prefilter=True)
        return [
            Document(
                id=row["id"],
                page_content=row["text"],
                metadata={**json.loads(row.get("metadata") or "{}"), "source": store._uri},
            )
            for row in search.to_list()
        ]

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One query by id."""
        table, _ = store._get_or_create_table()
        return _by_id(table, "id", "vector", passages)


def _by_id(table: Any, key: str, field: str, passages: Sequence[Passage]) -> Rows:
    names = names_of(passages)
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    search = table.search().where(f"{key} IN ({quoted})").select([key, field]).limit(len(names))
    return placed(passages, {row[key]: row[field] for row in search.to_list()})
