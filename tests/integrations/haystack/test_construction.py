"""What can never work is refused where it is passed, in Haystack's words."""

from __future__ import annotations

import pytest
from haystack import Document, component
from haystack.components.retrievers import FilterRetriever
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)

from haystack_integrations.common.perspective_rag import HaystackStore, as_store
from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag import CapabilityError, ConfigError, PerspectivePipeline, RuleExtractor
from perspective_rag.commands.user_retriever import as_store as registered_store
from tests.integrations.haystack.samples import QUESTION, ScriptedGenerator, WordEmbedder, filled


def function(*arguments):
    raise AssertionError("never called")


@pytest.mark.parametrize(
    ("parameter", "given", "said"),
    [
        ("chat_generator", "gpt", r"a Haystack chat generator \(a component\), got 'gpt'"),
        ("chat_generator", WordEmbedder(), r"takes 'messages'; WordEmbedder takes 'text'"),
        ("text_embedder", function, r"a Haystack text embedder \(a component\), got <function"),
        ("text_embedder", WordEmbedder, r"got the class WordEmbedder"),
        ("document_embedder", WordEmbedder(), r"takes 'documents'; WordEmbedder takes 'text'"),
        ("judge", "accurate", r"\"default\", None, or a Judge of .* got 'accurate'"),
        ("judge", function, r"wrap it, CallableJudge\(function\)"),
        ("extractor", function, r"wrap it, CallableExtractor\(function\)"),
        ("limiter", 4, r"a Limiter .* got 4"),
        ("score_kind", "rank", r"\"similarity\" or \"selection\", got 'rank'"),
    ],
)
def test_what_is_no_part_is_refused_at_construction(parameter, given, said):
    for make in (
        lambda: PerspectiveRetriever(document_store=filled(), **{parameter: given}),
        lambda: PerspectiveRanker(**{parameter: given}),
    ):
        with pytest.raises(ConfigError, match=f"^{parameter} must be .*{said}"):
            make()


def test_what_is_searched_is_a_retriever_or_a_store_in_memory_and_one_of_them():
    with pytest.raises(ConfigError, match=r"^pass either retriever= or document_store="):
        PerspectiveRetriever()
    with pytest.raises(ConfigError, match=r"^pass either retriever= or document_store="):
        PerspectiveRetriever(InMemoryBM25Retriever(filled()), document_store=filled())
    with pytest.raises(
        ConfigError, match=r"InMemoryDocumentStore, got a dict: pass the store's own"
    ):
        PerspectiveRetriever(document_store={})
    with pytest.raises(ConfigError, match="retriever must be a Haystack retriever"):
        PerspectiveRetriever(filled())
    with pytest.raises(
        ConfigError, match=r"takes 'query' or 'query_embedding'; .* takes 'filters'"
    ):
        PerspectiveRetriever(FilterRetriever(filled()))


def test_a_retriever_that_needs_more_than_a_query_is_refused():
    @component
    class Hybrid:
        @component.output_types(documents=list[Document])
        def run(self, query_embedding: list[float], query_sparse_embedding: dict):
            raise AssertionError("never called")

    with pytest.raises(ConfigError, match=r"^Hybrid needs 'query_sparse_embedding' too"):
        PerspectiveRetriever(Hybrid(), text_embedder=WordEmbedder())


def test_what_these_parts_can_never_do_is_said_at_construction():
    with pytest.raises(
        CapabilityError, match="InMemoryEmbeddingRetriever searches by vector: pass"
    ):
        PerspectiveRetriever(InMemoryEmbeddingRetriever(filled()))
    with pytest.raises(CapabilityError, match=r"projection='pap' changes vectors"):
        PerspectiveRetriever(document_store=filled(), projection="pap")
    with pytest.raises(CapabilityError, match='coverage="require" needs a judge'):
        PerspectiveRanker(judge=None, coverage="require")
    with pytest.raises(ConfigError, match=r"chat_generator= and extractor= both find"):
        PerspectiveRanker(chat_generator=ScriptedGenerator("a"), extractor=RuleExtractor())


def test_unknown_names_raise_with_the_right_one_and_search_options_of_a_ranker_raise():
    for make in (
        lambda: PerspectiveRetriever(document_store=filled(), lambda_multi=0.5),
        lambda: PerspectiveRanker(lambda_multi=0.5),
        lambda: PerspectiveRanker().run(QUESTION, [Document("a")], options={"lambda_multi": 1.0}),
        lambda: PerspectiveRetriever(document_store=filled()).run(
            QUESTION, options={"lambda_multi": 1.0}
        ),
    ):
        with pytest.raises(ConfigError, match="lambda_mult"):
            make()
    with pytest.raises(ConfigError, match="projection has no effect here: nothing is searched"):
        PerspectiveRanker(projection="pap")
    with pytest.raises(ConfigError, match=r"options must be a dictionary .* got 5"):
        PerspectiveRanker().run(QUESTION, [Document("a")], options=5)


def test_as_store_takes_a_store_or_a_retriever_and_the_command_line_finds_it():
    for source in (filled(), InMemoryBM25Retriever(filled())):
        for make in (as_store, lambda given: registered_store(given, "mine:factory")):
            store, embedder = make(source)
            assert isinstance(store, HaystackStore)
            assert embedder is None
            assert len(PerspectivePipeline(store, k=2).retrieve(QUESTION).passages) == 2
    with pytest.raises(ConfigError, match="retriever must be a Haystack retriever"):
        as_store("store")
