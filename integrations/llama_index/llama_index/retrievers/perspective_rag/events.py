"""What a request tells LlamaIndex's instrumentation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import llama_index.core.instrumentation as instrument
from llama_index.core.instrumentation.events import BaseEvent

from perspective_rag import RetrievalResult
from perspective_rag.extend import Call

dispatcher = instrument.get_dispatcher(__name__)  # type: ignore[attr-defined]


class DegradationEvent(BaseEvent):
    """Something that failed or was left out, and what was done instead."""

    stage: str
    message: str
    error: str = ""

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "PerspectiveDegradationEvent"


class ReportEvent(BaseEvent):
    """The whole report of a request, as JSON-ready values."""

    report: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "PerspectiveReportEvent"


def tell(result: RetrievalResult) -> RetrievalResult:
    """Sends the events of a result, and hands it back."""
    for each in result.trace.degradations:
        told = each.to_dict()
        dispatcher.event(
            DegradationEvent(stage=told["stage"], message=told["message"], error=told["error"])
        )
    dispatcher.event(ReportEvent(report=result.to_dict()))
    return result


def with_span(step: Call, name: str, inputs: dict[str, Any]) -> Call:
    """A judge's call as a span of its own."""
    if step.afunction is not None:  # a model's call, which is a span already
        return step

    def perspective_judge(judge: str, perspectives: list[str], passages: list[str]) -> Any:
        return step.function(*step.args, **step.kwargs)

    spanned = dispatcher.span(perspective_judge)
    return replace(step, function=spanned, args=(name,), kwargs=inputs)
