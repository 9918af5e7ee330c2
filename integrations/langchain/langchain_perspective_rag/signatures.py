"""What constructors and calls accept, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore
from typing_extensions import Unpack

from langchain_perspective_rag.adapters import StoreAdapter
from langchain_perspective_rag.documents import DedupKey
from langchain_perspective_rag.fields import OptionFields
from perspective_rag import Limiter, Perspective, PipelineOptions
from perspective_rag.extend import (
    LLM,
    Embedder,
    Expander,
    Extractor,
    Judge,
    Options,
    ScoreKind,
    Selector,
    Telemetry,
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


class RetrieverWithOptions(OptionFields):
    """A LangChain retriever whose ``invoke`` and ``ainvoke`` declare the arguments they take."""

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
