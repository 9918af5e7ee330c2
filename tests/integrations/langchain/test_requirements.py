"""What users of retriever wrappers asked for, a test each: scores, weights, arguments, stores, reports."""

from __future__ import annotations

import numpy as np
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever
from perspective_rag import (
    CapabilityError,
    ConfigError,
    Query,
)
from perspective_rag.extend import report_in
from perspective_rag.perspectives.find import extract
from perspective_rag.perspectives.queries import expand
from perspective_rag.search.candidates import merge
from perspective_rag.search.search import search
from perspective_rag.testing import HashEmbedder, TableJudge


def test_r1_every_document_carries_its_scores(store, judge, debate):
    documents = PerspectiveRetriever.wrap(store, judge=judge, k=4).invoke(debate.question)
    assert len(documents) == 4
    for document in documents:
        report = report_in(document.metadata)
        assert {"fused", "selected"} <= set(report["scores"])
        assert all(isinstance(score, float) for score in report["scores"].values())
        assert report["found_by"]
        assert report["supports"] == [p for p, value in report["support"].items() if value >= 0.5]
    supported = {side for d in documents for side in report_in(d.metadata)["supports"]}
    assert supported == {"support", "oppose"}


def test_r3_the_final_score_is_where_tracing_looks_for_it(store, documents, judge, debate):
    given = {"judge": judge, "k": 4, "score_kind": "selection"}
    chosen = PerspectiveCompressor(**given).compress_documents(documents, debate.question)
    for found in (
        PerspectiveRetriever.wrap(store, **given).invoke(debate.question),
        chosen,
    ):
        scores = [document.metadata["relevance_score"] for document in found]
        assert scores == sorted(scores, reverse=True)
        assert scores == [report_in(d.metadata)["scores"]["selected"] for d in found]
        assert {type(score) for score in scores} == {float}


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
    for low in ({"mmr_lambda": 0.0}, {"lambda_mult": 0.0}):
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


async def test_r5_what_the_store_alone_takes_has_a_place_and_the_error_says_which(store, debate):
    place = r"search_kwargs=\{'namespace': \.\.\.\}"
    retriever = PerspectiveRetriever.wrap(store, judge=None)
    with pytest.raises(ConfigError, match=place):
        PerspectiveRetriever.wrap(store, judge=None, namespace="one")
    with pytest.raises(ConfigError, match=place):
        retriever.invoke(debate.question, namespace="one")
    with pytest.raises(ConfigError, match=place):
        await retriever.ainvoke(debate.question, namespace="one")
    with pytest.raises(ConfigError) as wrong:  # a compressor searches nothing
        PerspectiveCompressor(judge=None, namespace="one")
    assert "search_kwargs" not in str(wrong.value)


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


def test_r10_a_store_without_embeddings_says_what_to_pass(documents, embeddings, debate):
    class SilentStore(InMemoryVectorStore):
        embeddings = None

    store = SilentStore(embeddings)
    store.add_documents(documents)
    with pytest.raises(CapabilityError, match="embeddings="):
        PerspectiveRetriever.wrap(store)
    retriever = PerspectiveRetriever.wrap(store, judge=None, embeddings=embeddings)
    assert len(retriever.invoke(debate.question)) == 5


def test_r15_the_report_needs_no_state(store, judge, debate):
    result = PerspectiveRetriever.wrap(store, judge=judge, k=3).retrieve(debate.question)
    assert result.coverage.judged
    assert result.coverage.complete
    assert result.trace.queries[0].text == debate.question
    assert result.trace.calls["search"] >= 3
    assert result.trace.counts["judged_pairs"] > 0
    assert result.trace.degradations == ()


def mmr(question, rows, k, weight):
    """Carbonell and Goldstein's choice, straight from the formula; the best has relevance 1."""
    relevance = rows @ question
    relevance = relevance / relevance.max()
    chosen: list[int] = []
    while len(chosen) < k:
        values = {
            i: weight * relevance[i]
            - (1 - weight) * max((rows[i] @ rows[j] for j in chosen), default=0.0)
            for i in np.argsort(-relevance, kind="stable").tolist()
            if i not in chosen
        }
        chosen.append(max(values, key=values.get))
    return chosen


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("question", ["zoos closed", "animals in cages", "bridges and trains"])
def test_r6_mmr_is_carbonell_and_goldstein_s(store, debate, weight, question):
    texts = list(debate.texts.values())
    rows = HashEmbedder().embed_passages(texts)
    (row,) = HashEmbedder().embed_queries([question])
    retriever = PerspectiveRetriever.wrap(store, judge=None, k=5, mmr_lambda=weight)
    found = [d.page_content for d in retriever.invoke(question, perspectives=[])]
    assert found == [texts[i] for i in mmr(row, rows, 5, weight)]


def test_r7_candidates_of_an_unknown_store_are_embedded_once_in_one_batch(documents, judge, debate):
    class Batches(debate.WordEmbeddings):
        sizes: list

        def embed_documents(self, texts):
            self.sizes.append(len(texts))
            return super().embed_documents(texts)

    embeddings = Batches()
    embeddings.sizes = []
    store = debate.NetworkStore(embeddings)
    store.add_documents(documents)
    embeddings.sizes.clear()
    embeddings.asked.clear()
    retriever = PerspectiveRetriever.wrap(store, judge=judge, lambda_mult=0.7, guard_searches=0)
    result = retriever.retrieve(debate.question)
    assert [size for size in embeddings.sizes if size > 1] == [len(debate.texts)]
    assert len(embeddings.asked) == len(set(embeddings.asked))
    assert result.trace.counts["embedded_texts"] == len(embeddings.asked)


def test_r10_text_only_sources_say_once_what_they_rule_out(documents, judge):
    class Keywords(BaseRetriever):
        documents: list[Document]

        def _get_relevant_documents(self, query, *, run_manager: CallbackManagerForRetrieverRun):
            return self.documents

    with pytest.warns(UserWarning, match=r"Keywords .* projection, mmr_lambda.*, filter") as seen:
        retriever = PerspectiveRetriever.wrap(Keywords(documents=documents), judge=judge)
    assert len(seen) == 1
    with pytest.warns(UserWarning, match="rules out: projection, filter"):
        PerspectiveRetriever.wrap(
            Keywords(documents=documents), judge=judge, embeddings=HashEmbedder()
        )
    with pytest.raises(CapabilityError, match="filter"):
        PerspectiveRetriever.wrap(Keywords(documents=documents), judge=judge, filter={"a": 1})
    assert len(retriever.invoke("Should zoos be closed?")) == 5


def test_r16_every_step_runs_alone_with_plain_values(store, judge, debate):
    pipeline = PerspectiveRetriever.wrap(store, judge=judge, k=3).pipeline
    request = pipeline.request(debate.question)
    extraction = pipeline.run_step(extract(request, pipeline.extractor), request)
    queries = pipeline.run_step(expand(request, pipeline.expander, extraction), request)
    rankings = pipeline.run_step(search(request, extraction, queries), request)
    found = pipeline.run_step(merge(request, rankings), request)
    assert [p.id for p in extraction.perspectives] == ["support", "oppose"]
    assert queries[0] == Query(debate.question)
    assert len(found) == len(debate.texts)


async def test_r14_judgements_are_children_too(store, judge, debate, recorder):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, guard_searches=0)
    for call in (retriever.invoke, retriever.ainvoke):
        seen = debate.Recorder()
        found = call(debate.question, config={"callbacks": [seen]})
        if call == retriever.ainvoke:
            await found
        judgements = [run for run in seen.children() if run.kind == "judge"]
        assert judgements
        assert {run.name for run in judgements} == {"table"}
        assert all(run.tags == ["perspective_rag:judge"] for run in judgements)
        assert set(seen.ended) == set(seen.runs)
    broken = PerspectiveRetriever.wrap(
        store, judge=TableJudge(failing=frozenset(map(debate.name_of, debate.texts)))
    )
    broken.invoke(debate.question, config={"callbacks": [recorder]})
    assert {str(error) for _, error in recorder.failed} == {"the judge fails on this batch"}
