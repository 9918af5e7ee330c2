"""What constructors and calls accept, and the fields of retriever and compressor made of it."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, ConfigDict, Field, create_model

from langchain_perspective_rag.models import LangChainEmbedder, LangChainLLM
from langchain_perspective_rag.tracing import traced_call
from perspective_rag import ConfigError, Perspective, PipelineOptions, extend
from perspective_rag.extend import (
    ALIASES,
    LLM,
    OPTION_NAMES,
    Embedder,
    Options,
    Store,
    StoreAdapter,
    WrapperArguments,
    WrapperParts,
    check_component,
    unknown_name,
)

if TYPE_CHECKING:
    from perspective_rag import PerspectivePipeline

AnyEmbeddings = Embeddings | Embedder
AnyLLM = Runnable[Any, Any] | LLM
PART_NAMES = tuple(each.name for each in dataclasses.fields(WrapperParts) if each.name != "options")


class CompressorArguments(WrapperArguments, total=False):
    """The arguments of ``PerspectiveCompressor``."""

    embeddings: AnyEmbeddings | None
    llm: AnyLLM | None


class WrapArguments(CompressorArguments, total=False):
    """The arguments of ``PerspectiveRetriever.wrap``, beside what is wrapped."""

    filter: Any
    search_kwargs: dict[str, Any]
    adapter: StoreAdapter | None
    filter_keyword: str | None
    name: str | None
    tags: list[str] | None
    metadata: dict[str, Any] | None


class RetrieverArguments(WrapArguments, total=False):
    """The arguments of ``PerspectiveRetriever``."""

    vectorstore: VectorStore | None
    retriever: Runnable[str, list[Document]] | None


class CallArguments(Options, total=False):
    """The arguments of one call of ``PerspectiveRetriever``."""

    perspectives: Sequence[Perspective | str] | None
    filter: Any
    search_kwargs: Mapping[str, Any] | None


class _Fields(BaseModel):
    """What retriever and compressor have in common."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    embeddings: AnyEmbeddings | None = None
    llm: AnyLLM | None = None

    @property
    def options(self) -> PipelineOptions:
        """All options together; raises ConfigError for one that cannot be used."""
        return PipelineOptions(**{name: getattr(self, name) for name in OPTION_NAMES})

    def _over(
        self, store: Store, embeddings: AnyEmbeddings | None, options: PipelineOptions
    ) -> PerspectivePipeline:
        """The pipeline over a store."""
        embedder = (
            LangChainEmbedder(embeddings) if isinstance(embeddings, Embeddings) else embeddings
        )
        llm = LangChainLLM(self.llm) if isinstance(self.llm, Runnable) else self.llm
        return extend.wrapped_pipeline(
            store,
            WrapperParts(**{name: getattr(self, name) for name in PART_NAMES}),
            embedder=embedder,
            llm=llm,
            watch=traced_call,
            options=options,
        )

    def __repr__(self) -> str:
        """The options that are not the default."""
        return f"{type(self).__name__}(options={self.options!r})"

    def __str__(self) -> str:
        return repr(self)


def _made_fields() -> dict[str, Any]:
    """A field for each part of ``WrapperParts`` and each option, as they are declared there."""
    made: dict[str, Any] = {}
    for kind in (WrapperParts, PipelineOptions):
        hints = typing.get_type_hints(kind)
        for each in dataclasses.fields(kind):
            if each.default_factory is dataclasses.MISSING:
                made[each.name] = (hints[each.name], each.default)
            elif each.name != "options":
                made[each.name] = (hints[each.name], Field(default_factory=each.default_factory))
    return made


if TYPE_CHECKING:

    class WrapperFields(_Fields):
        """A field for each part and each option."""

        def __getattr__(self, name: str) -> Any: ...
else:
    WrapperFields = create_model(
        "WrapperFields", __base__=_Fields, __module__=__name__, **_made_fields()
    )


def field_values(
    given: Mapping[str, Any], model: type[BaseModel], *, without: Collection[str] = ()
) -> dict[str, Any]:
    """The values of a model's fields, of a constructor's arguments.

    Raises ConfigError, in plain words, for what can never be used.
    """
    check_names(given, {*model.model_fields, "options"})
    own = {*model.model_fields} - {*PART_NAMES, *OPTION_NAMES}
    for name, kind, others in _FRAMEWORK_PARTS:
        value = given.get(name)
        if value is None or isinstance(value, kind):
            continue
        if not others:
            advice = ": wrap it, RunnableLambda(...)" if inspect.isroutine(value) else ""
            raise ConfigError(
                f"{name} must be a LangChain {kind.__name__}, got {value!r:.60}{advice}"
            )
        check_component(name, value, framework=others)
    rest = {name: given[name] for name in given if name not in own}
    parts = WrapperParts.of(rest, without=without)
    return {
        **{name: given[name] for name in given if name in own},
        **{name: getattr(parts, name) for name in PART_NAMES},
        **{name: getattr(parts.options, name) for name in OPTION_NAMES},
    }


_FRAMEWORK_PARTS: tuple[tuple[str, type[Any], str], ...] = (
    ("vectorstore", VectorStore, ""),
    ("retriever", Runnable, ""),
    ("embeddings", Embeddings, "LangChain Embeddings"),
    ("llm", Runnable, "a LangChain chat model or LLM"),
)


def check_names(given: Iterable[str], own: Collection[str]) -> None:
    """Raises ConfigError, with a suggestion, for a name neither in ``own`` nor of an option."""
    known = {*own, *OPTION_NAMES, *ALIASES}
    for name in given:
        if name not in known:
            error = unknown_name(name, known, "argument")
            if "search_kwargs" not in own:
                raise error
            raise ConfigError(
                f"{error}; arguments of the store's own search go into "
                f"search_kwargs={{{name!r}: ...}}"
            )
