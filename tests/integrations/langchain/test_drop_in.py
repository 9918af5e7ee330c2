"""What a LangChain application does with its retrievers, and goes on doing with ours."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever

from langchain_perspective_rag import (
    PerspectiveCompressor,
    PerspectiveRetriever,
    SteerableEmbeddings,
)
from perspective_rag import CapabilityError, ConfigError, RetrievalError, RuleExtractor
from perspective_rag.testing import TableJudge

# search_kwargs, as VectorStoreRetriever has them


def test_k_among_the_search_arguments_is_the_number_of_documents(store, judge, debate):
    given = {"vectorstore": store, "judge": judge, "search_kwargs": {"k": 2}}
    assert len(PerspectiveRetriever(**given).invoke(debate.question)) == 2
    assert len(PerspectiveRetriever(**given, k=7).invoke(debate.question)) == 2
    assert len(PerspectiveRetriever(**given).invoke(debate.question, k=3)) == 3
    assert {call["k"] for call in store.calls} == {50}, "the store is asked for fetch_k"
    with pytest.raises(ConfigError, match="k must be"):
        PerspectiveRetriever(**{**given, "search_kwargs": {"k": 0}})


def test_k_of_a_retriever_that_stays_whole_is_kept_too(store, judge, debate):
    class Mine(VectorStoreRetriever):
        pass

    plain = Mine(vectorstore=store, search_kwargs={"k": 2})
    assert len(PerspectiveRetriever.wrap(plain, judge=judge).invoke(debate.question)) == 2
    assert len(PerspectiveRetriever.wrap(plain, judge=judge, k=3).invoke(debate.question)) == 3
    given = {"options": {"k": 4}}
    assert len(PerspectiveRetriever.wrap(plain, judge=judge, **given).invoke(debate.question)) == 4
    sharp = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.1, "k": 2}
    )
    assert PerspectiveRetriever.wrap(sharp, judge=judge).k == 2


def test_search_arguments_that_are_changed_later_are_obeyed(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store.as_retriever(search_kwargs={"k": 2}), judge=judge)
    assert len(retriever.invoke(debate.question)) == 2
    retriever.search_kwargs["k"] = 4
    assert len(retriever.invoke(debate.question)) == 4
    retriever.search_kwargs["filter"] = lambda document: "zoos" in document.page_content
    assert {call.get("filter") for call in store.calls} == {None}
    store.calls.clear()
    assert len(retriever.invoke(debate.question)) == 4
    assert {call["filter"] for call in store.calls} == {retriever.search_kwargs["filter"]}


def test_search_arguments_can_be_configured(store, judge, debate):
    field = ConfigurableField(id="search")
    retriever = PerspectiveRetriever.wrap(store.as_retriever(), judge=judge)
    configurable = retriever.configurable_fields(search_kwargs=field)
    config = {"configurable": {"search": {"k": 1}}}
    assert len(configurable.invoke(debate.question, config=config)) == 1
    assert len(configurable.invoke(debate.question)) == 5


async def test_search_arguments_of_one_call(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, guard_searches=0, search_kwargs={"tenant": "all", "depth": 2}
    )
    given = {"search_kwargs": {"tenant": "one", "k": 3}}
    found = retriever.invoke(debate.question, **given)
    assert len(found) == 3
    assert await retriever.ainvoke(debate.question, **given) == found
    assert retriever.batch([debate.question], **given) == [found]
    assert retriever.bind(**given).invoke(debate.question) == found
    assert [chunk async for chunk in retriever.astream(debate.question, **given)] == [found]
    assert {(call["tenant"], call["depth"]) for call in store.calls} == {("one", 2)}
    assert len(retriever.invoke(debate.question, search_kwargs={"k": 3}, k=4)) == 4
    store.calls.clear()
    assert len(retriever.invoke(debate.question)) == 5
    assert {call["tenant"] for call in store.calls} == {"all"}


def test_k_is_not_handed_to_a_wrapped_retriever_that_returns_what_it_likes(documents, judge):
    seen = []
    source = RunnableLambda(lambda question, **given: seen.append(given) or documents)
    retriever = PerspectiveRetriever.wrap(source, judge=judge, search_kwargs={"k": 2, "depth": 3})
    assert len(retriever.invoke("Should zoos be closed?")) == 2
    assert seen
    assert all(given == {"depth": 3} for given in seen)


# What as_retriever() was given, and what it can do


async def test_one_retriever_around_another_asks_it_for_its_own_depth(store, judge, debate):
    inner = PerspectiveRetriever(vectorstore=store, judge=None, k=2)
    outer = PerspectiveRetriever(retriever=inner, judge=judge, k=5)
    assert len(outer.invoke(debate.question)) == 5
    assert len(await outer.ainvoke(debate.question)) == 5


def test_tags_and_metadata_of_a_wrapped_retriever_stay(store, judge, debate, recorder):
    plain = store.as_retriever(tags=["tenant-1"], metadata={"team": "blue"})
    retriever = PerspectiveRetriever.wrap(plain, judge=judge)
    retriever.invoke(debate.question, config={"callbacks": [recorder]})
    assert recorder.root().tags == ["tenant-1"]
    assert recorder.root().metadata["team"] == "blue"
    assert PerspectiveRetriever.wrap(plain, judge=judge, tags=["other"]).tags == ["other"]
    named = PerspectiveRetriever.wrap(store.as_retriever(), judge=judge)
    assert named.tags == ["RecordingStore", "WordEmbeddings"]


async def test_documents_are_added_through_it(embeddings, judge, debate):
    retriever = PerspectiveRetriever.wrap(InMemoryVectorStore(embeddings), judge=judge)
    assert retriever.invoke(debate.question) == []
    one, other = Document(page_content="zoos close"), Document(page_content="zoos stay open")
    names = retriever.add_documents([one], ids=["1"])
    names += await retriever.aadd_documents([other], ids=["2"])
    assert names == ["1", "2"]
    assert {found.id for found in retriever.invoke(debate.question)} == {"1", "2"}


def test_documents_reach_the_store_behind_a_wrapped_retriever(store, documents, debate):
    class Mine(VectorStoreRetriever):
        """Stays a retriever of its own when it is wrapped."""

    retriever = PerspectiveRetriever.wrap(Mine(vectorstore=store), judge=None)
    retriever.add_documents([Document(page_content=debate.question, id="new")])
    assert retriever.invoke(debate.question)[0].id == "new"
    closed = PerspectiveRetriever.wrap(RunnableLambda(lambda question: documents), judge=None)
    with pytest.raises(CapabilityError, match="RunnableLambda takes no documents"):
        closed.add_documents(documents)


def test_the_embedding_model_behind_a_proxy_is_named(embeddings, judge):
    store = InMemoryVectorStore(SteerableEmbeddings(embeddings))
    params = PerspectiveRetriever.wrap(store, judge=judge)._get_ls_params()
    assert params["ls_embedding_provider"] == "WordEmbeddings"
    assert params["ls_vector_store_provider"] == "InMemoryVectorStore"


# Handlers that live in an event loop: a socket to the browser, a queue


class InLoop(AsyncCallbackHandler):
    """Notes for each event in which event loop it was told of it."""

    def __init__(self):
        self.seen = []

    def _note(self, event):
        async def note(*args, **kwargs):
            self.seen.append((event, asyncio.get_running_loop()))

        return note

    def __getattribute__(self, name):
        return self._note(name) if name.startswith("on_") else super().__getattribute__(name)


async def test_r14_async_handlers_are_called_in_the_caller_s_event_loop(
    documents, embeddings, judge, debate
):
    known = InMemoryVectorStore(embeddings)
    for store in (known, debate.NetworkStore(embeddings), debate.AsyncStore(embeddings)):
        store.add_documents(documents)
        handler = InLoop()
        retriever = PerspectiveRetriever.wrap(store, judge=judge, guard_searches=0)
        await retriever.ainvoke(debate.question, config={"callbacks": [handler]})
        assert {loop for _, loop in handler.seen} == {asyncio.get_running_loop()}
        told = Counter(event for event, _ in handler.seen)
        assert told["on_retriever_start"] == told["on_retriever_end"] == 4
        assert told["on_chain_start"] == told["on_chain_end"] >= 1
    handler = InLoop()
    broken = TableJudge(failing=frozenset(each.id for each in documents))
    retriever = PerspectiveRetriever.wrap(known, judge=broken, guard_searches=0)
    await retriever.ainvoke(debate.question, config={"callbacks": [handler]})
    assert {loop for _, loop in handler.seen} == {asyncio.get_running_loop()}
    told = Counter(event for event, _ in handler.seen)
    assert told["on_chain_error"] == told["on_chain_start"] >= 1


async def test_r14_a_search_that_is_given_up_ends_in_the_trace(documents, embeddings, debate):
    asked = threading.Event()
    store = debate.NetworkStore(embeddings, pause=lambda: asked.wait(5))
    store.add_documents(documents)
    handler = InLoop()
    retriever = PerspectiveRetriever.wrap(store, judge=None, max_queries=1, timeout=0.05)
    with pytest.raises(RetrievalError, match="within"):
        await retriever.ainvoke(debate.question, config={"callbacks": [handler]})
    asked.set()
    told = Counter(event for event, _ in handler.seen)
    assert told["on_retriever_start"] == told["on_retriever_error"] == 2


# What does not work is said, what does not matter does not fail


@pytest.mark.parametrize("awaited", [False, True])
async def test_r10_a_search_by_vector_that_is_there_and_does_not_work(
    documents, embeddings, judge, debate, awaited
):
    class Text(debate.AsyncStore):
        def similarity_search_by_vector(self, embedding, k=4, **kwargs):
            raise NotImplementedError

        async def asimilarity_search_by_vector(self, embedding, k=4, **kwargs):
            raise NotImplementedError

        def similarity_search(self, query, k=4, **kwargs):
            return self.inner.similarity_search(query, k)

    store = Text(embeddings)
    store.add_documents(documents)
    retriever = PerspectiveRetriever.wrap(store, judge=judge)
    with pytest.raises(RetrievalError, match=r"Text cannot.*retriever=vectorstore.as_retriever"):
        _ = await retriever.ainvoke("Why?") if awaited else retriever.invoke("Why?")
    by_text = PerspectiveRetriever(retriever=store.as_retriever(), judge=judge)
    assert len(by_text.invoke(debate.question)) == 5


def test_a_model_and_an_extractor_together_are_refused(store, judge):
    both = {"llm": FakeListChatModel(responses=["unused"]), "extractor": RuleExtractor()}
    with pytest.raises(ConfigError, match="llm= and extractor="):
        PerspectiveRetriever.wrap(store, judge=judge, **both)
    with pytest.raises(ConfigError, match="llm= and extractor="):
        PerspectiveCompressor(judge=judge, **both)


def test_the_warning_about_a_source_of_texts_says_what_to_do(store, documents, embeddings, debate):
    class Texts(debate.NetworkStore):
        similarity_search_by_vector = VectorStore.similarity_search_by_vector

    class Mine(VectorStoreRetriever):
        pass

    def warned(source):
        with pytest.warns(UserWarning, match="searched by text only") as warnings:
            PerspectiveRetriever.wrap(source, judge=None)
        return str(warnings[0].message)

    assert warned(Texts(embeddings)).endswith(
        "; make it with SteerableEmbeddings to search it by vector"
    )
    assert warned(Mine(vectorstore=store)).endswith("; pass its vectorstore= to search by vector")
    assert warned(RunnableLambda(lambda question: documents)).endswith("filter")


async def test_r23_metadata_that_cannot_be_copied_is_handed_on(judge, debate):
    lock, tags = threading.Lock(), ["zoo"]
    given = Document(page_content="zoos close", metadata={"lock": lock, "tags": tags})
    retriever = PerspectiveRetriever.wrap(RunnableLambda(lambda question: [given]), judge=judge)
    compressor = PerspectiveCompressor(judge=judge)
    for (found,) in (
        retriever.invoke(debate.question),
        await retriever.ainvoke(debate.question),
        compressor.compress_documents([given], debate.question),
    ):
        assert found.metadata["lock"] is lock
        assert found.metadata["tags"] == tags
        assert found.metadata["tags"] is not tags, "all that can be copied is"
    assert set(given.metadata) == {"lock", "tags"}


def test_scores_fall_from_document_to_document(store, judge, debate):
    for k in range(1, 11):
        for options in ({}, {"mmr_lambda": 0.4}, {"projection": "pap"}):
            retriever = PerspectiveRetriever.wrap(
                store, judge=judge, k=k, score_kind="selection", **options
            )
            scores = [d.metadata["relevance_score"] for d in retriever.invoke(debate.question)]
            assert scores == sorted(scores, reverse=True), (k, options)
