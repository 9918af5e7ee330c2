"""Elasticsearch and OpenSearch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_perspective_rag.adapters.base import Rows, StoreAdapter, names_of, placed
from perspective_rag import Passage


class ElasticsearchAdapter(StoreAdapter):
    """langchain-elasticsearch's ElasticsearchStore; a filter is a list of query clauses."""

    def by_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """Through the store's one search by vector; its documents get the ids that they lack."""

        def build(hit: dict[str, Any]) -> Document:
            source = hit["_source"]
            text, metadata = source.get(store.query_field, ""), source.get("metadata") or {}
            return Document(id=hit["_id"], page_content=text, metadata=metadata)

        clauses = filter if filter is None or isinstance(filter, list) else [filter]
        wanted = {"custom_query": _enough_candidates, "doc_builder": build, **more}
        found = store.similarity_search_by_vector_with_relevance_scores(
            vector, k=k, filter=clauses, **wanted
        )
        return [document for document, _ in found]

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One multi-get by id; None from an index whose source leaves the vectors out."""
        inner = store._store
        field = inner.vector_field
        reply = inner.client.mget(
            index=inner.index, ids=names_of(passages), source_includes=[field]
        )
        return _of_reply(reply, field, passages)


class OpenSearchAdapter(StoreAdapter):
    """langchain-community's OpenSearchVectorSearch; a filter is a query clause.

    The engines faiss and lucene filter before they search, nmslib only what it found.
    """

    filter_name = "filter"

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """One multi-get by id, from the field that the store uses unless told otherwise."""
        field = "vector_field"
        reply = store.client.mget(
            body={"ids": names_of(passages)},
            index=store.index_name,
            params={"_source_includes": field},
        )
        return _of_reply(reply, field, passages)


def _enough_candidates(body: dict[str, Any], query: str | None) -> dict[str, Any]:
    """The query with as many candidates as it asks hits of; Elasticsearch refuses fewer."""
    knn = body.get("knn")
    if isinstance(knn, dict):
        most = max(int(knn.get("num_candidates", 0)), int(knn.get("k", 0)))
        return {**body, "knn": {**knn, "num_candidates": most}}
    return body


def _of_reply(reply: Any, field: str, passages: Sequence[Passage]) -> Rows:
    found = {each["_id"]: each["_source"].get(field) for each in reply["docs"] if each.get("found")}
    return placed(passages, found)
