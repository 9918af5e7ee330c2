"""LangChain's own conformance suite."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_perspective_rag import PerspectiveRetriever
from perspective_rag.testing import TableJudge


def filled_store():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents([Document(page_content=f"text number {i}") for i in range(12)])
    return store


class TestOverVectorStore(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return PerspectiveRetriever

    @property
    def retriever_constructor_params(self):
        return {"vectorstore": filled_store(), "judge": TableJudge(default=0.7)}

    @property
    def retriever_query_example(self):
        return "Should texts be numbered?"


class TestOverRetriever(TestOverVectorStore):
    @property
    def retriever_constructor_params(self):
        retriever = filled_store().as_retriever(search_kwargs={"k": 10})
        return {"retriever": retriever, "judge": None}
