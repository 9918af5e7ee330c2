"""What can never work is refused where it is passed, in LangChain's words; repr is for people."""

from __future__ import annotations

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import (
    LangChainEmbedder,
    LangChainStore,
    PerspectiveCompressor,
    PerspectiveRetriever,
    as_store,
)
from perspective_rag import ConfigError, ListingRule, PerspectivePipeline
from perspective_rag.commands.user_retriever import as_store as registered_store
from perspective_rag.extend import call


def function(*arguments):
    raise AssertionError("never called")


@pytest.fixture
def vectorstore():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document("Zoos save species."), Document("Zoos are prisons.")])
    return store


@pytest.mark.parametrize(
    ("parameter", "given", "said"),
    [
        ("llm", "gpt", r"a LangChain chat model or LLM, or an LLM of .* got 'gpt'"),
        ("llm", function, r"wrap it, CallableLLM\(function\)"),
        ("judge", "accurate", r"\"default\", None, or a Judge of .* got 'accurate'"),
        ("judge", function, r"wrap it, CallableJudge\(function\)"),
        ("embeddings", function, r"LangChain Embeddings, or an Embedder of"),
        ("embeddings", DeterministicFakeEmbedding, r"the class DeterministicFakeEmbedding: pass"),
        ("extractor", function, r"wrap it, CallableExtractor\(function\)"),
        ("limiter", 4, r"a Limiter .* got 4"),
        ("perspectives", "Zoos help", "perspectives must be a list"),
    ],
)
def test_what_is_no_part_is_refused_at_construction(parameter, given, said, vectorstore):
    for make in (
        lambda: PerspectiveRetriever.wrap(vectorstore, **{parameter: given}),
        lambda: PerspectiveCompressor(**{parameter: given}),
    ):
        with pytest.raises(ConfigError, match=f"^{parameter} must be .*{said}|^{said}"):
            make()


def test_what_is_no_store_and_no_retriever_is_refused():
    with pytest.raises(
        ConfigError, match="vectorstore must be a LangChain VectorStore, got 'faiss'"
    ):
        PerspectiveRetriever(vectorstore="faiss")
    with pytest.raises(
        ConfigError, match=r"retriever must be a LangChain Runnable.*RunnableLambda"
    ):
        PerspectiveRetriever.wrap(function)


def test_repr_names_what_is_searched_and_the_options_that_are_not_the_default(vectorstore):
    retriever = PerspectiveRetriever.wrap(vectorstore, k=3, projection="pap", judge=None)
    expected = (
        "PerspectiveRetriever(InMemoryVectorStore, options=PipelineOptions(k=3, projection='pap'))"
    )
    assert repr(retriever) == str(retriever) == expected
    compressor = PerspectiveCompressor(k=2, judge=None)
    assert repr(compressor) == "PerspectiveCompressor(options=PipelineOptions(k=2))"


def test_as_store_takes_a_vector_store_or_a_retriever(vectorstore):
    store, embedder = as_store(vectorstore)
    assert isinstance(store, LangChainStore)
    assert isinstance(embedder, LangChainEmbedder)
    pipeline = PerspectivePipeline(store, embedder=embedder, k=2)
    assert len(pipeline.retrieve("Should zoos be closed?").passages) == 2
    by_text, none = as_store(RunnableLambda(lambda question: [Document(question)]))
    assert none is None
    assert [hit.passage.text for hit in by_text.search("zoos", None, k=1)] == ["zoos"]
    with pytest.raises(
        ConfigError, match="expected a LangChain vector store or retriever, got a str"
    ):
        as_store("faiss")


def test_the_command_line_finds_it_through_its_entry_point(vectorstore):
    store, embedder = registered_store(vectorstore, "mine:factory")
    assert isinstance(store, LangChainStore)
    assert isinstance(embedder, LangChainEmbedder)


class SidesJudge:
    """A judge with all that a judge may offer."""

    name, threshold = "sides", 0.5
    listing, sides_listing = ListingRule(0.7, 0.6), ListingRule(0.8, 0.6, 0.1)

    def judge(self, perspectives, passages):
        return np.full((len(passages), len(perspectives)), 0.7)

    def judge_sides(self, sides, passages, relevance):
        reply = yield from call("judge", lambda: np.full((len(passages), 2), [0.9, 0.1]))
        return reply.value


def test_what_a_judge_offers_reaches_the_pipeline(vectorstore):
    retriever = PerspectiveRetriever.wrap(vectorstore, judge=SidesJudge(), k=2)
    result = retriever.retrieve("Should zoos be closed?")
    plain_store, embedder = as_store(vectorstore)
    plain = PerspectivePipeline(plain_store, embedder=embedder, judge=SidesJudge(), k=2)
    assert result.coverage.rule == SidesJudge.sides_listing
    assert result.coverage.support.tolist() == [[0.9, 0.1], [0.9, 0.1]]
    expected = plain.retrieve("Should zoos be closed?").coverage
    assert result.coverage.to_dict() == expected.to_dict()
