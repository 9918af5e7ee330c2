"""What ranker and retriever accept, made into parts of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from haystack.tracing.tracer import tracer

from haystack_integrations.common.perspective_rag.documents import report_of
from haystack_integrations.common.perspective_rag.models import HaystackLLM
from haystack_integrations.common.perspective_rag.sockets import check_component_kind
from perspective_rag import (
    ConfigError,
    LLMExtractor,
    LLMListJudge,
    Perspective,
    RetrievalResult,
    RuleExtractor,
)
from perspective_rag.extend import (
    Call,
    Extractor,
    Judge,
    WatchedJudge,
    as_perspectives,
    check_component,
    packaged_judge,
)

JudgeChoice = Judge | Literal["default"] | None
COMPONENTS = ("retriever", "text_embedder", "document_embedder", "chat_generator")
"""The parameters that take a component of Haystack's."""


def check_parts(given: Mapping[str, Any]) -> None:
    """Raises ConfigError, in plain words, for what can never be the part it was given as."""
    for name in COMPONENTS:
        if given.get(name) is not None:
            check_component_kind(name, given[name])
    if given["judge"] is not None and given["judge"] != "default":
        check_component("judge", given["judge"], framework='"default", None')
    for name in ("extractor", "expander", "selector", "limiter", "telemetry"):
        if given.get(name) is not None:
            check_component(name, given[name])


def checked_perspectives(
    given: Sequence[Perspective | str] | None,
) -> Sequence[Perspective | str] | None:
    """The perspectives as they were given, once they are known to be such."""
    if given is None:
        return None
    as_perspectives(given)
    return tuple(given)


def judge_of(choice: JudgeChoice, chat_generator: Any = None) -> Judge | None:
    """A judge: "default" is the chat generator, which reads all candidates in one call, with the
    judge that comes with perspective_rag behind it, or that judge alone.
    """
    if not isinstance(choice, str):
        return choice
    if chat_generator is None:
        return packaged_judge()
    return LLMListJudge(HaystackLLM(chat_generator), fallback=packaged_judge())


def extractor_of(extractor: Extractor | None, chat_generator: Any) -> Extractor | None:
    """An extractor: a chat generator names the perspectives, with the rules to fall back on."""
    if chat_generator is None:
        return extractor
    if extractor is not None:
        raise ConfigError(
            "chat_generator= and extractor= both find the perspectives: pass one of them"
        )
    return LLMExtractor(HaystackLLM(chat_generator), fallback=RuleExtractor())


def changes_of(top_k: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a run changes, by the names of options."""
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options must be a dictionary of options by name, got {options!r:.60}")
    return {**(options or {}), **({} if top_k is None else {"top_k": top_k})}


def seen(judge: Judge | None) -> Judge | None:
    """A judge whose calls are spans of Haystack's tracer, with all that the judge offers."""
    return None if judge is None else WatchedJudge(judge, _with_span)


def _with_span(step: Call, name: str, inputs: dict[str, Any]) -> Call:
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
