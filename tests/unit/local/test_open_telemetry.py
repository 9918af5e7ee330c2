"""Requests as spans and metrics, read back from the SDK's own exporters."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from perspective_rag import LLMExtractor, OpenTelemetry, PerspectivePipeline, RetrievalError
from perspective_rag.extend import CallableJudge
from perspective_rag.testing import HashEmbedder, MemoryStore, ScriptedLLM, TableJudge
from perspective_rag.types import Passage

QUESTION = "Should zoos be closed?"
PASSAGES = [
    Passage("a", "zoos should be closed because cages are cruel"),
    Passage("b", "zoos should be closed and the animals freed"),
    Passage("e", "breeding programmes keep species alive that zoos alone protect"),
]
TRUTH = {("a", "support"): 0.9, ("b", "support"): 0.9, ("e", "oppose"): 0.9}
STAGES = ["extract", "expand", "search", "merge", "rank", "judge", "select", "guard"]
STAGES += ["second_reading"]
both = pytest.mark.parametrize("kind", ["sync", "async"])


@pytest.fixture
def told():
    """Telemetry of its own, with what it was told."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader])

    def make(**given):
        return OpenTelemetry(tracer_provider=provider, meter_provider=meters, **given)

    def metrics():
        found = reader.get_metrics_data()
        scopes = found.resource_metrics[0].scope_metrics if found else []
        return {each.name: each for scope in scopes for each in scope.metrics}

    def spans():
        return sorted(exporter.get_finished_spans(), key=lambda each: each.start_time)

    return SimpleNamespace(
        make=make,
        tracer=provider.get_tracer("application"),
        spans=spans,
        named=lambda name: [each for each in spans() if each.name == name],
        shown=lambda: "".join(each.to_json() for each in spans()),
        metrics=metrics,
    )


def pipeline(telemetry, **given):
    embedder = HashEmbedder()
    parts = {"store": MemoryStore(PASSAGES, embedder), "judge": TableJudge(TRUTH), **given}
    return PerspectivePipeline(embedder=embedder, telemetry=telemetry, k=2, **parts)


def asked(pipeline, kind):
    if kind == "sync":
        return pipeline.retrieve(QUESTION)
    return asyncio.run(pipeline.aretrieve(QUESTION))


def parent_of(span, spans):
    return next((each for each in spans if each.context.span_id == span.parent.span_id), None)


@both
def test_a_request_is_a_span_with_its_stages_and_their_calls_below_the_callers_span(told, kind):
    with told.tracer.start_as_current_span("application"):
        asked(pipeline(told.make()), kind)
    spans = told.spans()
    names = {name.context.span_id: name.name for name in spans}
    below = {}
    for each in spans:
        if each.parent is not None:
            below.setdefault(names[each.parent.span_id], []).append(each.name)
    assert below["application"] == ["perspective_rag.retrieve"]
    assert below["perspective_rag.retrieve"] == [f"perspective_rag.{each}" for each in STAGES]
    assert below["perspective_rag.search"] == ["embeddings", *["retrieval"] * 3]
    assert set(below["perspective_rag.judge"]) == {"perspective_rag.judge.call"}
    assert len({each.context.trace_id for each in spans}) == 1
    assert all(each.end_time >= each.start_time for each in spans)


@both
def test_spans_carry_counts_and_what_came_out_but_no_text(told, kind):
    result = asked(pipeline(told.make()), kind)
    [root] = told.named("perspective_rag.retrieve")
    counted = {
        name.removeprefix("perspective_rag."): value for name, value in root.attributes.items()
    }
    assert counted["queries"] == len(result.trace.queries) == 3
    assert counted["judged_pairs"] == result.trace.counts["judged_pairs"] > 0
    assert counted["passages"] == 2
    assert (counted["perspectives"], counted["covered"], counted["missing"]) == (2, 2, 0)
    assert counted["gen_ai.operation.name"] == "retrieval"
    assert counted["gen_ai.retrieval.top_k"] == 2
    [judged] = told.named("perspective_rag.judge")
    assert judged.attributes["perspective_rag.judged_pairs"] == counted["judged_pairs"]
    assert judged.attributes["perspective_rag.candidates"] == 3
    [read] = told.named("perspective_rag.extract")
    assert read.attributes["perspective_rag.kind"] == "sides"
    assert "zoos" not in told.shown().lower()


def test_calls_are_named_as_the_conventions_for_generative_ai_have_it(told):
    reply = '{"root": "Should zoos be closed?", "perspectives": ["Yes, cages are cruel", "No"]}'
    llm = LLMExtractor(ScriptedLLM([reply]))
    pipeline(told.make(), extractor=llm).retrieve(QUESTION)
    embedded = told.named("embeddings")[0]
    assert embedded.kind is SpanKind.CLIENT
    assert embedded.attributes["gen_ai.operation.name"] == "embeddings"
    assert embedded.attributes["openinference.span.kind"] == "EMBEDDING"
    for each in told.named("retrieval"):
        assert each.kind is SpanKind.CLIENT
        assert each.attributes["openinference.span.kind"] == "RETRIEVER"
    [asked_model] = told.named("perspective_rag.extract.call")
    assert asked_model.attributes["openinference.span.kind"] == "LLM"
    assert asked_model.attributes["gen_ai.operation.name"] == "chat"
    assert asked_model.attributes["gen_ai.usage.output_tokens"] >= 0


@both
def test_text_is_told_where_it_is_asked_for(told, kind):
    result = asked(pipeline(told.make(capture_text=True)), kind)
    [root] = told.named("perspective_rag.retrieve")
    assert root.attributes["gen_ai.retrieval.query.text"] == QUESTION
    assert root.attributes["input.value"] == QUESTION
    for each in result.passages:
        assert f'"id": "{each.id}"' in root.attributes["gen_ai.retrieval.documents"]
    searched = {each.attributes["gen_ai.retrieval.query.text"] for each in told.named("retrieval")}
    assert searched == {query.text for query in result.trace.queries}


@both
def test_what_a_model_traces_itself_stands_below_its_call(told, kind):
    def judge(perspectives, passages):
        with told.tracer.start_as_current_span("inside the model"):
            return [[TRUTH.get((a.id, b.id), 0.1) for b in perspectives] for a in passages]

    asked(pipeline(told.make(), judge=CallableJudge(judge)), kind)
    spans = told.spans()
    inside = told.named("inside the model")
    assert inside
    assert {parent_of(each, spans).name for each in inside} == {"perspective_rag.judge.call"}


@both
def test_a_degradation_is_an_event_and_a_count_without_its_message(told, kind):
    def judge(perspectives, passages):
        raise ConnectionError(f"cannot judge {passages[0].text}")

    asked(pipeline(told.make(), judge=CallableJudge(judge)), kind)
    [stage] = told.named("perspective_rag.judge")
    event = stage.events[0]
    assert event.name == "perspective_rag.degradation"
    assert event.attributes["perspective_rag.stage"] == "judge"
    assert event.attributes["error.type"]
    assert "message" not in event.attributes
    [root] = told.named("perspective_rag.retrieve")
    assert root.attributes["perspective_rag.degradations"] > 0
    failed = told.named("perspective_rag.judge.call")
    assert {each.status.status_code for each in failed} == {StatusCode.ERROR}
    assert {each.attributes["error.type"] for each in failed} == {"ConnectionError"}
    assert "cannot judge" not in told.shown()
    counted = told.metrics()["perspective_rag.degradations"].data.data_points
    assert {each.attributes["perspective_rag.stage"] for each in counted} == {"judge"}


@both
def test_a_request_that_fails_ends_its_spans_with_the_error(told, kind):
    class Down(MemoryStore):
        def search(self, *args, **kwargs):
            raise ConnectionError("down")

        asearch = search

    with pytest.raises(RetrievalError):
        asked(pipeline(told.make(), store=Down(PASSAGES, HashEmbedder())), kind)
    for name in ("retrieve", "search"):
        [span] = told.named(f"perspective_rag.{name}")
        assert span.status.status_code is StatusCode.ERROR
        assert span.attributes["error.type"] == "RetrievalError"
    assert not told.named("perspective_rag.merge")
    [requests] = told.metrics()["perspective_rag.requests"].data.data_points
    assert requests.attributes["error.type"] == "RetrievalError"


@both
def test_a_call_that_is_given_up_has_ended_and_says_so(told, kind):
    class Slow(MemoryStore):
        def search(self, text, vector, **kwargs):
            time.sleep(0.0 if text == QUESTION else 0.5)
            return super().search(text, vector, **kwargs)

        async def asearch(self, text, vector, **kwargs):
            await asyncio.sleep(0.0 if text == QUESTION else 60)
            return super().search(text, vector, **kwargs)

    slow = Slow(PASSAGES, HashEmbedder())
    asked(pipeline(told.make(), store=slow, timeout=0.1, guard_searches=0), kind)
    late = [each for each in told.named("retrieval") if each.status.status_code is StatusCode.ERROR]
    assert len(late) == 2
    assert {each.attributes["error.type"] for each in late} == {"TimeoutError"}


def test_metrics_count_requests_stages_and_pairs(told):
    asking = pipeline(told.make())
    said = asking.answer(asking.retrieve(QUESTION))
    found = told.metrics()

    def by_stage(name, value):
        points = found[f"perspective_rag.{name}"].data.data_points
        return {p.attributes["perspective_rag.stage"]: getattr(p, value) for p in points}

    assert by_stage("requests", "value") == {"retrieve": 1, "answer": 1}
    stages = ("retrieve", "answer", *STAGES)
    assert by_stage("duration", "count") == dict.fromkeys(stages, 1)
    assert found["perspective_rag.duration"].unit == "s"
    assert {"embed", "search", "judge"} <= by_stage("call.duration", "count").keys()
    [pairs] = found["perspective_rag.judged_pairs"].data.data_points
    roots = [*told.named("perspective_rag.retrieve"), *told.named("perspective_rag.answer")]
    judged = [each.attributes.get("perspective_rag.judged_pairs", 0) for each in roots]
    assert pairs.value == sum(judged)
    assert roots[1].attributes["perspective_rag.claims"] == len(said.claims)
    assert roots[1].attributes["perspective_rag.unsupported"] == len(said.unsupported)


async def test_requests_side_by_side_keep_their_spans_apart(told):
    asking = pipeline(told.make())

    async def ask(number):
        with told.tracer.start_as_current_span(f"request {number}"):
            await asking.aretrieve(QUESTION)

    await asyncio.gather(*(ask(number) for number in range(8)))
    by_trace = {}
    for each in told.spans():
        by_trace.setdefault(each.context.trace_id, []).append(each.name)
    assert len(by_trace) == 8
    names = [
        sorted(each for each in names if not each.startswith("request"))
        for names in by_trace.values()
    ]
    assert names == names[:1] * 8


def test_copies_are_the_same_and_a_pickled_one_is_that_of_its_process():
    plain = OpenTelemetry(capture_text=True)
    assert copy.deepcopy(plain) is plain
    assert pickle.loads(pickle.dumps(plain)).capture_text
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(OpenTelemetry(tracer_provider=TracerProvider()))


PROGRAM = """
import sys
sys.modules["opentelemetry"] = None
import perspective_rag
from perspective_rag import MissingDependency, OpenTelemetry, PerspectivePipeline
try:
    OpenTelemetry()
except MissingDependency as error:
    assert "perspective-rag[opentelemetry]" in str(error), error
else:
    raise AssertionError("silent")
"""


def test_without_the_extra_the_error_names_it_and_nothing_else_imports_it():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = "import sys, perspective_rag.pipeline; assert 'opentelemetry' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", imported], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_an_sdk_a_request_goes_on(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    assert asked(pipeline(OpenTelemetry()), "sync").passages
