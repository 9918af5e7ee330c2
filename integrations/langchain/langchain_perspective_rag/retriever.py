"""The retriever that takes the place of ``vectorstore.as_retriever()``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import Self

from langchain_perspective_rag.adapters import StoreAdapter
from langchain_perspective_rag.arguments import (
    AnyEmbeddings,
    AnyJudge,
    AnyLLM,
    check_names,
    embedder_of,
    extractor_of,
    judge_of,
    split_options,
    store_of,
    text_only,
)
from langchain_perspective_rag.documents import (
    DedupKey,
    documents_of,
    passage_dedup_key,
    report_of,
)
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from langchain_perspective_rag.tool import search_tool
from langchain_perspective_rag.tracing import TracedJudge, children_of, described
from langchain_perspective_rag.wrapping import adder, arguments_of
from perspective_rag import (
    Gate,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
)
from perspective_rag.extract.rules import as_perspectives
from perspective_rag.protocols import Expander, Extractor

EVENT = "perspective_rag"
_CALL_NAMES = ("filter", "perspectives", "search_kwargs")


class PerspectiveRetriever(BaseRetriever):
    """Finds documents that cover every perspective of a question.

        retriever = PerspectiveRetriever.wrap(vectorstore, k=6)
        documents = retriever.invoke("Should social media be banned for children?")

    Give it a ``vectorstore``, or a ``retriever`` to search by text. Every option of
    ``perspective_rag.PipelineOptions`` (and LangChain's ``lambda_mult``, in the same direction),
    ``perspectives``, ``filter`` and ``search_kwargs`` are arguments of the constructor and, by the
    same names and before those, of ``invoke``, ``ainvoke``, ``batch`` and ``stream``. An unknown
    argument raises ConfigError and suggests the right name. Where only text can be searched, a
    warning says once what that rules out.

    Documents come back as copies with their scores (see ``documents_of``); ``retrieve`` gives the
    whole report. In a trace, searches, model calls and judgements are children tagged
    ``perspective_rag:<stage>``, and the report is a custom event named "perspective_rag".
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    vectorstore: VectorStore | None = None
    """The store to search by vector."""
    retriever: Runnable[str, list[Document]] | None = None
    """A retriever to search by text, instead of a store."""
    embeddings: AnyEmbeddings | None = None
    """Embeddings of the question; by default the vector store's own."""
    judge: AnyJudge | None = "default"
    """Says which document supports which perspective; "default": the library's own, None: none."""
    extractor: Extractor | None = None
    """Finds the perspectives of a question; by default with ``llm`` where given, else by rules."""
    expander: Expander | None = None
    """Writes the queries for the perspectives; by default the perspectives' own statements."""
    llm: AnyLLM | None = None
    """A chat model or LLM that writes the perspectives; rules take over when it fails."""
    perspectives: Sequence[Perspective | str] | None = None
    """The sides of every question, where they are known beforehand."""
    skip_if: Callable[[str], Any] | None = None
    """True of a question that is searched as it is, without perspectives and judge."""
    dedup_key: DedupKey | None = None
    """A metadata key, or a function of a document; those that share it are one document."""
    filter: Any = None
    """The store's own filter, handed on with every search."""
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of every search; a ``k`` in here comes before the one below."""
    adapter: StoreAdapter | None = None
    """How to treat a kind of store that is not known here; by default the one for its class."""
    filter_keyword: str | None = None
    """The store's name for a filter, where it cannot be seen from its signature."""
    k: int = 5
    """Documents returned."""
    fetch_k: int = 50
    """Documents fetched for each query."""
    relevance_weight: float = 1.0
    """In [0, 1]; 1.0 = relevance alone, lower = more diversity."""
    gate: Gate = Field(default_factory=Gate, repr=False)
    """How many calls of each kind all requests together make at a time."""
    options: PipelineOptions = PipelineOptions()
    """All other options; the three above come before those in here."""

    def __init__(self, **given: Any) -> None:
        rest, options = split_options(given, type(self).model_fields)
        for name in ("k", "fetch_k", "relevance_weight"):
            rest[name] = getattr(options, name)
        rest["options"] = options
        super().__init__(**rest)
        # What cannot work raises here, not at the first question.
        as_perspectives(self.perspectives or ())
        pipeline, _ = self._asked(None, None, None, {})
        if not pipeline.store.takes_vector:
            # Repeated warnings of one text and place are shown once.
            source = self.vectorstore if self.retriever is None else self.retriever
            warnings.warn(text_only(source, pipeline), stacklevel=1)

    @classmethod
    def wrap(cls, source: VectorStore | Runnable[str, list[Document]], **given: Any) -> Self:
        """A retriever around a vector store or another retriever; ``given`` is for the constructor.

        Of what ``as_retriever()`` made, the store is wrapped, and its search arguments, ``k``
        included, its tags and metadata stay in force unless others are given; with
        ``search_type="mmr"`` so does its diversity.
        """
        if isinstance(source, VectorStore):
            return cls(vectorstore=source, **given)
        return cls(**arguments_of(source, given))

    @property
    def pipeline(self) -> PerspectivePipeline:
        """The pipeline that answers; its steps can be run alone."""
        options = self.options.override(
            # Applications that change search_kwargs["k"] of their retriever go on doing so.
            k=self.search_kwargs.get("k", self.k),
            fetch_k=self.fetch_k,
            relevance_weight=self.relevance_weight,
        )
        judge = judge_of(self.judge)
        return PerspectivePipeline(
            self._store(),
            embedder=embedder_of(self._embeddings()),
            judge=None if judge is None else TracedJudge(judge),
            extractor=extractor_of(self.extractor, self.llm),
            expander=self.expander,
            skip_if=self.skip_if,
            dedup_key=passage_dedup_key(self.dedup_key),
            gate=self.gate,
            options=options,
        )

    def retrieve(
        self,
        question: str,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        search_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> RetrievalResult:
        """Passages, coverage and trace; ``passage.source`` is the document as the store gave it.

        ``search_kwargs`` are added to the constructor's.
        """
        pipeline, given = self._asked(perspectives, filter, search_kwargs, options)
        return pipeline.retrieve(question, **given)

    async def aretrieve(
        self,
        question: str,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        search_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> RetrievalResult:
        """The same as ``retrieve``, without blocking the event loop."""
        pipeline, given = self._asked(perspectives, filter, search_kwargs, options)
        return await pipeline.aretrieve(question, **given)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Adds documents to what is wrapped, as the retriever of ``as_retriever()`` does."""
        return adder(self.vectorstore, self.retriever).add_documents(documents, **kwargs)

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """The same, without blocking the event loop."""
        return await adder(self.vectorstore, self.retriever).aadd_documents(documents, **kwargs)

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """A tool that takes ``query`` and, if the model likes, ``perspectives``.

        Its message says which perspectives each passage supports; the documents are its artifact.
        With ``args_schema`` or ``arg_types`` it is what LangChain makes of any runnable.
        """
        if args_schema is None and arg_types is None:
            return search_tool(self, name=name, description=description)
        return super().as_tool(args_schema, name=name, description=description, arg_types=arg_types)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        fetch_k: int | None = None,
        relevance_weight: float | None = None,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        options = _named(k=k, fetch_k=fetch_k, relevance_weight=relevance_weight) | kwargs
        heard = bool(run_manager.handlers)
        with children_of(run_manager.get_child(), heard=heard):
            result = self.retrieve(query, perspectives=perspectives, filter=filter, **options)
        if heard:
            config = RunnableConfig(callbacks=run_manager.get_child())
            dispatch_custom_event(EVENT, report_of(result), config=config)
        return documents_of(result)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        fetch_k: int | None = None,
        relevance_weight: float | None = None,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        options = _named(k=k, fetch_k=fetch_k, relevance_weight=relevance_weight) | kwargs
        heard = bool(run_manager.handlers)
        with children_of(run_manager.get_child(), heard=heard):
            result = await self.aretrieve(
                query, perspectives=perspectives, filter=filter, **options
            )
        if heard:
            config = RunnableConfig(callbacks=run_manager.get_child())
            await adispatch_custom_event(EVENT, report_of(result), config=config)
        return documents_of(result)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        if isinstance(self.retriever, BaseRetriever):
            inner = self.retriever._get_ls_params()
            return {**inner, "ls_retriever_name": params["ls_retriever_name"]}
        return described(params, self.vectorstore, self._embeddings())

    def _asked(
        self,
        perspectives: Sequence[Perspective | str] | None,
        filter: Any,
        search_kwargs: Mapping[str, Any] | None,
        options: Mapping[str, Any],
    ) -> tuple[PerspectivePipeline, dict[str, Any]]:
        """A pipeline for one question, and what to call it with."""
        check_names(options, _CALL_NAMES)
        search = {**self.search_kwargs, **(search_kwargs or {})}
        pipeline = self.model_copy(update={"search_kwargs": search}).pipeline
        filter = self.filter if filter is None else filter
        if filter is not None and isinstance(pipeline.store, RetrieverStore):
            pipeline.store.check_filter()
        perspectives = self.perspectives if perspectives is None else perspectives
        return pipeline, {"perspectives": perspectives, "filter": filter, **options}

    def _store(self) -> LangChainStore | RetrieverStore:
        return store_of(
            self.vectorstore,
            self.retriever,
            embeddings=self._embeddings(),
            adapter=self.adapter,
            filter_keyword=self.filter_keyword,
            search_kwargs=self.search_kwargs,
        )

    def _embeddings(self) -> AnyEmbeddings | None:
        if self.embeddings is not None or self.vectorstore is None:
            return self.embeddings
        return self.vectorstore.embeddings


def _named(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
