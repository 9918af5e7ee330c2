"""Every Haystack store that can run here, by its retriever, put through the checks for any store."""

from __future__ import annotations

import pytest
from haystack import Document
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.common.perspective_rag import HaystackStore
from perspective_rag.testing import STORE_CHECKS, StoreCase
from tests.integrations import stand_ins
from tests.integrations.conforming import DIMENSIONS, NUMBERS, filled

TABLE = "haystack"
AGAINST = {"field": "meta.side", "operator": "==", "value": "against"}


def in_memory(folder, *, similarity):
    store = InMemoryDocumentStore(embedding_similarity_function=similarity)
    return store, InMemoryEmbeddingRetriever(store)


def bm25(folder):
    # Of BM25's kinds the one that finds documents without any of the words too.
    store = InMemoryDocumentStore(bm25_algorithm="BM25Okapi")
    return store, InMemoryBM25Retriever(store)


def chroma(folder):
    stores = pytest.importorskip("haystack_integrations.document_stores.chroma")
    module = pytest.importorskip("haystack_integrations.components.retrievers.chroma")
    store = stores.ChromaDocumentStore(
        collection_name=f"quay{next(NUMBERS)}",
        persist_path=str(folder / "chroma"),
        distance_function="cosine",
    )
    return store, module.ChromaEmbeddingRetriever(store)


def qdrant(**where):
    stores = pytest.importorskip("haystack_integrations.document_stores.qdrant")
    module = pytest.importorskip("haystack_integrations.components.retrievers.qdrant")
    store = stores.QdrantDocumentStore(
        **where, index=f"quay{next(NUMBERS)}", embedding_dim=DIMENSIONS, progress_bar=False
    )
    return store, module.QdrantEmbeddingRetriever(store)


STORES = {
    "InMemory, dot product": lambda folder: in_memory(folder, similarity="dot_product"),
    "InMemory, cosine": lambda folder: in_memory(folder, similarity="cosine"),
    "InMemory, BM25": bm25,
    "Chroma": chroma,
    "Qdrant local": lambda folder: qdrant(location=":memory:"),
    "Qdrant, stand-in server": lambda folder: qdrant(url=stand_ins.qdrant()[1]),
}
CASES: dict = {}


def case_of(make, folder):
    stores = {}

    def fill(passages, embedder):
        store, retriever = make(folder)
        rows = embedder.embed_passages([p.text for p in passages]).tolist() if passages else []
        documents = [
            Document(id=p.id, content=p.text, meta=dict(p.metadata), embedding=row)
            for p, row in zip(passages, rows, strict=True)
        ]
        if documents:
            store.write_documents(documents)
        made = HaystackStore(retriever)
        stores[id(made)] = (made, store)
        return made

    return StoreCase(
        fill,
        filter=AGAINST,
        remove=lambda made, ids: stores[id(made)][1].delete_documents(list(ids)),
    )


@pytest.fixture(params=list(STORES))
def case(request, table, folder):
    """The case for one store, filled once for all checks that do not change it."""
    name = request.param
    if name not in CASES:
        CASES[name] = case_of(STORES[name], folder)
    return filled(name, lambda: CASES[name], table)


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store(case, check, table):
    name, made = case
    table.record(name, check, lambda: STORE_CHECKS[check](made))


def test_the_document_names_the_stores_that_are_tested(table):
    table.expect_rows(list(STORES))
