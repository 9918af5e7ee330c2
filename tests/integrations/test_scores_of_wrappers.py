"""What a returned document's score says, and what its metadata holds."""

from __future__ import annotations

import json

import pytest

from perspective_rag import Candidate, Passage
from perspective_rag.annotations import (
    ANNOTATIONS,
    annotations_of,
    report_in,
    scores_of,
    similarity_of,
    without_annotations,
)
from perspective_rag.types import RetrievalResult, Trace

QUESTION = "Should zoos be closed?"


def result(*scores):
    candidates = [
        Candidate(Passage(str(i), f"text {i}"), float(given.get("selected", 0.1)), given)
        for i, given in enumerate(scores)
    ]
    return RetrievalResult(QUESTION, tuple(candidates), (), None, Trace())


def test_similarity_is_what_says_most_about_passage_and_question():
    def of(**scores):
        return similarity_of(Candidate(Passage("a", "a"), 0.5, scores))

    assert of(given=0.7, relevance=0.6) == 0.7
    assert of(relevance=0.6, **{"search:question": 0.9}) == 0.6
    assert of(**{"search:question": 0.2, "search:p1": 0.9}) == 0.2
    assert of(**{"search:p1": 0.3, "search:p2": 0.4}, fused=0.9) == 0.4
    assert of(fused=0.9, selected=0.8) is None


def test_scores_are_similarities_or_those_of_the_choice():
    found = result(
        {"relevance": 0.2, "selected": 0.9}, {"relevance": 0.8, "selected": 0.95}, {"selected": 0.1}
    )
    assert scores_of(found, "similarity") == [0.2, 0.8, None]
    assert scores_of(found, "selection") == [0.9, 0.9, 0.1], "never rising"
    unknown = result({"selected": 0.9}, {"selected": 0.5})
    assert scores_of(unknown, "similarity") == scores_of(unknown, "selection") == [0.9, 0.5]


def test_annotations_are_flat_and_read_back():
    found = result({"relevance": 0.2, "selected": 0.9}, {"selected": 0.4})
    first, second = annotations_of(found)
    assert set(first) == set(ANNOTATIONS)
    assert "perspective_rag_similarity" not in second
    for each in (first, second):
        assert {type(value) for value in each.values()} <= {str, float}
    assert report_in(json.loads(json.dumps(first)))["scores"] == {"relevance": 0.2, "selected": 0.9}
    assert without_annotations({"own": 1, **first}) == {"own": 1}
    with pytest.raises(ValueError, match="no wrapper returned it"):
        report_in({"own": 1})


def test_the_score_is_the_cosine_to_the_question_and_the_order_is_ours(framework, load):
    """Known answers: the cosine of each text to the question, over the framework's own store."""
    embedded, found, by_choice = STORES[framework](load)
    cosines = [float(embedded(QUESTION) @ embedded(text)) for text, _ in found]
    assert [score for _, score in found] == pytest.approx(cosines, abs=1e-6)
    assert cosines != sorted(cosines, reverse=True), "a side that is worded otherwise comes early"
    assert [text for text, _ in by_choice] == [text for text, _ in found]
    scores = [score for _, score in by_choice]
    assert scores == sorted(scores, reverse=True)


def _langchain(load):
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_perspective_rag import PerspectiveRetriever
    from perspective_rag.testing import HashEmbedder
    from tests.integrations.langchain.samples import WordEmbeddings

    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents([Document(text, id=name) for name, text in load.texts.items()])
    found = [
        [
            (document.page_content, document.metadata["relevance_score"])
            for document in PerspectiveRetriever.wrap(
                store, judge=load.judge(load.Probe()), score_kind=kind
            ).invoke(QUESTION)
        ]
        for kind in ("similarity", "selection")
    ]
    return (lambda text: HashEmbedder().embed_passages([text])[0]), *found


def _llama_index(load):
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode

    from llama_index.retrievers.perspective_rag import PerspectiveRetriever
    from perspective_rag.testing import HashEmbedder

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text):
            return HashEmbedder().embed_passages([text])[0].tolist()

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

    nodes = [TextNode(id_=name, text=text) for name, text in load.texts.items()]
    index = VectorStoreIndex(nodes, embed_model=Words())
    found = [
        [
            (item.node.text, item.score)
            for item in PerspectiveRetriever(
                index, judge=load.judge(load.Probe()), score_kind=kind, k=5
            ).retrieve(QUESTION)
        ]
        for kind in ("similarity", "selection")
    ]
    return (lambda text: HashEmbedder().embed_passages([text])[0]), *found


def _haystack(load):
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
    from perspective_rag.testing import HashEmbedder
    from tests.integrations.haystack.samples import WordEmbedder

    store = InMemoryDocumentStore()
    rows = HashEmbedder().embed_passages(list(load.texts.values())).tolist()
    store.write_documents(
        [
            Document(id=name, content=text, embedding=row)
            for (name, text), row in zip(load.texts.items(), rows, strict=True)
        ]
    )
    found = [
        [
            (document.content, document.score)
            for document in PerspectiveRetriever(
                document_store=store,
                text_embedder=WordEmbedder(),
                judge=load.judge(load.Probe()),
                score_kind=kind,
            ).run(QUESTION)["documents"]
        ]
        for kind in ("similarity", "selection")
    ]
    return (lambda text: HashEmbedder().embed_passages([text])[0]), *found


STORES = {"langchain": _langchain, "llama_index": _llama_index, "haystack": _haystack}


def test_a_langchain_document_has_a_number_for_its_score_or_no_key():
    documents = pytest.importorskip("langchain_core.documents")
    from langchain_perspective_rag.documents import documents_of

    given = [{"relevance": 0.2, "selected": 0.9}, {"selected": 0.5}]
    stale = {"relevance_score": 0.99, "key": "kept"}
    candidates = tuple(
        Candidate(
            Passage(str(i), "text", stale, documents.Document("text", metadata=stale)), 0.1, scores
        )
        for i, scores in enumerate(given)
    )
    found = RetrievalResult(QUESTION, candidates, (), None, Trace())
    first, second = documents_of(found, "similarity")
    assert first.metadata["relevance_score"] == 0.2
    assert "relevance_score" not in second.metadata, "not None, and not what another search left"
    assert second.metadata["key"] == "kept"
    chosen = documents_of(found, "selection")
    assert [each.metadata["relevance_score"] for each in chosen] == [0.9, 0.5]
