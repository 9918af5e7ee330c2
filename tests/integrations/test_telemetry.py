"""OpenTelemetry under every framework: below the application's span, sync and async."""

from __future__ import annotations

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from perspective_rag import ConfigError, OpenTelemetry

QUESTION = "Should zoos be closed?"


@pytest.fixture
def traced():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


async def test_a_wrappers_request_stands_below_the_span_around_it(wrapped, traced):
    provider, exporter = traced
    tracer = provider.get_tracer("application")
    asking = wrapped(telemetry=OpenTelemetry(tracer_provider=provider), llm=True)
    for ask in (asking.ask, asking.aask, asking.report, asking.areport):
        exporter.clear()
        with tracer.start_as_current_span("application") as outer:
            found = ask(QUESTION)
            if hasattr(found, "__await__"):
                await found
        spans = {each.context.span_id: each for each in exporter.get_finished_spans()}

        def way(span, spans=spans):
            names = [span.name]
            while span.parent is not None:
                span = spans[span.parent.span_id]
                names.append(span.name)
            return names[::-1]

        ways = [way(each) for each in spans.values()]
        assert {way[0] for way in ways} == {"application"}
        assert {each.context.trace_id for each in spans.values()} == {
            outer.get_span_context().trace_id
        }
        search = ["application", "perspective_rag.retrieve", "perspective_rag.search"]
        assert [*search, "retrieval"] in ways
        assert [*search, "embeddings"] in ways
        judged = ["application", "perspective_rag.retrieve", "perspective_rag.judge"]
        assert [*judged, "perspective_rag.judge.call"] in ways
        model = [e for e in spans.values() if e.attributes.get("gen_ai.operation.name") == "chat"]
        assert [way(each)[2] for each in model] == ["perspective_rag.extract"]


def test_a_wrapper_refuses_what_can_never_observe(wrapped):
    with pytest.raises(ConfigError, match="telemetry must be a Telemetry"):
        wrapped(telemetry=print)


def test_who_chooses_among_given_passages_is_observed_too(framework, traced):
    provider, exporter = traced
    telemetry = OpenTelemetry(tracer_provider=provider)
    from perspective_rag.testing import TableJudge

    if framework == "langchain":
        from langchain_core.documents import Document

        from langchain_perspective_rag import PerspectiveCompressor

        choosing = PerspectiveCompressor(judge=TableJudge({}), telemetry=telemetry)
        choosing.compress_documents([Document("zoos should be closed", id="a")], QUESTION)
        root = "perspective_rag.retrieve"
    elif framework == "haystack":
        from haystack import Document

        from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker

        choosing = PerspectiveRanker(judge=TableJudge({}), telemetry=telemetry)
        choosing.run(QUESTION, [Document(content="zoos should be closed", id="a")])
        root = "perspective_rag.choose"
    else:
        from llama_index.core.schema import NodeWithScore, TextNode

        from llama_index.retrievers.perspective_rag import PerspectivePostprocessor

        choosing = PerspectivePostprocessor(judge=TableJudge({}), telemetry=telemetry)
        node = NodeWithScore(node=TextNode(text="zoos should be closed", id_="a"), score=1.0)
        choosing.postprocess_nodes([node], query_str=QUESTION)
        root = "perspective_rag.choose"
    assert root in [each.name for each in exporter.get_finished_spans()]
