"""What LangChain's vector stores have not in common: an adapter for each kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from langchain_core.documents import Document

from perspective_rag.extend import (
    StoreAdapter,
    chroma_vectors,
    faiss_vectors,
    is_local_qdrant,
    qdrant_vectors,
)

_OVERFETCH = 20


def _always(store: Any) -> bool:
    return True


def _in_memory(store: Any, ids: Sequence[str]) -> dict[str, Any]:
    return {each: store.store[each]["vector"] for each in ids if each in store.store}


def _search_faiss(
    store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
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


def _milvus(store: Any, ids: Sequence[Any]) -> dict[Any, Any]:
    key, field = store._primary_field, store._vector_field
    if not ids or not isinstance(field, str):
        return {}
    # Written out here: pymilvus puts ids between quotes as they are, quotes in them too.
    only = f"{key} in {json.dumps(list(ids), ensure_ascii=False)}"
    found = store.client.query(store.collection_name, filter=only, output_fields=[field])
    return {row[key]: row[field] for row in found}


def _search_community_lance(
    store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
) -> list[Document]:
    """The rows of the store's own query, with the ids that its documents lack."""
    if store.get_table() is None:
        return []
    # A filter is SQL, applied before the search and not after.
    rows = store._query(vector, k, filter=filter, **{"prefilter": True, **more}).to_pylist()
    return [
        Document(
            id=row[store._id_key],
            page_content=row[store._text_key],
            metadata=row.get("metadata") or {},
        )
        for row in rows
    ]


def _search_lance(
    store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
) -> list[Document]:
    """langchain-lancedb searches by text alone: its table is searched by vector.

    A filter is SQL over the columns id, text and metadata, the last of which holds JSON.
    """
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


def _lance(table: Any, key: str, field: str, ids: Sequence[str]) -> dict[str, Any]:
    quoted = ", ".join("'" + each.replace("'", "''") + "'" for each in ids)
    search = table.search().where(f"{key} IN ({quoted})").select([key, field]).limit(len(ids))
    return {row[key]: row[field] for row in search.to_list()}


def _pgvector(store: Any, ids: Sequence[str]) -> dict[str, Any]:
    row = store.EmbeddingStore
    with store._make_sync_session() as session:
        collection = store.get_collection(session)
        found = (
            session.query(row.id, row.embedding)
            .filter(row.collection_id == collection.uuid, row.id.in_(ids))
            .all()
        )
    return {str(name): vector for name, vector in found}


def _pgvector_store(store: Any, ids: Sequence[str]) -> dict[str, Any]:
    found = store.get(ids=list(ids), include=["embeddings"])
    rows = [json.loads(row) if isinstance(row, str) else row for row in found.get("embeddings", [])]
    return dict(zip(found["ids"], rows, strict=True))


def _search_elastic(
    store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
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


def _enough_candidates(body: dict[str, Any], query: str | None) -> dict[str, Any]:
    """The query with as many candidates as it asks hits of; Elasticsearch refuses fewer."""
    knn = body.get("knn")
    if not isinstance(knn, dict):
        return body
    most = max(int(knn.get("num_candidates", 0)), int(knn.get("k", 0)))
    return {**body, "knn": {**knn, "num_candidates": most}}


def _elastic(store: Any, ids: Sequence[str]) -> dict[str, Any]:
    inner = store._store
    field = inner.vector_field
    reply = inner.client.mget(index=inner.index, ids=list(ids), source_includes=[field])
    return _kept(reply, field)


def _opensearch(store: Any, ids: Sequence[str]) -> dict[str, Any]:
    field = "vector_field"  # which the store uses unless told otherwise
    reply = store.client.mget(
        body={"ids": list(ids)}, index=store.index_name, params={"_source_includes": field}
    )
    return _kept(reply, field)


def _kept(reply: Any, field: str) -> dict[str, Any]:
    """The vectors of a multi-get; none from an index whose source leaves them out."""
    return {d["_id"]: d["_source"].get(field) for d in reply["docs"] if d.get("found")}


ADAPTERS: Mapping[str, StoreAdapter] = MappingProxyType(
    {
        "langchain_core.InMemoryVectorStore": StoreAdapter(
            vectors=_in_memory,
            at_hand=True,
            filter_name="filter",
            in_turn=_always,  # most of a search makes an array of lists of numbers
        ),
        "langchain_community.FAISS": StoreAdapter(
            vectors=lambda store, ids: faiss_vectors(store.index, store.index_to_docstore_id, ids),
            at_hand=True,
            search=_search_faiss,
        ),
        # Its connection belongs to the thread that opened it, or does not say otherwise.
        "langchain_community.SQLiteVec": StoreAdapter(thread_bound=_always),
        "langchain_chroma.Chroma": StoreAdapter(vectors=chroma_vectors),
        "langchain_community.Chroma": StoreAdapter(vectors=chroma_vectors),
        "langchain_qdrant.QdrantVectorStore": StoreAdapter(
            vectors=lambda store, ids: qdrant_vectors(
                store.client, store.collection_name, ids, store.vector_name
            ),
            id_key="_id",
            in_turn=lambda store: is_local_qdrant(store.client),
        ),
        "langchain_milvus.Milvus": StoreAdapter(
            vectors=_milvus,
            id_key="pk",
            # Its async client belongs to the loop that used it first and fails in the next.
            awaits=lambda store: False,
        ),
        "langchain_community.LanceDB": StoreAdapter(
            vectors=lambda store, ids: _lance(
                store.get_table(), store._id_key, store._vector_key, ids
            ),
            search=_search_community_lance,
        ),
        "langchain_lancedb.LanceDB": StoreAdapter(
            vectors=lambda store, ids: _lance(store._get_or_create_table()[0], "id", "vector", ids),
            search=_search_lance,
        ),
        # Made for one mode, it cannot do the other's work.
        "langchain_postgres.PGVector": StoreAdapter(
            vectors=_pgvector, awaits=lambda store: bool(store.async_mode)
        ),
        # It works in an event loop of its own thread.
        "langchain_postgres.PGVectorStore": StoreAdapter(vectors=_pgvector_store, awaits=_always),
        "langchain_elasticsearch.ElasticsearchStore": StoreAdapter(
            vectors=_elastic, search=_search_elastic
        ),
        "langchain_community.OpenSearchVectorSearch": StoreAdapter(
            vectors=_opensearch, filter_name="filter"
        ),
    }
)
"""By package and class, as text: no store's package is needed to know the others."""


def adapter_of(store: Any) -> StoreAdapter:
    """The adapter for a store."""
    found = StoreAdapter.of(store, ADAPTERS)
    if found is ADAPTERS["langchain_milvus.Milvus"]:
        return replace(found, id_key=store._primary_field)
    return found
