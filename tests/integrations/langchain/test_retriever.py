"""What the retriever returns, what it accepts, and what it leaves alone."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import (
    LangChainEmbedder,
    PerspectiveCompressor,
    PerspectiveRetriever,
)
from perspective_rag import CapabilityError, ConfigError, Perspective, PipelineOptions
from perspective_rag.extend import report_in
from tests.integrations.langchain.samples import FixedRetriever


def test_two_lines_cover_both_sides_where_plain_search_shows_one(store, judge, debate):
    plain = debate.keys(store.as_retriever(search_kwargs={"k": 3}).invoke(debate.question))
    wrapped = debate.keys(
        PerspectiveRetriever.wrap(store, judge=judge, k=3).invoke(debate.question)
    )
    assert {key.split("-")[0] for key in plain} == {"for"}
    assert {"for", "against"} <= {key.split("-")[0] for key in wrapped}


def test_values_are_checked_at_construction(store, judge):
    with pytest.raises(ConfigError, match="mmr_lambda"):
        PerspectiveRetriever(vectorstore=store, judge=judge, mmr_lambda=1.5)
    with pytest.raises(ConfigError, match="given twice"):
        PerspectiveRetriever(vectorstore=store, judge=judge, mmr_lambda=0.5, lambda_mult=0.5)
    with pytest.raises(ConfigError, match="vectorstore= or retriever="):
        PerspectiveRetriever(judge=judge)
    with pytest.raises(ConfigError, match="vectorstore= or retriever="):
        PerspectiveRetriever(vectorstore=store, retriever=store.as_retriever())
    with pytest.raises(ConfigError, match=r"judge must be .* got an object, which lacks name"):
        PerspectiveRetriever(vectorstore=store, judge=object())


def test_options_in_bulk_and_by_name(store, judge):
    retriever = PerspectiveRetriever(
        vectorstore=store,
        judge=judge,
        options={"k": 2, "judge_k": 9},
        max_queries=3,
        lambda_mult=0.5,
    )
    assert (retriever.k, retriever.mmr_lambda) == (2, 0.5)
    options = retriever.pipeline.options
    assert (options.k, options.judge_k, options.max_queries) == (2, 9, 3)
    assert options.mmr_lambda == 0.5
    changed = retriever.model_copy(update={"k": 7})
    assert changed.pipeline.options.k == 7
    same = PerspectiveRetriever(vectorstore=store, judge=judge, options=PipelineOptions(k=3), k=4)
    assert same.pipeline.options.k == 4


def test_documents_without_ids_stay_apart(judge, debate):
    given = [
        Document(page_content="zoos should be closed", metadata={"source": "a"}),
        Document(page_content="zoos should be closed", metadata={"source": "b"}),
        Document(page_content="zoos should stay open", metadata={"source": "a"}),
    ]
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=judge, k=5)
    documents = retriever.invoke(debate.question)
    assert len(documents) == 3
    assert all(document.id is None for document in documents)


def test_wrap_keeps_the_settings_of_a_vector_store_retriever(store, judge):
    plain = store.as_retriever(search_kwargs={"k": 7, "tenant": "t1"})
    retriever = PerspectiveRetriever.wrap(plain, judge=judge)
    assert retriever.vectorstore is store
    assert (retriever.k, retriever.mmr_lambda) == (7, 1.0)
    assert retriever.search_kwargs == {"tenant": "t1"}
    assert plain.search_kwargs == {"k": 7, "tenant": "t1"}
    assert PerspectiveRetriever.wrap(plain, judge=judge, k=2).k == 2
    diverse = PerspectiveRetriever.wrap(store.as_retriever(search_type="mmr"), judge=judge)
    assert (diverse.mmr_lambda, diverse.fetch_k) == (0.5, 20)
    sharp = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.1}
    )
    assert PerspectiveRetriever.wrap(sharp, judge=judge).retriever is sharp


def test_a_retriever_gets_k_and_filter_where_it_takes_them(store, judge, debate):
    def only_against(document):
        return document.metadata["key"].startswith("against")

    inner = store.as_retriever(search_kwargs={"k": 1})
    retriever = PerspectiveRetriever(retriever=inner, judge=judge, k=4)
    assert len(retriever.invoke(debate.question)) == 4
    found = retriever.invoke(debate.question, filter=only_against)
    assert set(debate.keys(found)) == {"against-1", "against-2"}


def test_a_filter_that_cannot_be_passed_on_raises(documents, judge, debate):
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=documents), judge=judge)
    with pytest.raises(CapabilityError, match="filter"):
        retriever.invoke(debate.question, filter={"a": 1})


def test_any_runnable_that_returns_documents_can_be_wrapped(documents, judge, debate, embeddings):
    source = RunnableLambda(lambda question: documents)
    by_order = PerspectiveRetriever.wrap(source, judge=None, k=2).invoke(debate.question)
    assert debate.keys(by_order) == debate.keys(documents[:2])
    ordered = PerspectiveRetriever.wrap(source, judge=None, k=10, embeddings=embeddings)
    relevance = [
        report_in(d.metadata)["scores"]["relevance"] for d in ordered.invoke(debate.question)
    ]
    assert relevance == sorted(relevance, reverse=True)


def test_embeddings_of_the_library_fit_too(documents, debate):
    from perspective_rag.testing import HashEmbedder

    source = RunnableLambda(lambda question: documents)
    retriever = PerspectiveRetriever.wrap(source, judge=None, embeddings=HashEmbedder())
    assert "relevance" in report_in(retriever.invoke(debate.question)[0].metadata)["scores"]


def test_projection_needs_vectors(documents, judge):
    with pytest.raises(CapabilityError, match="projection"):
        PerspectiveRetriever.wrap(
            FixedRetriever(documents=documents), judge=judge, projection="pap"
        )


def test_an_empty_store_gives_nothing(embeddings, judge, debate):
    retriever = PerspectiveRetriever.wrap(InMemoryVectorStore(embeddings), judge=judge)
    assert retriever.invoke(debate.question) == []


def test_the_default_judge_is_made_once(store):
    first = PerspectiveRetriever.wrap(store).pipeline.judge
    second = PerspectiveRetriever.wrap(store).pipeline.judge
    assert first.inner is second.inner
    assert PerspectiveRetriever.wrap(store, judge=None).pipeline.judge is None


def test_the_embedder_uses_each_side_s_method(embeddings):
    class Asymmetric(type(embeddings)):
        def embed_query(self, text):
            return [1.0, 0.0]

        def embed_documents(self, texts):
            return [[0.0, 1.0] for _ in texts]

    embedder = LangChainEmbedder(Asymmetric())
    assert embedder.embed_queries(["a", "b", "c"]).tolist() == [[1.0, 0.0]] * 3
    assert embedder.embed_passages(["a"]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("given", [["yes", ""], [Perspective("p2", "yes"), "no"]])
def test_perspectives_that_cannot_be_used_are_refused_at_construction(store, given):
    for make in (PerspectiveRetriever, PerspectiveCompressor):
        source = {"vectorstore": store} if make is PerspectiveRetriever else {}
        with pytest.raises(ConfigError, match=r"not empty|different ids"):
            make(judge=None, perspectives=given, **source)
    with pytest.raises(ConfigError, match="must be a list"):
        PerspectiveRetriever.wrap(store, judge=None).invoke("q", perspectives="one side")
