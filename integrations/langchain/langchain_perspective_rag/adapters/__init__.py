"""What LangChain's vector stores have not in common: one adapter for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from langchain_core.vectorstores import VectorStore

from langchain_perspective_rag.adapters.base import StoreAdapter
from langchain_perspective_rag.adapters.clients import ChromaAdapter, MilvusAdapter, QdrantAdapter
from langchain_perspective_rag.adapters.in_process import (
    FaissAdapter,
    InMemoryAdapter,
    SQLiteVecAdapter,
)
from langchain_perspective_rag.adapters.lancedb import CommunityLanceAdapter, LanceAdapter
from langchain_perspective_rag.adapters.postgres import PGVectorAdapter, PGVectorStoreAdapter
from langchain_perspective_rag.adapters.search_engines import (
    ElasticsearchAdapter,
    OpenSearchAdapter,
)

__all__ = ["ADAPTERS", "StoreAdapter", "adapter_of"]

ADAPTERS: Mapping[str, StoreAdapter] = MappingProxyType(
    {
        "langchain_core.InMemoryVectorStore": InMemoryAdapter(),
        "langchain_community.FAISS": FaissAdapter(),
        "langchain_community.SQLiteVec": SQLiteVecAdapter(),
        "langchain_chroma.Chroma": ChromaAdapter(),
        "langchain_community.Chroma": ChromaAdapter(),
        "langchain_qdrant.QdrantVectorStore": QdrantAdapter(),
        "langchain_milvus.Milvus": MilvusAdapter(),
        "langchain_community.LanceDB": CommunityLanceAdapter(),
        "langchain_lancedb.LanceDB": LanceAdapter(),
        "langchain_postgres.PGVector": PGVectorAdapter(),
        "langchain_postgres.PGVectorStore": PGVectorStoreAdapter(),
        "langchain_elasticsearch.ElasticsearchStore": ElasticsearchAdapter(),
        "langchain_community.OpenSearchVectorSearch": OpenSearchAdapter(),
    }
)
"""By package and class, as text: no store's package is needed to know the others."""


def adapter_of(store: VectorStore) -> StoreAdapter:
    """The adapter for a store or the nearest of its base classes; else the one for any store."""
    for base in type(store).__mro__:
        found = ADAPTERS.get(f"{base.__module__.split('.')[0]}.{base.__name__}")
        if found is not None:
            return found
    return StoreAdapter()
