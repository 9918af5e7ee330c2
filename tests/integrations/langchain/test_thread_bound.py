"""Stores that work only in the thread that made them."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace

import pytest
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import LangChainStore, PerspectiveRetriever, StoreAdapter


class OwnThread(InMemoryVectorStore):
    """Raises in another thread than the one that made it."""

    def __init__(self, embedding):
        super().__init__(embedding)
        self.home = threading.get_ident()

    def similarity_search_by_vector(self, embedding, k=4, **kwargs):
        if threading.get_ident() != self.home:
            raise RuntimeError("created in another thread")
        return super().similarity_search_by_vector(embedding, k, **kwargs)


def read(store, ids):
    assert threading.get_ident() == store.home
    return {each: store.store[each]["vector"] for each in ids}


BOUND = StoreAdapter(vectors=read, thread_bound=lambda store: True, filter_name="filter")


@pytest.mark.parametrize("adapter", [BOUND, replace(BOUND, at_hand=True)])
async def test_it_is_searched_and_read_in_the_callers_thread(
    documents, embeddings, debate, judge, adapter
):
    store = OwnThread(embeddings)
    store.add_documents(documents)
    retriever = PerspectiveRetriever.wrap(store, judge=judge, adapter=adapter, strict=True)
    found = retriever.invoke(debate.question)
    assert len(found) == 5
    assert [d.id for d in await retriever.ainvoke(debate.question)] == [d.id for d in found]
    assert all("perspective_rag_similarity" in document.metadata for document in found)


def test_stores_are_not_bound_unless_their_adapter_says_so(store):
    assert not LangChainStore(store).thread_bound
    assert not StoreAdapter().thread_bound(store)


def test_langchains_sqlite_store_is_known_to_be(embeddings):
    module = "langchain_community.vectorstores.sqlitevec"
    kind = type("SQLiteVec", (OwnThread,), {"__module__": module})
    assert LangChainStore(kind(embeddings)).thread_bound


async def test_sqlite_vec_works_without_a_word(documents, embeddings, debate, judge):
    pytest.importorskip("sqlite_vec")
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("this Python's sqlite3 loads no extensions")
    module = pytest.importorskip("langchain_community.vectorstores")
    connection = module.SQLiteVec.create_connection(":memory:")
    store = module.SQLiteVec("debate", connection, embeddings)
    store.add_texts(
        [d.page_content for d in documents], [{"key": d.metadata["key"]} for d in documents]
    )
    retriever = PerspectiveRetriever.wrap(store, judge=judge, strict=True)
    found = retriever.invoke(debate.question)
    assert len(found) == 5
    assert debate.keys(await retriever.ainvoke(debate.question)) == debate.keys(found)
