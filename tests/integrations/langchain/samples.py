"""Embeddings, stores and a retriever for the LangChain tests."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_perspective_rag import LangChainStore
from perspective_rag.testing import HashEmbedder, StoreCase
from tests.integrations.conforming import filled


class WordEmbeddings(Embeddings):
    """LangChain embeddings that know words; ``asked`` lists what was embedded.

    ``pause``, here and in the stores, is what a call does first.
    """

    def __init__(self, pause=lambda: None, embedder=None):
        self.embedder = embedder or HashEmbedder()
        self.pause = pause

    @property
    def asked(self):
        return self.embedder.embedded

    def embed_documents(self, texts):
        self.pause()
        return self.embedder.embed_passages(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class UnknownStore(VectorStore):
    """Of a class that no adapter knows, around a store in memory; its searches are the heirs'."""

    def __init__(self, embedding):
        self.inner = InMemoryVectorStore(embedding)

    @property
    def embeddings(self):
        return self.inner.embedding

    def add_documents(self, documents, **kwargs):
        return self.inner.add_documents(documents, **kwargs)

    def delete(self, ids=None, **kwargs):
        self.inner.delete(ids)

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError

    def similarity_search(self, query, k=4, **kwargs):
        raise AssertionError("a store that can search by vector is not asked by text")


class FixedRetriever(BaseRetriever):
    """Returns its documents, whatever the question; takes no arguments at a call."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


def qdrant_filter():
    """What keeps the passages against, for Qdrant."""
    models = pytest.importorskip("qdrant_client").models
    match = models.MatchValue(value="against")
    return models.Filter(must=[models.FieldCondition(key="metadata.side", match=match)])


def filled_case(name, make, wanted, table):
    """The case for a store that ``make`` makes, given its embeddings, filled."""

    def fill(passages, embedder):
        store = make(WordEmbeddings(embedder=embedder))
        if passages:
            documents = [Document(p.text, id=p.id, metadata=dict(p.metadata)) for p in passages]
            store.add_documents(documents, ids=[p.id for p in passages])
        return LangChainStore(store)

    def remove(store, ids):
        store.vectorstore.delete(list(ids))

    def case():
        only = wanted() if wanted is qdrant_filter else wanted
        return StoreCase(fill, filter=only, remove=remove)

    return filled(name, case, table)
