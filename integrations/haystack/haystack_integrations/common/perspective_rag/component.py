"""What ranker and retriever have in common as components: serialising, warming up, closing."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import Self

from haystack_integrations.common.perspective_rag.documents import documents_of
from haystack_integrations.common.perspective_rag.models import HaystackEmbedder, HaystackLLM
from haystack_integrations.common.perspective_rag.parts import COMPONENTS, told, with_span
from haystack_integrations.common.perspective_rag.serialising import from_dict, to_dict
from haystack_integrations.common.perspective_rag.sockets import check_component_kind
from perspective_rag import (
    ConfigError,
    Limiter,
    Passage,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
    run,
)
from perspective_rag.extend import (
    Store,
    as_perspectives,
    changed_options,
    check_score_kind,
    in_thread,
    packaged_judge,
    wrapped_pipeline,
)


class PerspectiveComponent:
    """The part of a component that does not depend on what it is given to choose from.

    ``_given`` are the constructor's parameters by name; ``options`` those of every request.
    """

    options: PipelineOptions
    _given: dict[str, Any]
    _limiter: Limiter
    _is_warm: bool = False

    def _take(self, given: Mapping[str, Any], *, without: Sequence[str] = ()) -> None:
        """Checks and keeps the constructor's parameters, which are its ``locals()``."""
        others = ("self", "options", "changes")
        self._given = {name: value for name, value in given.items() if name not in others}
        for name in COMPONENTS:
            if self._given.get(name) is not None:
                check_component_kind(name, self._given[name])
        if (perspectives := given["perspectives"]) is not None:
            as_perspectives(perspectives)
            self._given["perspectives"] = tuple(perspectives)
        check_score_kind(given["score_kind"])
        self.options = changed_options(
            given["options"], given["changes"], parameters=self._given, without=without
        )
        if given["document_embedder"] is not None and given["text_embedder"] is None:
            raise ConfigError("document_embedder= needs text_embedder= beside it")
        self._limiter = given["limiter"] or Limiter()

    def _pipeline_over(self, store: Store, options: PipelineOptions) -> PerspectivePipeline:
        given, embedder = self._given, None
        if given["text_embedder"] is not None:
            embedder = HaystackEmbedder(given["text_embedder"], given["document_embedder"])
        generator = given["chat_generator"]
        return wrapped_pipeline(
            store,
            embedder=embedder,
            judge=given["judge"],
            llm=None if generator is None else HaystackLLM(generator),
            llm_name="chat_generator",
            extractor=given["extractor"],
            expander=given.get("expander"),
            selector=given["selector"],
            skip_if=given["skip_if"],
            dedup_key=given["dedup_key"],
            watch=with_span,
            telemetry=given["telemetry"],
            limiter=self._limiter,
            options=options,
        )

    def _sides(
        self, given: Sequence[Perspective | str] | None
    ) -> Sequence[Perspective | str] | None:
        sides: Sequence[Perspective | str] | None = self._given["perspectives"]
        return sides if given is None else given

    def to_dict(self) -> dict[str, Any]:
        """Writes the component as plain values, for pipelines in files.

        A judge, extractor, expander or telemetry needs ``to_dict`` and ``from_dict``; a function
        (``skip_if``, ``dedup_key``) must be one that can be imported; a limiter comes back as a new
        one of the same limit.

        Raises:
            SerializationError: A part cannot be written.
        """
        return to_dict(self, self._given, self.options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Makes the component that ``to_dict`` wrote.

        Args:
            data: What ``to_dict`` returned.

        Returns:
            The component.

        Raises:
            DeserializationError: It is anything else.
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
        if self._given["judge"] == "default":
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
        documents = documents_of(result, score_kind=self._given["score_kind"])
        return {"documents": documents, "report": told(result)}
