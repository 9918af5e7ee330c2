"""What ranker and retriever have in common as components: serialising, warming up, closing."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from haystack.tracing.tracer import tracer
from typing_extensions import Self

from haystack_integrations.common.perspective_rag.documents import documents_of
from haystack_integrations.common.perspective_rag.models import HaystackEmbedder, HaystackLLM
from haystack_integrations.common.perspective_rag.serialising import COMPONENTS, from_dict, to_dict
from haystack_integrations.common.perspective_rag.sockets import check_component_kind
from perspective_rag import (
    ConfigError,
    Passage,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
    run,
)
from perspective_rag.extend import (
    ALIASES,
    OPTION_NAMES,
    Call,
    Store,
    WrapperParts,
    in_thread,
    packaged_judge,
    report_of,
    wrapped_pipeline,
)


class PerspectiveComponent:
    """The part of a component that does not depend on what it is given to choose from.

    ``_given`` are the constructor's arguments by name, without options; ``options`` are those of
    every request.
    """

    options: PipelineOptions
    _parts: WrapperParts
    _given: dict[str, Any]
    _is_warm: bool = False

    def _take(
        self,
        own: Mapping[str, Any],
        given: Mapping[str, Any],
        *,
        without: Iterable[str] = (),
    ) -> None:
        """Checks and keeps the constructor's parameters (``own``) and further arguments."""
        for name in COMPONENTS:
            if own.get(name) is not None:
                check_component_kind(name, own[name])
        self._parts = WrapperParts.of(given, parameters=own, without=without)
        self.options = self._parts.options
        no_part = {*OPTION_NAMES, *ALIASES, "options"}
        self._given = {**own, **{name: given[name] for name in given if name not in no_part}}
        if self._parts.perspectives is not None:
            self._given["perspectives"] = self._parts.perspectives
        if own["document_embedder"] is not None and own["text_embedder"] is None:
            raise ConfigError("document_embedder= needs text_embedder= beside it")

    def _pipeline_over(self, store: Store, options: PipelineOptions) -> PerspectivePipeline:
        given, embedder = self._given, None
        if given["text_embedder"] is not None:
            embedder = HaystackEmbedder(given["text_embedder"], given["document_embedder"])
        generator = given["chat_generator"]
        return wrapped_pipeline(
            store,
            self._parts,
            embedder=embedder,
            llm=None if generator is None else HaystackLLM(generator),
            llm_name="chat_generator",
            watch=_with_span,
            options=options,
        )

    def _sides(
        self, given: Sequence[Perspective | str] | None
    ) -> Sequence[Perspective | str] | None:
        return self._parts.perspectives if given is None else given

    def to_dict(self) -> dict[str, Any]:
        """Writes the component as plain values, for pipelines in files. A judge, extractor,
        expander or telemetry needs ``to_dict`` and ``from_dict``; a function (``skip_if``,
        ``dedup_key``) must be one that can be imported; a limiter comes back as a new one of the
        same limit. Raises SerializationError for a part that cannot be written.
        """
        return to_dict(self, self._given, self.options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Makes the component that ``to_dict`` wrote; raises DeserializationError for anything
        else.
        """
        return cls(**from_dict(cls, data))

    def warm_up(self) -> None:
        """Loads the packaged judge, and warms up the components that this one calls."""
        for part in self._components():
            if hasattr(part, "warm_up"):
                part.warm_up()
        self._load_judge()
        self._is_warm = True

    async def warm_up_async(self) -> None:
        """The same as ``warm_up``, without blocking the event loop."""
        for part in self._components():
            if hasattr(part, "warm_up_async"):
                await part.warm_up_async()
            elif hasattr(part, "warm_up"):
                await in_thread(part.warm_up)
        await in_thread(self._load_judge)
        self._is_warm = True

    def _load_judge(self) -> None:
        if self._parts.judge == "default":
            judge = packaged_judge()
            run(judge.judge([Perspective("a", "Yes.")], [Passage("a", "Yes.")]))

    def close(self) -> None:
        """Closes the components that this one calls."""
        for part in self._components():
            if hasattr(part, "close"):
                part.close()

    async def close_async(self) -> None:
        """The same as ``close``, in an event loop."""
        for part in self._components():
            closed = getattr(part, "close_async", getattr(part, "close", None))
            waiting = closed() if closed is not None else None
            if inspect.isawaitable(waiting):
                await waiting

    def _components(self) -> list[Any]:
        return [part for name in COMPONENTS if (part := self._given.get(name)) is not None]

    def _outputs(self, result: RetrievalResult) -> dict[str, Any]:
        """The outputs of a run; the span of the component gets the report too."""
        report = report_of(result)
        span = tracer.current_span()
        if span is not None:
            for each in result.trace.degradations:
                span.set_tag(f"perspective_rag.degraded.{each.stage}", each.message)
            span.set_content_tag("perspective_rag.report", report)
        return {"documents": documents_of(result, self._parts.score_kind), "report": report}


def _with_span(step: Call, name: str, inputs: dict[str, Any]) -> Call:
    """A judge's call as a span of Haystack's tracer."""
    if step.afunction is not None:  # a model's call
        return step

    def spanned(*args: Any, **kwargs: Any) -> Any:
        tags = {"perspective_rag.judge": name, "perspective_rag.passages": len(inputs["passages"])}
        with tracer.trace("perspective_rag.judge", tags=tags) as span:
            span.set_content_tag("perspective_rag.judged", inputs)
            return step.function(*args, **kwargs)

    return replace(step, function=spanned)


def changes_of(top_k: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a run changes, by the names of options."""
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options must be a dictionary of options by name, got {options!r:.60}")
    return {**(options or {}), **({} if top_k is None else {"top_k": top_k})}
