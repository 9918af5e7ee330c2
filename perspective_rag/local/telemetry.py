"""Spans and metrics for OpenTelemetry."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.flow.request import Observer
from perspective_rag.flow.steps import Call, Note, Reply
from perspective_rag.options import PipelineOptions
from perspective_rag.redaction import redacted
from perspective_rag.types import Answer, Completion, Degradation, Extraction, RetrievalResult

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter as Total
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

_CALLS = {"embed": ("embeddings", "EMBEDDING"), "search": ("retrieval", "RETRIEVER")}
"""The operation and the kind of a call, by its stage."""
_COUNTED = {"expand": "queries", "search": "rankings"}
"""What the outcome of a stage is a list of; of the others it is candidates."""
_COUNTERS = {
    "requests": "Requests that have ended.",
    "judged_pairs": "Pairs of passage and perspective judged.",
    "degradations": "What failed or was left out.",
}
_HISTOGRAMS = {
    "duration": "How long a request or one of its stages took.",
    "call.duration": "How long a call to a model or store took.",
}
_SECONDS = [0.01 * 2**n for n in range(14)]
"""The buckets of durations, as the conventions set them."""


@dataclass(frozen=True, slots=True)
class _Instruments:
    tracer: Tracer
    counters: Mapping[str, Total]
    histograms: Mapping[str, Histogram]
    capture_text: bool


class OpenTelemetry:
    """Tells OpenTelemetry what requests do: ``PerspectivePipeline(..., telemetry=...)``.

    A request is a span (``perspective_rag.retrieve``, ``.choose``, ``.answer``), each of its stages
    one in it (``perspective_rag.extract``, ...), and each call to a model or store one in its stage
    (``embeddings``, ``retrieval``, ``perspective_rag.judge.call``, ...); the span around the call
    to the pipeline is the parent, and what a model's client traces itself stands below its call.
    They carry counts, degradations (as events) and types of errors. Metrics:
    ``perspective_rag.requests``, ``.judged_pairs``, ``.degradations`` (counters), ``.duration`` and
    ``.call.duration`` (histograms, in seconds, by ``perspective_rag.stage``). Without an SDK that
    is set up nothing is recorded.

    Args:
        tracer_provider: Where spans go. None: the process's own.
        meter_provider: Where metrics go. None: the process's own.
        capture_text: Add what people write and read: the question, the queries, the messages of
            errors, the ids of the passages.

    Raises:
        ConfigError: capture_text is no bool.
        MissingDependency: ``opentelemetry-api`` is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture_text: bool = False,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise MissingDependency("opentelemetry", "OpenTelemetry()") from error
        if not isinstance(capture_text, bool):
            raise ConfigError(f"capture_text must be True or False, got {capture_text!r}")
        self._of_the_process = tracer_provider is None and meter_provider is None
        meter = metrics.get_meter("perspective_rag", meter_provider=meter_provider)
        self._instruments = _Instruments(
            trace.get_tracer("perspective_rag", tracer_provider=tracer_provider),
            {
                name: meter.create_counter(f"perspective_rag.{name}", f"{{{name[:-1]}}}", said)
                for name, said in _COUNTERS.items()
            },
            {
                name: meter.create_histogram(
                    f"perspective_rag.{name}",
                    "s",
                    said,
                    explicit_bucket_boundaries_advisory=_SECONDS,
                )
                for name, said in _HISTOGRAMS.items()
            },
            capture_text,
        )

    @property
    def capture_text(self) -> bool:
        """Whether texts are told."""
        return self._instruments.capture_text

    @property
    def of_the_process(self) -> bool:
        """Whether the providers are the process's own, so that another process can make it anew."""
        return self._of_the_process

    def observe(self, question: str, options: PipelineOptions) -> Observer:
        """Begins the spans of one request; the pipeline calls it.

        Args:
            question: The question.
            options: The options of the request.

        Returns:
            What is told of the request's steps.
        """
        return _RequestSpans(self._instruments, question, options)

    def __copy__(self) -> OpenTelemetry:
        return self

    def __deepcopy__(self, memo: Any) -> OpenTelemetry:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.of_the_process:
            raise TypeError("OpenTelemetry with providers of its own cannot be pickled")
        return partial(OpenTelemetry, capture_text=self.capture_text), ()


@dataclass(slots=True)
class _Stage:
    """A stage that has begun."""

    name: str
    span: Span
    context: Context
    started: float
    counts: Counter[str] = field(default_factory=Counter)


class _RequestSpans:
    """The spans of one request: those of its stages stand on a stack, those of its calls below the
    innermost.
    """

    def __init__(self, to: _Instruments, question: str, options: PipelineOptions) -> None:
        self._to, self._question, self._options = to, question, options
        self._stack: list[_Stage] = []
        self._open: dict[int, _CallSpan] = {}

    def calls(self, call: Call) -> Call:
        """The call with a span around it."""
        span = _CallSpan(self._to, call, self._context())
        self._open[id(span.call)] = span
        return span.call

    def answered(self, call: Call, reply: Reply) -> None:
        """Ends the span of a call, also of one that was given up."""
        self._count(call.counts)
        self._open.pop(id(call)).end(reply)

    def noted(self, note: Note) -> None:
        """Begins or ends the span of a stage, and counts."""
        if note.begins:
            self._begin(note.begins)
        self._count(note.counts)
        if note.queries:
            self._count({"queries": len(note.queries)})
            if self._to.capture_text and self._stack:
                texts = [query.text for query in note.queries]
                self._stack[-1].span.set_attribute("perspective_rag.query_texts", texts)
        if note.degradation is not None:
            self._degraded(note.degradation)
        if note.ends and self._stack:
            span, outcome = self._stack[-1].span, note.outcome
            span.set_attributes(_named(_numbers_of(note.ends, outcome)))
            whole = len(self._stack) == 1 and isinstance(outcome, RetrievalResult)
            if whole and self._to.capture_text:
                found = [{"id": c.passage.id, "score": c.score} for c in outcome.candidates]
                span.set_attribute("gen_ai.retrieval.documents", json.dumps(found))
            self._end({})

    def failed(self, error: BaseException) -> None:
        """Ends all that is open."""
        raised = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
        while self._open:
            self._open.popitem()[1].end(Reply(error=raised))
        while self._stack:
            _mark(self._stack[-1].span, error, text=self._to.capture_text)
            self._end({"error.type": type(error).__name__})

    def _begin(self, name: str) -> None:
        from opentelemetry import trace

        kind, attributes = "CHAIN", {"perspective_rag.stage": name}
        if not self._stack and name != "answer":
            kind = "RETRIEVER"
            attributes["gen_ai.operation.name"] = "retrieval"
        if not self._stack and self._to.capture_text:
            attributes["gen_ai.retrieval.query.text"] = self._question
            attributes["input.value"] = self._question
        around = self._context()
        span = self._to.tracer.start_span(f"perspective_rag.{name}", around, attributes=attributes)
        span.set_attribute("openinference.span.kind", kind)
        if kind == "RETRIEVER":
            span.set_attribute("gen_ai.retrieval.top_k", self._options.k)
        inside = trace.set_span_in_context(span, around)
        self._stack.append(_Stage(name, span, inside, time.perf_counter()))

    def _end(self, kind: Mapping[str, str]) -> None:
        """Ends the innermost stage; the outermost is the request."""
        stage = self._stack.pop()
        attributes = {"perspective_rag.stage": stage.name, **kind}
        if not self._stack:
            self._to.counters["requests"].add(1, attributes)
        stage.span.set_attributes(_named(stage.counts))
        stage.span.end()
        seconds = time.perf_counter() - stage.started
        self._to.histograms["duration"].record(seconds, attributes, stage.context)

    def _context(self) -> Context:
        """The innermost stage, or what is around the request."""
        from opentelemetry import context

        return self._stack[-1].context if self._stack else context.get_current()

    def _count(self, counts: Mapping[str, int]) -> None:
        for stage in self._stack:
            stage.counts.update(counts)
        if pairs := counts.get("judged_pairs"):
            self._to.counters["judged_pairs"].add(pairs)

    def _degraded(self, found: Degradation) -> None:
        self._count({"degradations": 1})
        kind = {"perspective_rag.stage": found.stage}
        self._to.counters["degradations"].add(1, kind)
        if not self._stack:
            return
        if found.error is not None:
            kind["error.type"] = type(found.error).__name__
        if self._to.capture_text:
            kind["message"] = found.message
        self._stack[-1].span.add_event("perspective_rag.degradation", kind)


class _CallSpan:
    """A call with a span around it, which begins when the call is really made."""

    def __init__(self, to: _Instruments, asked: Call, around: Context) -> None:
        self._to, self._asked, self._around = to, asked, around
        self._span: Span | None = None
        self._started = self._ended = 0
        self._answered = False
        awaited = None if asked.afunction is None else self._await
        self.call = replace(asked, function=self._make, afunction=awaited)

    def end(self, reply: Reply) -> None:
        """Ends the span with what came of the call, now where it was given up."""
        self._begin()  # where the call never came to be made
        self._answered = True
        assert self._span is not None
        ended, kind = self._ended or time.time_ns(), {"perspective_rag.stage": self._asked.stage}
        self._span.set_attributes(_tokens_of(reply))
        if reply.error is not None:
            kind["error.type"] = type(reply.error).__name__
            _mark(self._span, reply.error, text=self._to.capture_text)
        self._span.end(ended)
        seconds = (ended - self._started) / 1e9
        self._to.histograms["call.duration"].record(seconds, kind, self._around)

    def _make(self, *args: Any, **kwargs: Any) -> Any:
        with self._inside():
            return self._asked.function(*args, **kwargs)

    async def _await(self, *args: Any, **kwargs: Any) -> Any:
        assert self._asked.afunction is not None
        with self._inside():
            return await self._asked.afunction(*args, **kwargs)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        from opentelemetry import context, trace

        around = self._around
        if not self._answered:  # else it was given up before it was made
            self._begin()
            assert self._span is not None
            around = trace.set_span_in_context(self._span, around)
        token = context.attach(around)
        try:
            yield
        finally:
            self._ended = time.time_ns()
            context.detach(token)

    def _begin(self) -> None:
        from opentelemetry.trace import SpanKind

        if self._span is not None:
            return
        stage, asked = self._asked.stage, self._asked.args
        operation, shown = _CALLS.get(stage, ("", "RERANKER" if stage == "judge" else "CHAIN"))
        attributes: dict[str, Any] = {
            "openinference.span.kind": shown,
            "perspective_rag.stage": stage,
            **_named(self._asked.counts),
        }
        if operation:
            attributes["gen_ai.operation.name"] = operation
        if self._to.capture_text and stage == "search" and isinstance(asked[0], str):
            attributes |= {"gen_ai.retrieval.query.text": asked[0], "input.value": asked[0]}
        self._started = time.time_ns()
        self._span = self._to.tracer.start_span(
            operation or f"perspective_rag.{stage}.call",
            self._around,
            kind=SpanKind.CLIENT if operation else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=self._started,
        )


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"perspective_rag.{name}": value for name, value in values.items()}


def _numbers_of(stage: str, outcome: Any) -> dict[str, Any]:
    """What is told of what a stage gave: numbers, no texts."""
    if isinstance(outcome, Extraction):
        return {"perspectives": len(outcome.perspectives), "kind": outcome.kind}
    if isinstance(outcome, Answer):
        return {"claims": len(outcome.claims), "unsupported": len(outcome.unsupported)}
    if isinstance(outcome, RetrievalResult):
        numbers: dict[str, Any] = {
            "perspectives": len(outcome.perspectives),
            "passages": len(outcome.candidates),
            "says_nothing": outcome.says_nothing,
        }
        if (coverage := outcome.coverage).judged:
            for name in ("covered", "missing", "unjudged"):
                numbers[name] = len(getattr(coverage, name))
        return numbers
    if isinstance(outcome, Sequence):
        return {_COUNTED.get(stage, "candidates"): len(outcome)}
    return {}


def _tokens_of(reply: Reply) -> dict[str, Any]:
    """The tokens of a language model, where one replied."""
    values = reply.value if isinstance(reply.value, list) else [reply.value]
    completions = [each for each in values if isinstance(each, Completion)]
    if not completions:
        return {}
    return {
        "openinference.span.kind": "LLM",
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": sum(each.prompt_tokens for each in completions),
        "gen_ai.usage.output_tokens": sum(each.completion_tokens for each in completions),
    }


def _mark(span: Span, error: BaseException, *, text: bool) -> None:
    """The span failed; what the error says may quote the question."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", type(error).__name__)
    span.set_status(Status(StatusCode.ERROR, redacted(str(error)) if text else None))
