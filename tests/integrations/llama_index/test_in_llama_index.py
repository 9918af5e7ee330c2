"""Inside what LlamaIndex users build: query and chat engines, fusion, workflows, instrumentation."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import Counter

import pytest
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import Document, Node, NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from llama_index.retrievers.perspective_rag import (
    PerspectivePostprocessor,
    PerspectiveRetriever,
    report_in,
)

REPORT = "perspective_rag_report"


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
        assert REPORT not in str(response)
        assert "supports" in report_in(response.source_nodes[0].node.metadata)


async def test_a_query_engine_with_the_postprocessor(zoo, synthesizer):
    engine = RetrieverQueryEngine(
        zoo.index().as_retriever(similarity_top_k=6),
        response_synthesizer=synthesizer,
        node_postprocessors=[PerspectivePostprocessor(judge=zoo.judge(), k=3)],
    )
    for response in (engine.query(zoo.question), await engine.aquery(zoo.question)):
        assert len(response.source_nodes) == 3
        assert "e" in ids(response.source_nodes)


# Chat engines. MockLLM repeats what it is told, so that an answer shows what the model was shown.


def memory():
    return Memory.from_defaults(token_limit=4000, tokenizer_fn=str.split)


@pytest.mark.parametrize("engine", [ContextChatEngine, CondensePlusContextChatEngine])
@pytest.mark.parametrize("as_postprocessor", [False, True])
async def test_a_chat_engine_shows_the_model_both_sides(zoo, engine, as_postprocessor):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    postprocessors = []
    if as_postprocessor:
        retriever = zoo.index().as_retriever(similarity_top_k=6)
        postprocessors = [PerspectivePostprocessor(judge=zoo.judge(), k=3)]

    def chat():
        return engine.from_defaults(
            retriever, llm=MockLLM(), memory=memory(), node_postprocessors=postprocessors
        )

    streamed, awaited = chat().stream_chat(zoo.question), await chat().astream_chat(zoo.question)
    answers = [
        chat().chat(zoo.question),
        await chat().achat(zoo.question),
        (streamed, "".join(streamed.response_gen)),
        (awaited, "".join([token async for token in awaited.async_response_gen()])),
    ]
    for answer in answers:
        response, text = answer if isinstance(answer, tuple) else (answer, str(answer))
        assert len(response.source_nodes) == 3
        assert "e" in ids(response.source_nodes)
        assert zoo.texts["e"] in text
        assert REPORT not in text


async def test_a_chat_engine_that_asks_a_query_engine(zoo, synthesizer):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    query_engine = RetrieverQueryEngine(retriever, response_synthesizer=synthesizer)

    class Condensing(MockLLM):
        def complete(self, prompt, formatted=False, **kwargs):
            response = super().complete(prompt, formatted=formatted)
            response.text = zoo.question
            return response

    def chat():
        history = [ChatMessage(role="user", content="Tell me of zoos.")]
        return CondenseQuestionChatEngine.from_defaults(
            query_engine, llm=Condensing(), memory=memory(), chat_history=history
        )

    for response in (chat().chat("Close them?"), await chat().achat("Close them?")):
        assert "e" in ids(response.source_nodes)
        assert zoo.texts["e"] in str(response)


async def test_a_follow_up_that_asks_nothing_is_left_alone(zoo):
    judge = zoo.judge()
    retriever = PerspectiveRetriever(
        zoo.index(), judge=judge, k=3, skip_if=lambda text: text.startswith("Thank")
    )
    chat = CondensePlusContextChatEngine.from_defaults(
        retriever, llm=MockLLM(), memory=memory(), skip_condense=True
    )
    assert "e" in ids(chat.chat(zoo.question).source_nodes)
    judged = len(judge.judged)
    assert judged
    for response in (chat.chat("Thanks, zoos it is."), await chat.achat("Thank you for zoos.")):
        assert len(response.source_nodes) == 3
    assert len(judge.judged) == judged


# Workflows


class Found(Event):
    nodes: list[NodeWithScore]


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_in_a_workflow_many_at_a_time(zoo, way):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    synthesizer = get_response_synthesizer(llm=MockLLM())

    class Answering(Workflow):
        @step
        async def find(self, ev: StartEvent) -> Found:
            if way == "sync":  # in the loop that runs the workflow
                return Found(nodes=retriever.retrieve(ev.question))
            return Found(nodes=await retriever.aretrieve(ev.question))

        @step
        async def answer(self, ev: Found) -> StopEvent:
            response = await synthesizer.asynthesize(zoo.question, nodes=ev.nodes)
            return StopEvent(result=response)

    alone = retriever.retrieve(zoo.question)
    runs = [Answering(timeout=30).run(question=zoo.question) for _ in range(10)]
    for response in await asyncio.gather(*runs):
        assert ids(response.source_nodes) == ids(alone)
        assert zoo.texts["e"] in str(response)


# Fusion


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


@pytest.mark.parametrize("kind", [TextNode, Node, Document])
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "simple", "relative_score"])
def test_a_fusion_knows_nodes_of_every_kind_again(zoo, kind, mode):
    def node(given):
        said = {"text": given.text} if kind is TextNode else {"text_resource": given.text_resource}
        metadata = {"title": given.metadata["title"], "tags": ["zoo"]}
        return kind(id_=given.id_, metadata=metadata, **said)

    texts = [Document(id_=each.id_, text=each.text, metadata=each.metadata) for each in zoo.nodes()]
    nodes = [node(each) for each in texts]
    index = zoo.index(nodes=nodes)
    ours = PerspectiveRetriever(index, judge=zoo.judge(), k=3)
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=6), ours],
        llm=MockLLM(),
        num_queries=1,
        mode=mode,
        similarity_top_k=9,
        use_async=False,
    )
    found = fusion.retrieve(zoo.question)
    assert len(ids(found)) == len(set(ids(found))) == 6
    for item in ours.retrieve(zoo.question):
        (original,) = [each for each in nodes if each.node_id == item.node.node_id]
        assert type(item.node) is kind
        assert item.node.hash == original.hash
        report = report_in(item.node.metadata)
        assert REPORT in item.node.metadata
        assert report_in(dict(item.node.metadata)) == report
        assert report_in(item.node.to_dict()["metadata"]) == report
        assert report_in(copy.deepcopy(item.node).metadata) == report
        assert report_in(json.loads(item.node.to_json())["metadata"])["found_by"]


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
        retriever = PerspectiveRetriever(
            zoo.index(), judge=zoo.judge(), k=k, score_kind="selection"
        )
        nodes = retriever.retrieve(zoo.question)
        assert ids(sorted(nodes, key=lambda item: item.score, reverse=True)) == ids(nodes)


def test_what_another_of_ours_returned_can_be_chosen_from(zoo):
    given = PerspectiveRetriever(zoo.index(), judge=None, k=4).retrieve(zoo.question)
    inner = report_in(given[0].node.metadata)
    again = PerspectivePostprocessor(judge=zoo.judge()).postprocess_nodes(
        given, query_str=zoo.question
    )
    assert all(report_in(item.node.metadata)["support"] for item in again)
    for item in again:
        assert item.node.excluded_llm_metadata_keys.count(REPORT) == 1
        item.node.excluded_llm_metadata_keys.clear()
    assert report_in(given[0].node.metadata) == inner
    assert inner["support"] == {}
    assert all(REPORT in item.node.excluded_llm_metadata_keys for item in given)


def test_one_perspective_retriever_over_another(zoo):
    inner = PerspectiveRetriever(zoo.index(), judge=None, k=4)
    nodes = PerspectiveRetriever(inner, judge=zoo.judge(), k=3).retrieve(QueryBundle(zoo.question))
    assert len(nodes) == 3
    assert report_in(nodes[0].node.metadata)["support"]


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


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_every_event_starts_and_ends_once(zoo, events, synthesizer, way):
    retriever = PerspectiveRetriever(zoo.index(), judge=None, llm=MockLLM(), k=5)
    searches = retriever.report(zoo.question).trace.calls["search"]
    engine = RetrieverQueryEngine(
        retriever,
        response_synthesizer=synthesizer,
        node_postprocessors=[PerspectivePostprocessor(judge=zoo.judge(), k=2)],
    )
    events.seen.clear()
    _ = engine.query(zoo.question) if way == "sync" else await engine.aquery(zoo.question)
    counted = Counter(events.names())
    starts = {name.removesuffix("StartEvent") for name in counted if name.endswith("StartEvent")}
    assert {"Query", "Retrieval", "ReRank", "Synthesize", "Embedding"} <= starts
    for name in starts:
        assert counted[f"{name}StartEvent"] == counted[f"{name}EndEvent"], name
    for name in ("Query", "ReRank", "Synthesize"):
        assert counted[f"{name}StartEvent"] == 1, name
    assert counted["RetrievalStartEvent"] == 1 + searches
    assert counted["EmbeddingStartEvent"] == searches  # each query's text once
