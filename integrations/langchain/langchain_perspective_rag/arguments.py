"""What constructors and calls accept, declared for type checkers, and the parts made of it."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore
from typing_extensions import Unpack

from langchain_perspective_rag.adapters import StoreAdapter
from langchain_perspective_rag.documents import DedupKey
from langchain_perspective_rag.models import LangChainEmbedder, LangChainLLM
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from perspective_rag import (
    CapabilityError,
    ConfigError,
    Limiter,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
)
from perspective_rag.extend import (
    ALIASES,
    LLM,
    OPTION_NAMES,
    CoveragePolicy,
    Embedder,
    Expander,
    Extractor,
    FusionName,
    Judge,
    Options,
    ScoreKind,
    Selector,
    Telemetry,
    as_perspectives,
    check_component,
    unknown_name,
)

AnyEmbeddings = Embeddings | Embedder
AnyLLM = Runnable[Any, Any] | LLM
AnyJudge = Judge | Literal["default"]


class CommonArguments(Options, total=False):
    """What retriever and compressor take, beside the options."""

    embeddings: AnyEmbeddings | None
    judge: AnyJudge | None
    extractor: Extractor | None
    selector: Selector | None
    llm: AnyLLM | None
    perspectives: Sequence[Perspective | str] | None
    skip_if: Callable[[str], Any] | None
    dedup_key: DedupKey | None
    score_kind: ScoreKind
    limiter: Limiter
    telemetry: Telemetry | None
    options: PipelineOptions | Mapping[str, Any]


class WrapArguments(CommonArguments, total=False):
    """The arguments of ``PerspectiveRetriever.wrap``, beside what is wrapped."""

    expander: Expander | None
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


_DEFAULT = PipelineOptions()


class RetrieverWithOptions(BaseRetriever):
    """A retriever with a field for every option of ``perspective_rag.PipelineOptions``, whose
    ``invoke`` and ``ainvoke`` declare the arguments they take.
    """

    k: int = _DEFAULT.k
    """Documents returned."""
    fetch_k: int = _DEFAULT.fetch_k
    """Documents fetched for each query."""
    mmr_lambda: float = _DEFAULT.mmr_lambda
    """In [0, 1]; 1.0 = relevance alone, lower = more diversity."""
    projection: Any = _DEFAULT.projection
    """How a query's vector is changed by its perspective."""
    fusion: FusionName = _DEFAULT.fusion
    """How the rankings of the queries become one."""
    discover: int = _DEFAULT.discover
    """Perspectives to take from the documents where the question names none."""
    max_queries: int = _DEFAULT.max_queries
    """Maximum number of searches for one question."""
    judge_k: int = _DEFAULT.judge_k
    """Maximum number of documents judged."""
    reread_k: int = _DEFAULT.reread_k
    """Maximum number of documents that the larger judge reads again."""
    coverage: CoveragePolicy = _DEFAULT.coverage
    """"annotate", "require" or "off"."""
    coverage_weight: float = _DEFAULT.coverage_weight
    """How much support counts against relevance in the choice."""
    min_support: float | None = _DEFAULT.min_support
    """Probability from which a document is listed as support."""
    relevance_floor: float | None = _DEFAULT.relevance_floor
    """Cosine to the question below which a document is not about it."""
    calibration: Any = _DEFAULT.calibration
    """What ``perspective-rag calibrate`` found: a file, or its values."""
    drop_unrelated: bool = _DEFAULT.drop_unrelated
    """Return fewer than ``k`` documents rather than one that is not about the question."""
    max_per_source: int | None = _DEFAULT.max_per_source
    """Maximum number of documents of one source."""
    guard_searches: int = _DEFAULT.guard_searches
    """Maximum number of further searches for what stayed uncovered."""
    guard_seconds: float = _DEFAULT.guard_seconds
    """Seconds into the request after which the guard starts no search."""
    timeout: float | None = _DEFAULT.timeout
    """Seconds for one call to a model or store."""
    max_concurrency: int = _DEFAULT.max_concurrency
    """Calls of one request at a time."""
    strict: bool = _DEFAULT.strict
    """Raise instead of degrading."""

    @property
    def options(self) -> PipelineOptions:
        """All options together; raises ConfigError for one that cannot be used."""
        return PipelineOptions(**{name: getattr(self, name) for name in OPTION_NAMES})

    def invoke(  # type: ignore[override]  # others are refused while running, too
        self, input: str, config: RunnableConfig | None = None, **kwargs: Unpack[CallArguments]
    ) -> list[Document]:
        """Finds the documents for a question.

        Args:
            input: The question.
            config: LangChain's config for this call.
            **kwargs: Options, ``perspectives``, ``filter`` and ``search_kwargs`` for this call.

        Returns:
            Copies of the documents, best first, with scores and what they support.
        """
        return super().invoke(input, config, **kwargs)

    async def ainvoke(  # type: ignore[override]
        self, input: str, config: RunnableConfig | None = None, **kwargs: Unpack[CallArguments]
    ) -> list[Document]:
        """The same as ``invoke``, without blocking the event loop."""
        return await super().ainvoke(input, config, **kwargs)


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
    for name in ("judge", "extractor", "expander", "selector", "limiter", "telemetry"):
        value, others = given.get(name), '"default"' if name == "judge" else ""
        if value is not None and not (name == "judge" and value == "default"):
            check_component(name, value, framework=others)
    as_perspectives(given.get("perspectives") or ())


_FRAMEWORK_PARTS: tuple[tuple[str, type[Any], str], ...] = (
    ("vectorstore", VectorStore, ""),
    ("retriever", Runnable, ""),
    ("embeddings", Embeddings, "LangChain Embeddings"),
    ("llm", Runnable, "a LangChain chat model or LLM"),
)


def embedder_of(embeddings: AnyEmbeddings | None) -> Embedder | None:
    """LangChain's embeddings, or the library's, as an Embedder."""
    return LangChainEmbedder(embeddings) if isinstance(embeddings, Embeddings) else embeddings


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


def llm_of(llm: AnyLLM | None) -> LLM | None:
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
