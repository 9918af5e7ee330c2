"""What constructors and calls accept, and the parts of a pipeline made of it."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from langchain_perspective_rag.adapters import StoreAdapter
from langchain_perspective_rag.models import LangChainEmbedder, LangChainLLM
from langchain_perspective_rag.signatures import AnyEmbeddings, AnyJudge, AnyLLM
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from perspective_rag import (
    CapabilityError,
    ConfigError,
    LLMExtractor,
    LLMListJudge,
    PerspectivePipeline,
    PipelineOptions,
    RuleExtractor,
)
from perspective_rag.extend import (
    ALIASES,
    LLM,
    OPTION_NAMES,
    Embedder,
    Extractor,
    Judge,
    as_perspectives,
    check_component,
    packaged_judge,
    unknown_name,
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
    return rest, options.override(**_only(given, named))


def _only(given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: given[name] for name in names}


def check_parts(given: Mapping[str, Any]) -> None:
    """Raises ConfigError, in plain words, for what can never be the part it was given as."""
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
    if given.get("judge") != "default":
        _check_own(given, "judge", '"default"')
    for name in ("extractor", "expander", "selector", "limiter", "telemetry"):
        _check_own(given, name)
    as_perspectives(given.get("perspectives") or ())


def _check_own(given: Mapping[str, Any], name: str, framework: str = "") -> None:
    if given.get(name) is not None:
        check_component(name, given[name], framework=framework)


_FRAMEWORK_PARTS: tuple[tuple[str, type[Any], str], ...] = (
    ("vectorstore", VectorStore, ""),
    ("retriever", Runnable, ""),
    ("embeddings", Embeddings, "LangChain Embeddings"),
    ("llm", Runnable, "a LangChain chat model or LLM"),
)


def embedder_of(embeddings: AnyEmbeddings | None) -> Embedder | None:
    """LangChain's embeddings, or the library's, as an Embedder."""
    return LangChainEmbedder(embeddings) if isinstance(embeddings, Embeddings) else embeddings


def extractor_of(extractor: Extractor | None, llm: AnyLLM | None) -> Extractor | None:
    """The given extractor, else one that asks ``llm`` and falls back on rules, else None."""
    if llm is None:
        return extractor
    if extractor is not None:
        raise ConfigError("llm= and extractor= both find the perspectives: pass one of them")
    return LLMExtractor(llm_of(llm), fallback=RuleExtractor())


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
        return RetrieverStore(retriever, search_kwargs=search, filter_keyword=filter_keyword)
    raise ConfigError("pass either vectorstore= or retriever=")


def judge_of(judge: AnyJudge | None, llm: AnyLLM | None = None) -> Judge | None:
    """The given judge; for "default" ``llm``, which reads all candidates in one call, with the
    judge that comes with perspective_rag behind it, or that judge alone.
    """
    if not isinstance(judge, str):
        return judge
    return packaged_judge() if llm is None else LLMListJudge(llm_of(llm), fallback=packaged_judge())


def llm_of(llm: AnyLLM) -> LLM:
    """LangChain's model, or the library's, as an LLM."""
    return LangChainLLM(llm) if isinstance(llm, Runnable) else llm


def warn_caller(message: str) -> None:
    """A warning that points at the line of the application from which a constructor was called.

    Repeated warnings of one text and place are shown once.
    """
    frame, level = sys._getframe(1), 2
    while _is_library(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("langchain_perspective_rag", "langchain_core", "pydantic")


def text_only(source: Any, pipeline: PerspectivePipeline) -> str:
    """What is not possible where only text can be searched, and what to do about it."""
    lacking = ["projection"]
    if pipeline.embedder is None:
        lacking.append("mmr_lambda below 1 (without embeddings=)")
    if not getattr(pipeline.store, "takes_filter", True):
        lacking.append("filter")
    remedy = ""
    if isinstance(source, VectorStore):
        remedy = "; make it with SteerableEmbeddings to search it by vector"
    elif isinstance(getattr(source, "vectorstore", None), VectorStore):
        remedy = "; pass its vectorstore= to search by vector"
    rules_out = ", ".join(lacking)
    return f"{type(source).__name__} is searched by text only, which rules out: {rules_out}{remedy}"
