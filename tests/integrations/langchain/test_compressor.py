"""The compressor chooses among documents that were found elsewhere."""

from __future__ import annotations

import copy
import json

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel

from langchain_perspective_rag import PerspectiveCompressor
from perspective_rag import CapabilityError, ConfigError
from perspective_rag.extend import report_in

SIDES = json.dumps(
    {"root": "Should zoos be closed?", "perspectives": ["breeding", "cages are cruel"]}
)


async def test_it_covers_both_sides_and_touches_nothing(documents, judge, debate):
    before = copy.deepcopy(documents)
    compressor = PerspectiveCompressor(judge=judge, k=2)
    kept = compressor.compress_documents(documents, debate.question)
    assert {key.split("-")[0] for key in debate.keys(kept)} == {"for", "against"}
    assert kept == await compressor.acompress_documents(documents, debate.question)
    assert documents == before
    assert all("relevance_score" in each.metadata for each in kept)


@pytest.mark.parametrize(("k", "expected"), [(1, 1), (7, 7), (50, 10)])
def test_never_fewer_than_k_of_those_given(documents, judge, debate, k, expected):
    compressor = PerspectiveCompressor(judge=judge, k=k)
    assert len(compressor.compress_documents(documents, debate.question)) == expected


def test_without_a_judge_the_given_order_stays(documents, debate):
    kept = PerspectiveCompressor(judge=None, k=4).compress_documents(documents, debate.question)
    assert debate.keys(kept) == debate.keys(documents[:4])


def test_embeddings_order_by_cosine(documents, embeddings, debate):
    compressor = PerspectiveCompressor(judge=None, k=10, embeddings=embeddings)
    kept = compressor.compress_documents(list(reversed(documents)), debate.question)
    scores = [each.metadata["relevance_score"] for each in kept]
    assert scores == sorted(scores, reverse=True)
    assert len(embeddings.asked) == len(set(embeddings.asked)) == 11


def test_nothing_given_nothing_kept(judge):
    assert PerspectiveCompressor(judge=judge).compress_documents([], "Should zoos be closed?") == []


def test_arguments_are_checked(judge):
    with pytest.raises(ConfigError, match=r"lambda_mul.*lambda_mult"):
        PerspectiveCompressor(judge=judge, lambda_mul=0.5)
    with pytest.raises(CapabilityError, match="embedder="):
        PerspectiveCompressor(judge=judge, lambda_mult=0.5)


def test_inside_contextual_compression(store, judge, debate, recorder):
    classic = pytest.importorskip("langchain_classic.retrievers")
    retriever = classic.ContextualCompressionRetriever(
        base_compressor=PerspectiveCompressor(
            judge=judge, k=3, llm=FakeListChatModel(responses=[SIDES])
        ),
        base_retriever=store.as_retriever(search_kwargs={"k": 10}),
    )
    kept = retriever.invoke(debate.question, config={"callbacks": [recorder]})
    assert len(kept) == 3
    assert all(isinstance(each, Document) for each in kept)
    models = [run for run in recorder.children() if run.kind == "llm"]
    assert [run.tags for run in models] == [["perspective_rag:extract_perspectives"]]
    assert len(store.calls) == 0, "nothing is searched by vector again"


def test_a_topic_gets_the_sides_that_the_given_documents_take():
    given = [
        Document("Homework should be abolished in primary schools."),
        Document("Homework should not be abolished, for practice makes lessons stick."),
    ]
    kept = PerspectiveCompressor(k=2, discover=2).compress_documents(given, "homework in schools")
    sides = {side for each in kept for side in report_in(each.metadata)["supports"]}
    assert len(sides) == 2
    plain = PerspectiveCompressor(k=2).compress_documents(given, "homework in schools")
    assert all(not report_in(each.metadata)["supports"] for each in plain)
