"""Inside what LlamaIndex users build: query engines, fusion, routers, instrumentation spans."""

from __future__ import annotations

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import QueryBundle

from llama_index.retrievers.perspective_rag import (
    METADATA_KEY,
    PerspectivePostprocessor,
    PerspectiveRetriever,
)


def ids(nodes):
    return [item.node.node_id for item in nodes]


@pytest.fixture
def synthesizer():
    return get_response_synthesizer(llm=MockLLM())  # repeats the prompt it is given


async def test_a_query_engine_answers_from_both_sides_and_shows_the_model_no_report(
    zoo, synthesizer
):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    engine = RetrieverQueryEngine(retriever, response_synthesizer=synthesizer)
    for response in (engine.query(zoo.question), await engine.aquery(zoo.question)):
        assert "e" in ids(response.source_nodes)
        assert zoo.texts["e"] in str(response)
        assert METADATA_KEY not in str(response)
        assert "supports" in response.source_nodes[0].node.metadata[METADATA_KEY]


async def test_a_query_engine_with_the_postprocessor(zoo, synthesizer):
    engine = RetrieverQueryEngine(
        zoo.index().as_retriever(similarity_top_k=6),
        response_synthesizer=synthesizer,
        node_postprocessors=[PerspectivePostprocessor(judge=zoo.judge(), k=3)],
    )
    for response in (engine.query(zoo.question), await engine.aquery(zoo.question)):
        assert len(response.source_nodes) == 3
        assert "e" in ids(response.source_nodes)


@pytest.mark.parametrize("use_async", [False, True])
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "simple", "relative_score"])
def test_one_retriever_of_a_fusion(zoo, mode, use_async):
    index = zoo.index()
    ours = PerspectiveRetriever(index, judge=zoo.judge(), k=3)
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=3), ours],
        llm=MockLLM(),
        num_queries=1,
        mode=mode,
        similarity_top_k=4,
        use_async=use_async,
    )
    nodes = fusion.retrieve(zoo.question)
    assert len(ids(nodes)) == len(set(ids(nodes)))  # found twice is still one node
    assert "e" in ids(nodes)


def test_a_fusion_of_several_questions_knows_its_nodes_again(zoo):
    class Rewriting(MockLLM):
        def complete(self, prompt, formatted=False, **kwargs):
            response = super().complete("", formatted=formatted)
            response.text = "Should zoos be banned?"
            return response

    ours = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    fusion = QueryFusionRetriever(
        [ours], llm=Rewriting(), num_queries=2, use_async=False, similarity_top_k=9
    )
    nodes = fusion.retrieve(zoo.question)
    assert len(ids(nodes)) == len(set(ids(nodes)))


def test_sorting_by_score_keeps_the_order_in_which_sides_were_covered(zoo):
    for k in range(1, 7):
        nodes = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=k).retrieve(zoo.question)
        assert ids(sorted(nodes, key=lambda item: item.score, reverse=True)) == ids(nodes)


def test_what_another_of_ours_returned_can_be_chosen_from(zoo):
    given = PerspectiveRetriever(zoo.index(), judge=None, k=4).retrieve(zoo.question)
    inner = given[0].node.metadata[METADATA_KEY]
    again = PerspectivePostprocessor(judge=zoo.judge()).postprocess_nodes(
        given, query_str=zoo.question
    )
    assert all(item.node.metadata[METADATA_KEY]["support"] for item in again)
    for item in again:
        assert item.node.excluded_llm_metadata_keys.count(METADATA_KEY) == 1
        item.node.excluded_llm_metadata_keys.clear()
    assert given[0].node.metadata[METADATA_KEY] is inner
    assert inner["support"] == {}
    assert all(METADATA_KEY in item.node.excluded_llm_metadata_keys for item in given)


def test_one_perspective_retriever_over_another(zoo):
    inner = PerspectiveRetriever(zoo.index(), judge=None, k=4)
    nodes = PerspectiveRetriever(inner, judge=zoo.judge(), k=3).retrieve(QueryBundle(zoo.question))
    assert len(nodes) == 3
    assert nodes[0].node.metadata[METADATA_KEY]["support"]


def test_the_spans_of_the_searches_are_children_of_our_span(zoo):
    from llama_index.core.instrumentation import root_dispatcher
    from llama_index.core.instrumentation.span.simple import SimpleSpan
    from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

    handler = SimpleSpanHandler()
    before = list(root_dispatcher.span_handlers)
    root_dispatcher.add_span_handler(handler)
    try:
        PerspectiveRetriever(zoo.index(), judge=None).retrieve(zoo.question)
    finally:
        root_dispatcher.span_handlers = before
    spans: dict[str, SimpleSpan] = {span.id_: span for span in handler.completed_spans}
    ours = [name for name in spans if name.startswith("PerspectiveRetriever.retrieve")]
    searches = [
        span for name, span in spans.items() if name.startswith("VectorIndexRetriever.retrieve")
    ]
    assert len(ours) == 1
    assert len(searches) >= 3
    assert all(_has_ancestor(span, ours[0], spans) for span in searches)


def _has_ancestor(span, name, spans):
    while span.parent_id is not None:
        if span.parent_id == name:
            return True
        span = spans[span.parent_id]
    return False
