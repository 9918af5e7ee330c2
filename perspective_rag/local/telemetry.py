"""Spans and metrics for OpenTelemetry."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, slots=True)
class Instruments:
    """What requests are told to."""

    tracer: Tracer
    requests: Total
    judged_pairs: Total
    degradations: Total
    duration: Histogram
    call_duration: Histogram
    capture_text: bool


@dataclass(slots=True)
class _Stage:
    """A stage that has begun."""

    name: str
    span: Span
    context: Context
    started: float
    counts: Counter[str] = field(default_factory=Counter)


class RequestSpans:
    """The spans of one request: those of its stages stand on a stack, those of its calls below the
    innermost.
    """

    def __init__(self, told: Instruments, question: str, options: PipelineOptions) -> None:
        self._told, self._question, self._options = told, question, options
        self._stack: list[_Stage] = []
        self._open: dict[int, _Traced] = {}

    def calls(self, call: Call) -> Call:
        """The call with a span around it."""
        traced = _Traced(self._told, call, self._context())
        self._open[id(traced.call)] = traced
        return traced.call

    def answered(self, call: Call, reply: Reply) -> None:
        """Ends the span of a call, also of one that was given up."""
        self._count(call.counts)
        self._open.pop(id(call)).ends(reply)

    def noted(self, note: Note) -> None:
        """Begins or ends the span of a stage, and counts."""
        if note.begins:
            self._begin(note.begins)
        self._count(note.counts)
        if note.queries:
            self._count({"queries": len(note.queries)})
            if self._told.capture_text and self._stack:
                texts = [query.text for query in note.queries]
                self._stack[-1].span.set_attribute("perspective_rag.query_texts", texts)
        if note.degradation is not None:
            self._degraded(note.degradation)
        if note.ends and self._stack:
            stage = self._stack.pop()
            stage.span.set_attributes(_of_outcome(stage.name, note.outcome))
            if not self._stack:
                self._told.requests.add(1, {"perspective_rag.stage": stage.name})
                if self._told.capture_text and isinstance(note.outcome, RetrievalResult):
                    found = [
                        {"id": each.passage.id, "score": each.score}
                        for each in note.outcome.candidates
                    ]
                    stage.span.set_attribute("gen_ai.retrieval.documents", json.dumps(found))
            self._end(stage, {})

    def failed(self, error: BaseException) -> None:
        """Ends all that is open."""
        while self._open:
            self._open.popitem()[1].ends(Reply(error=_as_exception(error)))
        kind = {"error.type": _name(error)}
        while self._stack:
            stage = self._stack.pop()
            _mark(stage.span, error, text=self._told.capture_text)
            if not self._stack:
                self._told.requests.add(1, {"perspective_rag.stage": stage.name, **kind})
            self._end(stage, kind)

    def _begin(self, name: str) -> None:
        from opentelemetry import trace

        attributes: dict[str, Any] = {
            "openinference.span.kind": "CHAIN",
            "perspective_rag.stage": name,
        }
        if not self._stack and name != "answer":
            attributes["openinference.span.kind"] = "RETRIEVER"
            attributes["gen_ai.operation.name"] = "retrieval"
            attributes["gen_ai.retrieval.top_k"] = self._options.k
        if not self._stack and self._told.capture_text:
            attributes["gen_ai.retrieval.query.text"] = self._question
            attributes["input.value"] = self._question
        around = self._context()
        span = self._told.tracer.start_span(
            f"perspective_rag.{name}", around, attributes=attributes
        )
        inside = trace.set_span_in_context(span, around)
        self._stack.append(_Stage(name, span, inside, time.perf_counter()))

    def _end(self, stage: _Stage, kind: Mapping[str, str]) -> None:
        stage.span.set_attributes(_named(stage.counts))
        stage.span.end()
        seconds = time.perf_counter() - stage.started
        self._told.duration.record(
            seconds, {"perspective_rag.stage": stage.name, **kind}, stage.context
        )

    def _context(self) -> Context:
        """The innermost stage, or what is around the request."""
        from opentelemetry import context

        return self._stack[-1].context if self._stack else context.get_current()

    def _count(self, counts: Mapping[str, int]) -> None:
        for stage in self._stack:
            stage.counts.update(counts)
        if pairs := counts.get("judged_pairs"):
            self._told.judged_pairs.add(pairs)

    def _degraded(self, found: Degradation) -> None:
        self._count({"degradations": 1})
        kind = {"perspective_rag.stage": found.stage}
        self._told.degradations.add(1, kind)
        if not self._stack:
            return
        if found.error is not None:
            kind["error.type"] = _name(found.error)
        if self._told.capture_text:
            kind["message"] = found.message
        self._stack[-1].span.add_event("perspective_rag.degradation", kind)


class _Traced:
    """A call with a span around it, which begins when the call is really made."""

    def __init__(self, told: Instruments, asked: Call, around: Context) -> None:
        self._told, self._asked, self._around = told, asked, around
        self._span: Span | None = None
        self._started = self._ended = 0
        self._answered = False
        awaited = None if asked.afunction is None else self._awaited
        self.call = replace(asked, function=self._made, afunction=awaited)

    def ends(self, reply: Reply) -> None:
        """Ends the span with what came of the call, now where it was given up."""
        if self._span is None:  # it never came to be made
            self._begin()
        self._answered = True
        ended = self._ended or time.time_ns()
        assert self._span is not None
        self._span.set_attributes(_of_reply(reply))
        kind = {} if reply.error is None else {"error.type": _name(reply.error)}
        if reply.error is not None:
            _mark(self._span, reply.error, text=self._told.capture_text)
        self._span.end(ended)
        self._told.call_duration.record(
            (ended - self._started) / 1e9,
            {"perspective_rag.stage": self._asked.stage, **kind},
            self._around,
        )

    def _made(self, *args: Any, **kwargs: Any) -> Any:
        from opentelemetry import context

        token = context.attach(self._begin())
        try:
            return self._asked.function(*args, **kwargs)
        finally:
            self._ended = time.time_ns()
            context.detach(token)

    async def _awaited(self, *args: Any, **kwargs: Any) -> Any:
        from opentelemetry import context

        assert self._asked.afunction is not None
        token = context.attach(self._begin())
        try:
            return await self._asked.afunction(*args, **kwargs)
        finally:
            self._ended = time.time_ns()
            context.detach(token)

    def _begin(self) -> Context:
        """The span's context; that around it where the call was given up before it was made."""
        from opentelemetry import trace

        if self._answered:
            return self._around
        stage, asked = self._asked.stage, self._asked.args
        operation, shown = _CALLS.get(stage, ("", "CHAIN"))
        attributes: dict[str, Any] = {
            "openinference.span.kind": "RERANKER" if stage == "judge" else shown,
            "perspective_rag.stage": stage,
            **_named(self._asked.counts),
        }
        if operation:
            attributes["gen_ai.operation.name"] = operation
        if self._told.capture_text and stage == "search" and isinstance(asked[0], str):
            attributes |= {"gen_ai.retrieval.query.text": asked[0], "input.value": asked[0]}
        self._started = time.time_ns()
        self._span = self._told.tracer.start_span(
            operation or f"perspective_rag.{stage}.call",
            self._around,
            kind=trace.SpanKind.CLIENT if operation else trace.SpanKind.INTERNAL,
            attributes=attributes,
            start_time=self._started,
        )
        return trace.set_span_in_context(self._span, self._around)


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"perspective_rag.{name}": value for name, value in values.items()}


def _of_outcome(name: str, outcome: Any) -> dict[str, Any]:
    """What is told of what a stage gave: numbers, no texts."""
    told: dict[str, Any] = {}
    if isinstance(outcome, Extraction):
        told = {"perspectives": len(outcome.perspectives), "kind": outcome.kind}
    elif isinstance(outcome, RetrievalResult):
        told = {
            "perspectives": len(outcome.perspectives),
            "passages": len(outcome.candidates),
            "says_nothing": outcome.says_nothing,
        }
        if (coverage := outcome.coverage).judged:
            told |= {
                "covered": len(coverage.covered),
                "missing": len(coverage.missing),
                "unjudged": len(coverage.unjudged),
            }
    elif isinstance(outcome, Answer):
        told = {"claims": len(outcome.claims), "unsupported": len(outcome.unsupported)}
    elif isinstance(outcome, Sequence):
        told = {_COUNTED.get(name, "candidates"): len(outcome)}
    return _named(told)


def _of_reply(reply: Reply) -> dict[str, Any]:
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

    span.set_attribute("error.type", _name(error))
    span.set_status(Status(StatusCode.ERROR, redacted(str(error)) if text else None))


def _name(error: BaseException) -> str:
    return type(error).__name__


def _as_exception(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else RuntimeError(_name(error))


SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""The buckets of durations, as the conventions set them."""


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
        self._told = Instruments(
            trace.get_tracer("perspective_rag", tracer_provider=tracer_provider),
            meter.create_counter(
                "perspective_rag.requests", "{request}", "Requests that have ended."
            ),
            meter.create_counter(
                "perspective_rag.judged_pairs", "{pair}", "Pairs of passage and perspective judged."
            ),
            meter.create_counter(
                "perspective_rag.degradations", "{degradation}", "What failed or was left out."
            ),
            meter.create_histogram(
                "perspective_rag.duration",
                "s",
                "How long a request or one of its stages took.",
                explicit_bucket_boundaries_advisory=SECONDS,
            ),
            meter.create_histogram(
                "perspective_rag.call.duration",
                "s",
                "How long a call to a model or store took.",
                explicit_bucket_boundaries_advisory=SECONDS,
            ),
            capture_text,
        )

    @property
    def capture_text(self) -> bool:
        """Whether texts are told."""
        return self._told.capture_text

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
        return RequestSpans(self._told, question, options)

    def __copy__(self) -> OpenTelemetry:
        return self

    def __deepcopy__(self, memo: Any) -> OpenTelemetry:
        return self

    def __reduce__(self) -> tuple[Callable[[bool], OpenTelemetry], tuple[bool]]:
        if not self.of_the_process:
            raise TypeError("OpenTelemetry with providers of its own cannot be pickled")
        return _again, (self.capture_text,)


def _again(capture_text: bool) -> OpenTelemetry:
    return OpenTelemetry(capture_text=capture_text)
