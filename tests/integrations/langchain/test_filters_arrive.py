"""A filter goes where its name is known: it may keep tenants apart."""

from __future__ import annotations

import logging

import pytest
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever

from langchain_perspective_rag import LangChainStore, PerspectiveRetriever
from perspective_rag import CapabilityError
from tests.integrations.langchain.samples import FixedRetriever, UnknownStore


class Swallowing(UnknownStore):
    """Takes any argument and reads none but ``where``, as several stores do."""

    def similarity_search_by_vector(self, embedding, k=4, **kwargs):
        only = kwargs.get("where")
        return self.inner.similarity_search_by_vector(embedding, k, filter=only)


class SwallowingText(InMemoryVectorStore):
    """The same, searched by text alone."""

    similarity_search_by_vector = None

    def similarity_search(self, query, k=4, **kwargs):
        return super().similarity_search(query, k)


@pytest.fixture
def swallowing(documents, embeddings):
    store = Swallowing(embeddings)
    store.add_documents(documents)
    return store


def against(document):
    return document.metadata["key"].startswith("against")


async def test_a_filter_that_might_be_dropped_raises(swallowing, debate):
    with pytest.raises(CapabilityError, match="filter_keyword"):
        PerspectiveRetriever.wrap(swallowing, judge=None, search_kwargs={"filter": against})
    retriever = PerspectiveRetriever.wrap(swallowing, judge=None)
    given = {"filter": against}
    with pytest.raises(CapabilityError, match="Swallowing shows no parameter for a filter"):
        retriever.invoke(debate.question, **given)
    with pytest.raises(CapabilityError, match="filter_keyword"):
        await retriever.ainvoke(debate.question, **given)
    with pytest.raises(CapabilityError, match="filter_keyword"):
        retriever.invoke(debate.question, search_kwargs=given)
    with pytest.raises(CapabilityError, match="filter_keyword"):
        LangChainStore(swallowing).search("x", swallowing.embeddings.embed_query("x"), k=1, **given)


async def test_a_filter_whose_name_is_given_arrives(swallowing, debate):
    retriever = PerspectiveRetriever.wrap(swallowing, judge=None, filter_keyword="where")
    for found in (
        retriever.invoke(debate.question, filter=against),
        await retriever.ainvoke(debate.question, filter=against),
        PerspectiveRetriever.wrap(
            swallowing, judge=None, filter_keyword="where", search_kwargs={"where": against}
        ).invoke(debate.question),
    ):
        assert set(debate.keys(found)) == {"against-1", "against-2"}


def test_the_stores_own_retriever_is_no_way_round(swallowing, debate):
    class Mine(VectorStoreRetriever):
        """Stays a retriever when it is wrapped."""

    retriever = PerspectiveRetriever.wrap(Mine(vectorstore=swallowing), judge=None)
    with pytest.raises(CapabilityError, match="takes no filter that can be seen"):
        retriever.invoke(debate.question, filter=against)


def test_a_retriever_that_takes_any_name_is_not_trusted_with_a_filter(documents, debate):
    class Anything(FixedRetriever):
        def _get_relevant_documents(self, query, *, run_manager, **kwargs):
            return [d for d in self.documents if kwargs.get("only", lambda d: True)(d)]

    source = Anything(documents=documents)
    with pytest.raises(CapabilityError, match="filter_keyword"):
        PerspectiveRetriever(retriever=source, judge=None).invoke(debate.question, filter=against)
    named = PerspectiveRetriever(retriever=source, judge=None, filter_keyword="only")
    assert set(debate.keys(named.invoke(debate.question, filter=against))) == {
        "against-1",
        "against-2",
    }


def test_search_arguments_that_no_signature_shows_are_logged(swallowing, debate, caplog):
    with caplog.at_level(logging.WARNING, logger="perspective_rag"):
        retriever = PerspectiveRetriever.wrap(swallowing, judge=None, search_kwargs={"space": "a"})
        retriever.invoke(debate.question)
        assert len(caplog.records) == 1
        retriever.invoke(debate.question, search_kwargs={"space": "b", "depth": 2})
    said = [each.getMessage() for each in caplog.records]
    assert said == [
        "search_kwargs: Swallowing shows no parameter space",
        "search_kwargs: Swallowing shows no parameter depth",
    ]


def test_sklearns_store_drops_no_filter(documents, embeddings, debate):
    pytest.importorskip("sklearn")
    module = pytest.importorskip("langchain_community.vectorstores")
    store = module.SKLearnVectorStore(embeddings)
    store.add_texts([d.page_content for d in documents], [{"key": "a"} for _ in documents])
    with pytest.warns(UserWarning, match="searched by text only"):
        retriever = PerspectiveRetriever.wrap(store, judge=None, fetch_k=5)
    assert len(retriever.invoke(debate.question)) == 5
    with pytest.raises(CapabilityError, match="SKLearnVectorStore shows no parameter for a filter"):
        retriever.invoke(debate.question, filter={"key": "b"})
