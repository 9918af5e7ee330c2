"""Requests as OpenTelemetry spans and metrics.

Attributes that OpenTelemetry's conventions for generative AI define have their names (``gen_ai.*``,
https://github.com/open-telemetry/semantic-conventions-genai, still in development there), spans
also say what Phoenix shows them as (``openinference.span.kind``); all else is named
``perspective_rag.*``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perspective_rag.backends.telemetry_spans import Instruments, RequestSpans
from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.flow.observer import Observer
from perspective_rag.options import PipelineOptions

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

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
    ``.call.duration`` (histograms, in seconds, by ``perspective_rag.stage``).

    ``tracer_provider`` and ``meter_provider`` are the process's own by default.
    ``capture_text=True`` adds what people write and read: the question, the queries, the messages
    of errors, the ids of the passages. Raises MissingDependency where ``opentelemetry-api`` is not
    installed; without an SDK that is set up nothing is recorded.
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
        """The spans of one request."""
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
