"""What constructors and calls accept, and the parts of a pipeline made of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from langchain_perspective_rag.adapters import StoreAdapter
from langchain_perspective_rag.models import LangChainEmbedder, LangChainLLM
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from perspective_rag import (
    CapabilityError,
    ConfigError,
    LLMExtractor,
    PerspectivePipeline,
    PipelineOptions,
    RuleExtractor,
)
from perspective_rag.errors import unknown_name
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.options import ALIASES, OPTION_NAMES
from perspective_rag.protocols import LLM, Embedder, Extractor, Judge

AnyEmbeddings = Embeddings | Embedder
AnyLLM = Runnable[Any, Any] | LLM
AnyJudge = Judge | Literal["default"]


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


def split_options(
    given: Mapping[str, Any], fields: Collection[str]
) -> tuple[dict[str, Any], PipelineOptions]:
    """Constructor arguments for ``fields``, and the options, given one by one or as ``options=``.

    One given by its own name takes the place of the one in ``options``. Raises ConfigError for
    unknown names.
    """
    check_names(given, fields)
    options = given.get("options") or {}
    if not isinstance(options, PipelineOptions):
        if not isinstance(options, Mapping):
            raise ConfigError(f"options must be PipelineOptions or a mapping, got {options!r}")
        options = PipelineOptions.from_dict(options)
    named = {name for name in given if name in OPTION_NAMES or name in ALIASES}
    rest = {name: value for name, value in given.items() if name not in {*named, "options"}}
    return rest, options.override(**{name: given[name] for name in named})


def embedder_of(embeddings: AnyEmbeddings | None) -> Embedder | None:
    """LangChain's embeddings, or the library's, as an Embedder."""
    return LangChainEmbedder(embeddings) if isinstance(embeddings, Embeddings) else embeddings


def extractor_of(extractor: Extractor | None, llm: AnyLLM | None) -> Extractor | None:
    """The given extractor, else one that asks ``llm`` and falls back on rules, else None."""
    if llm is None:
        return extractor
    if extractor is not None:
        raise ConfigError("llm= and extractor= both find the perspectives: pass one of them")
    model = LangChainLLM(llm) if isinstance(llm, Runnable) else llm
    return LLMExtractor(model, fallback=RuleExtractor())


def store_of(
    vectorstore: VectorStore | None,
    retriever: Runnable[str, list[Document]] | None,
    *,
    embeddings: AnyEmbeddings | None,
    adapter: StoreAdapter | None,
    filter_keyword: str | None,
    search_kwargs: Mapping[str, Any],
) -> LangChainStore | RetrieverStore:
    """What is searched: the vector store, or else the retriever.

    Raises ConfigError unless just one is given, CapabilityError where a store that is searched by
    vector has no embeddings.
    """
    search = {name: value for name, value in search_kwargs.items() if name != "k"}
    if vectorstore is not None and retriever is None:
        store = LangChainStore(
            vectorstore, adapter=adapter, filter_keyword=filter_keyword, search_kwargs=search
        )
        if store.takes_vector and embeddings is None:
            raise CapabilityError(
                f"{type(vectorstore).__name__} does not say with which embeddings it was made: "
                "pass embeddings=, the same that the store uses"
            )
        return store
    if retriever is not None and vectorstore is None:
        return RetrieverStore(retriever, search_kwargs=search)
    raise ConfigError("pass either vectorstore= or retriever=")


def judge_of(judge: AnyJudge | None) -> Judge | None:
    """The given judge, or for "default" the one that comes with perspective_rag."""
    return packaged_judge() if isinstance(judge, str) else judge


def text_only(source: Any, pipeline: PerspectivePipeline) -> str:
    """What is not possible where only text can be searched, and what to do about it."""
    lacking = ["projection"]
    if pipeline.embedder is None:
        lacking.append("relevance_weight below 1 (without embeddings=)")
    if not getattr(pipeline.store, "takes_filter", True):
        lacking.append("filter")
    remedy = ""
    if isinstance(source, VectorStore):
        remedy = "; make it with SteerableEmbeddings to search it by vector"
    elif isinstance(getattr(source, "vectorstore", None), VectorStore):
        remedy = "; pass its vectorstore= to search by vector"
    rules_out = ", ".join(lacking)
    return f"{type(source).__name__} is searched by text only, which rules out: {rules_out}{remedy}"
