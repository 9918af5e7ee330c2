"""What ranker and retriever accept, made into parts of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from haystack.tracing.tracer import tracer

from perspective_rag import ConfigError, RetrievalResult
from perspective_rag.extend import Call, Judge, report_of

JudgeChoice = Judge | Literal["default"] | None
COMPONENTS = ("retriever", "text_embedder", "document_embedder", "chat_generator")
"""The parameters that take a component of Haystack's."""


def changes_of(top_k: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a run changes, by the names of options."""
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options must be a dictionary of options by name, got {options!r:.60}")
    return {**(options or {}), **({} if top_k is None else {"top_k": top_k})}


def with_span(step: Call, name: str, inputs: dict[str, Any]) -> Call:
    """A judge's call as a span of Haystack's tracer."""
    if step.afunction is not None:  # a model's call
        return step

    def spanned(*args: Any, **kwargs: Any) -> Any:
        tags = {"perspective_rag.judge": name, "perspective_rag.passages": len(inputs["passages"])}
        with tracer.trace("perspective_rag.judge", tags=tags) as span:
            span.set_content_tag("perspective_rag.judged", inputs)
            return step.function(*args, **kwargs)

    return replace(step, function=spanned)


def told(result: RetrievalResult) -> dict[str, Any]:
    """The report of a result, which the span of the component gets too."""
    report = report_of(result)
    span = tracer.current_span()
    if span is not None:
        for each in result.trace.degradations:
            span.set_tag(f"perspective_rag.degraded.{each.stage}", each.message)
        span.set_content_tag("perspective_rag.report", report)
    return report
