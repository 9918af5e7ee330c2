"""What the retriever returns, what it accepts, and what it leaves alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from langchain_perspective_rag import LangChainEmbedder, PerspectiveRetriever
from perspective_rag import CapabilityError, ConfigError, PipelineOptions, RetrievalError
from perspective_rag.testing import TableJudge


class FixedRetriever(BaseRetriever):
    """Returns its documents, whatever the question; takes no arguments at a call."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


def test_two_lines_cover_both_sides_where_plain_search_shows_one(store, judge, debate):
    plain = debate.keys(store.as_retriever(search_kwargs={"k": 3}).invoke(debate.question))
    wrapped = debate.keys(
        PerspectiveRetriever.wrap(store, judge=judge, k=3).invoke(debate.question)
    )
    assert {key.split("-")[0] for key in plain} == {"for"}
    assert {"for", "against"} <= {key.split("-")[0] for key in wrapped}


def test_r1_r3_every_document_carries_its_scores(store, judge, debate):
    documents = PerspectiveRetriever.wrap(store, judge=judge, k=4).invoke(debate.question)
    assert len(documents) == 4
    for document in documents:
        report = document.metadata["perspective_rag"]
        assert isinstance(document.metadata["relevance_score"], float)
        assert {"fused", "selected"} <= set(report["scores"])
        assert all(isinstance(score, float) for score in report["scores"].values())
        assert report["found_by"]
        assert report["supports"] == [p for p, value in report["support"].items() if value >= 0.5]
    supported = {side for d in documents for side in d.metadata["perspective_rag"]["supports"]}
    assert supported == {"support", "oppose"}


def test_r2_scores_of_a_store_are_cosines_or_absent(store, embeddings, debate):
    result = PerspectiveRetriever.wrap(store, judge=None, k=10).retrieve(
        debate.question, perspectives=[]
    )
    question = np.array(embeddings.embed_query(debate.question))
    for candidate in result.candidates:
        row = np.array(embeddings.embed_query(candidate.passage.text))
        assert candidate.scores["search:question"] == pytest.approx(row @ question)


def test_r2_a_distance_never_passes_for_a_score(documents, embeddings, debate):
    class DistanceStore(InMemoryVectorStore):
        """Scores like a store with L2 distances: lower is better."""

        def similarity_search_with_score_by_vector(self, embedding, k=4, **kwargs):
            found = super().similarity_search_with_score_by_vector(embedding, k, **kwargs)
            return [(document, 2 - 2 * score) for document, score in found]

    store = DistanceStore(embeddings)
    store.add_documents(documents)
    result = PerspectiveRetriever.wrap(store, judge=None, k=10).retrieve(
        debate.question, perspectives=[]
    )
    scores = [candidate.scores["search:question"] for candidate in result.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1


def test_r4_relevance_weight_one_is_plain_search_and_lower_avoids_copies(embeddings, debate):
    store = InMemoryVectorStore(embeddings)
    store.add_texts(
        ["zoos should be closed", "zoos should be closed now", "zoos are a place for families"],
        metadatas=[{"key": key} for key in ("first", "copy", "other")],
    )
    plain = debate.keys(store.similarity_search("zoos closed", k=2))
    retriever = PerspectiveRetriever.wrap(store, judge=None, k=2)
    assert debate.keys(retriever.invoke("zoos closed", perspectives=[])) == plain
    assert "other" not in plain
    for low in ({"relevance_weight": 0.0}, {"lambda_mult": 0.0}):
        assert "other" in debate.keys(retriever.invoke("zoos closed", perspectives=[], **low))


@pytest.mark.parametrize(
    ("wrong", "suggestion"),
    [
        ("lambda_mul", "lambda_mult"),
        ("relevance_wieght", "relevance_weight"),
        ("fetchk", "fetch_k"),
    ],
)
def test_r5_unknown_arguments_raise_and_suggest(store, judge, debate, wrong, suggestion):
    with pytest.raises(ConfigError, match=f"{wrong}.*{suggestion}"):
        PerspectiveRetriever(vectorstore=store, judge=judge, **{wrong: 0.5})
    with pytest.raises(ConfigError, match=f"{wrong}.*{suggestion}"):
        PerspectiveRetriever.wrap(store, judge=judge).invoke(debate.question, **{wrong: 0.5})
    with pytest.raises(ConfigError, match=f"{wrong}.*{suggestion}"):
        PerspectiveRetriever.wrap(store, judge=judge).retrieve(debate.question, **{wrong: 0.5})


async def test_r5_unknown_arguments_raise_in_async_calls_too(store, judge, debate):
    with pytest.raises(ConfigError, match="lambda_mult"):
        await PerspectiveRetriever.wrap(store, judge=judge).ainvoke(debate.question, lambda_mul=0.5)


def test_r5_constructor_and_call_names_are_suggested(store):
    with pytest.raises(ConfigError, match="vectorstore"):
        PerspectiveRetriever(vectorstor=store)
    with pytest.raises(ConfigError, match="'filter'"):
        PerspectiveRetriever.wrap(store, judge=None).invoke("q", fliter={})


def test_values_are_checked_at_construction(store, judge):
    with pytest.raises(ConfigError, match="relevance_weight"):
        PerspectiveRetriever(vectorstore=store, judge=judge, relevance_weight=1.5)
    with pytest.raises(ConfigError, match="given twice"):
        PerspectiveRetriever(vectorstore=store, judge=judge, relevance_weight=0.5, lambda_mult=0.5)
    with pytest.raises(ConfigError, match="vectorstore= or retriever="):
        PerspectiveRetriever(judge=judge)
    with pytest.raises(ConfigError, match="vectorstore= or retriever="):
        PerspectiveRetriever(vectorstore=store, retriever=store.as_retriever())
    with pytest.raises(ValidationError, match="judge"):
        PerspectiveRetriever(vectorstore=store, judge=object())


def test_r10_a_store_without_embeddings_says_what_to_pass(documents, embeddings, debate):
    class SilentStore(InMemoryVectorStore):
        embeddings = None

    store = SilentStore(embeddings)
    store.add_documents(documents)
    with pytest.raises(CapabilityError, match="embeddings="):
        PerspectiveRetriever.wrap(store)
    retriever = PerspectiveRetriever.wrap(store, judge=None, embeddings=embeddings)
    assert len(retriever.invoke(debate.question)) == 5


def test_options_in_bulk_and_by_name(store, judge):
    retriever = PerspectiveRetriever(
        vectorstore=store,
        judge=judge,
        options={"k": 2, "judge_k": 9},
        max_queries=3,
        lambda_mult=0.5,
    )
    assert (retriever.k, retriever.relevance_weight) == (2, 0.5)
    options = retriever.pipeline.options
    assert (options.k, options.judge_k, options.max_queries) == (2, 9, 3)
    assert options.relevance_weight == 0.5
    changed = retriever.model_copy(update={"k": 7})
    assert changed.pipeline.options.k == 7
    same = PerspectiveRetriever(vectorstore=store, judge=judge, options=PipelineOptions(k=3), k=4)
    assert same.pipeline.options.k == 4


def test_r8_filter_and_store_arguments_reach_every_search(store, judge, debate):
    def only_for(document):
        return document.metadata["key"].startswith("for")

    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, k=3, search_kwargs={"tenant": "t1"}, projection="pap"
    )
    found = retriever.invoke(debate.question, filter=only_for)
    assert {key[:3] for key in debate.keys(found)} == {"for"}
    assert len(store.calls) >= 3, "the question, two perspectives, and the guard's searches"
    assert all(call["filter"] is only_for for call in store.calls)
    assert all(call["tenant"] == "t1" for call in store.calls)
    assert all(type(call["embedding"]) is list for call in store.calls)
    assert all(type(value) is float for call in store.calls for value in call["embedding"])


def test_r9_no_text_is_embedded_twice(store, judge, embeddings, debate):
    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, k=3, projection="pap", lambda_mult=0.5
    )
    retriever.invoke(debate.question)
    assert embeddings.asked
    assert len(embeddings.asked) == len(set(embeddings.asked))
    assert not set(embeddings.asked) & set(debate.texts.values()), "the store has these vectors"


def test_r15_the_report_needs_no_state(store, judge, debate):
    result = PerspectiveRetriever.wrap(store, judge=judge, k=3).retrieve(debate.question)
    assert result.coverage is not None
    assert result.coverage.complete
    assert result.trace.queries[0].text == debate.question
    assert result.trace.calls["search"] >= 3
    assert result.trace.counts["judged_pairs"] > 0
    assert result.trace.degradations == ()


def test_r23_the_store_s_documents_are_not_touched(store, judge, debate):
    before = copy.deepcopy(store.store)
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=4)
    documents = retriever.invoke(debate.question)
    documents[0].metadata["nested"]["tags"].append("changed by the caller")
    assert store.store == before


class Article(Document):
    author: str = ""


def test_r23_id_metadata_and_subclass_come_back(judge, debate):
    given = [
        Article(
            id=debate.name_of(key), page_content=text, metadata={"key": key}, author="A. Writer"
        )
        for key, text in debate.texts.items()
    ]
    before = copy.deepcopy(given)
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=judge, k=4)
    documents = retriever.invoke(debate.question)
    assert given == before
    for document in documents:
        (original,) = [each for each in given if each.id == document.id]
        assert type(document) is Article
        assert document.author == "A. Writer"
        assert document is not original
        added = {"relevance_score", "perspective_rag"}
        assert {k: v for k, v in document.metadata.items() if k not in added} == original.metadata


def test_r23_a_failing_judge_leaves_the_documents_alone(debate):
    class Failing(TableJudge):
        def _look_up(self, perspectives, passages):
            raise RuntimeError("no judge today")

    given = [Document(page_content=text) for text in debate.texts.values()]
    before = copy.deepcopy(given)
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=Failing(), k=4)
    documents = retriever.invoke(debate.question)
    assert len(documents) == 4
    assert given == before
    assert all(d.metadata["perspective_rag"]["support"] == {} for d in documents), (
        "not judged, not 0"
    )
    assert retriever.retrieve(debate.question).trace.degradations


def test_r24_options_at_construction_and_at_each_call(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=2, fetch_k=4)
    assert len(retriever.invoke(debate.question)) == 2
    assert {call["k"] for call in store.calls} == {4}
    assert len(retriever.invoke(debate.question, k=6)) == 6
    store.calls.clear()
    retriever.invoke(debate.question, fetch_k=9, max_queries=1, guard_searches=0)
    assert [call["k"] for call in store.calls] == [9]
    assert retriever.k == 2


def test_r24_perspectives_at_a_call(store, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=TableJudge(default=1.0), k=2)
    documents = retriever.invoke(debate.question, perspectives=["zoos breed rare species", "parks"])
    assert documents[0].metadata["perspective_rag"]["supports"] == ["p1", "p2"]


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
    assert (retriever.k, retriever.relevance_weight) == (7, 1.0)
    assert retriever.search_kwargs == {"tenant": "t1"}
    assert plain.search_kwargs == {"k": 7, "tenant": "t1"}
    assert PerspectiveRetriever.wrap(plain, judge=judge, k=2).k == 2
    diverse = PerspectiveRetriever.wrap(store.as_retriever(search_type="mmr"), judge=judge)
    assert (diverse.relevance_weight, diverse.fetch_k) == (0.5, 20)
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
        d.metadata["perspective_rag"]["scores"]["relevance"]
        for d in ordered.invoke(debate.question)
    ]
    assert relevance == sorted(relevance, reverse=True)


def test_embeddings_of_the_library_fit_too(documents, debate):
    from perspective_rag.testing import HashEmbedder

    source = RunnableLambda(lambda question: documents)
    retriever = PerspectiveRetriever.wrap(source, judge=None, embeddings=HashEmbedder())
    assert "relevance" in retriever.invoke(debate.question)[0].metadata["perspective_rag"]["scores"]


def test_projection_needs_vectors(documents, judge):
    with pytest.raises(CapabilityError, match="projection"):
        PerspectiveRetriever.wrap(
            FixedRetriever(documents=documents), judge=judge, projection="pap"
        )


def test_r29_a_store_that_fails_raises_with_its_reason(store, judge, debate, recorder):
    def broken(*args, **kwargs):
        raise ConnectionError("the store is down")

    store.similarity_search_by_vector = broken  # on the instance: its class still overrides it
    retriever = PerspectiveRetriever.wrap(store, judge=judge)
    with pytest.raises(RetrievalError, match="the store is down") as raised:
        retriever.invoke(debate.question, config={"callbacks": [recorder]})
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert {type(error) for _, error in recorder.failed} == {ConnectionError, RetrievalError}


def test_an_empty_store_gives_nothing(embeddings, judge, debate):
    retriever = PerspectiveRetriever.wrap(InMemoryVectorStore(embeddings), judge=judge)
    assert retriever.invoke(debate.question) == []


def test_the_default_judge_is_made_once(store):
    first = PerspectiveRetriever.wrap(store).pipeline.judge
    second = PerspectiveRetriever.wrap(store).pipeline.judge
    assert first.judge_itself is second.judge_itself
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
