"""Query embeddings side by side, the retriever as a tool, and what instrumentation hears."""

from __future__ import annotations

import threading

import pytest
from llama_index.core.instrumentation import root_dispatcher
from llama_index.core.instrumentation.span import SimpleSpan
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.postprocessor import SimilarityPostprocessor

from llama_index.retrievers.perspective_rag import PerspectivePostprocessor, PerspectiveRetriever
from perspective_rag import Perspective
from perspective_rag.testing import TableJudge


@pytest.mark.parametrize("count", [3])
async def test_queries_are_embedded_side_by_side(zoo, count):
    meeting = threading.Barrier(count, timeout=10)
    model = zoo.HashEmbedding()
    index = zoo.index(model)
    model._pause = meeting.wait  # passes only when all of a request are there
    retriever = PerspectiveRetriever(index, judge=None, guard_searches=0, strict=True)
    found = retriever.retrieve(zoo.question)
    assert [n.node.node_id for n in await retriever.aretrieve(zoo.question)] == [
        n.node.node_id for n in found
    ]


def test_llama_indexs_own_postprocessor_keeps_what_it_kept_before(zoo):
    plain = zoo.index().as_retriever(similarity_top_k=6).retrieve(zoo.question)
    ours = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=6).retrieve(zoo.question)
    cut = SimilarityPostprocessor(similarity_cutoff=0.3)
    kept = {n.node.node_id for n in cut.postprocess_nodes(plain)}
    assert kept
    assert {n.node.node_id for n in cut.postprocess_nodes(ours)} == kept
    chosen = PerspectivePostprocessor(judge=zoo.judge(), k=6).postprocess_nodes(
        plain, query_str=zoo.question
    )
    assert {n.node.node_id: n.score for n in chosen} == {n.node.node_id: n.score for n in plain}


def test_a_store_whose_vectors_cannot_be_read_gives_its_own_score(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    plain = {n.node.node_id: n.score for n in source.retrieve(zoo.question)}
    ours = PerspectiveRetriever(source, judge=zoo.judge(), k=3).retrieve(zoo.question)
    assert {n.node.node_id: n.score for n in ours} == {
        n.node.node_id: plain[n.node.node_id] for n in ours
    }


async def test_as_a_tool(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    tool = retriever.as_tool(name="sides")
    schema = tool.metadata.fn_schema.model_json_schema()["properties"]
    assert set(schema) == {"query", "perspectives"}
    assert "full statement" in schema["perspectives"]["description"]
    for output in (tool.call(query=zoo.question), await tool.acall(query=zoo.question)):
        assert output.tool_name == "sides"
        assert output.content.startswith("[1] ")
        assert "supports: Zoos should not be closed" in output.content
        assert len(output.raw_output) == 3
    sides = tool.call(query=zoo.question, perspectives=["", "Cages are cruel."]).raw_output
    assert len(sides) == 3
    with pytest.raises(ValueError, match="write the question in full"):
        tool.call(query=" ")


async def test_a_degradation_and_the_report_are_events(zoo, events):
    class Down(TableJudge):
        def _look_up(self, perspectives, passages):
            raise ConnectionError("gone")

    retriever = PerspectiveRetriever(zoo.index(), judge=Down({}), k=3)
    for step in (1, 2):
        events.seen.clear()
        nodes = (
            retriever.retrieve(zoo.question)
            if step == 1
            else await retriever.aretrieve(zoo.question)
        )
        assert nodes
        told = [e for e in events.seen if e.class_name() == "PerspectiveDegradationEvent"]
        assert {event.stage for event in told} == {"judge"}
        assert events.names().count("PerspectiveReportEvent") == 1


def test_judgements_are_spans(zoo):
    handler = SimpleSpanHandler()
    before = list(root_dispatcher.span_handlers)
    root_dispatcher.add_span_handler(handler)
    try:
        PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3).retrieve(zoo.question)
    finally:
        root_dispatcher.span_handlers = before
    judged = [s for s in handler.completed_spans if "perspective_judge" in s.id_]
    assert judged
    assert all(isinstance(span, SimpleSpan) and span.parent_id for span in judged)


def test_a_judge_keeps_all_it_offers(zoo):
    from perspective_rag import CrossEncoderJudge
    from perspective_rag.extend import JudgesSides, WatchedJudge

    judge = CrossEncoderJudge()
    seen = WatchedJudge(judge, lambda call, name, inputs: call)
    assert isinstance(seen, JudgesSides)
    for name in ("name", "threshold", "languages", "listing", "sides_listing"):
        assert getattr(seen, name) == getattr(judge, name)
    plain = WatchedJudge(zoo.judge(), lambda call, name, inputs: call)
    assert plain.sides_listing is None
    assert plain.judge([Perspective("a", "a")], [])
