"""The retriever that takes the place of ``vectorstore.as_retriever()``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import Self, Unpack

from langchain_perspective_rag.adapters import StoreAdapter
from langchain_perspective_rag.arguments import (
    AnyEmbeddings,
    AnyJudge,
    AnyLLM,
    CallArguments,
    RetrieverArguments,
    RetrieverWithOptions,
    WrapArguments,
    check_names,
    check_parts,
    embedder_of,
    llm_of,
    split_options,
    store_of,
    text_only,
    warn_caller,
)
from langchain_perspective_rag.documents import DedupKey, documents_of
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from langchain_perspective_rag.tool import search_tool
from langchain_perspective_rag.tracing import atell, children_of, described, tell, traced_call
from langchain_perspective_rag.wrapping import adder, arguments_of
from perspective_rag import (
    Limiter,
    Perspective,
    PerspectivePipeline,
    RetrievalResult,
)
from perspective_rag.extend import (
    OPTION_NAMES,
    Expander,
    Extractor,
    ScoreKind,
    Selector,
    Telemetry,
    check_score_kind,
    wrapped_pipeline,
)

_LOGGER = logging.getLogger("perspective_rag")
_CALL_NAMES = ("filter", "perspectives", "search_kwargs")


class PerspectiveRetriever(RetrieverWithOptions):
    """Finds documents that cover every side of a question.

        retriever = PerspectiveRetriever.wrap(vectorstore, k=6)
        documents = retriever.invoke("Should social media be banned for children?")

    Give it a ``vectorstore``, or a ``retriever`` to search by text. The fields below, and every
    option of ``perspective_rag.PipelineOptions`` (with LangChain's ``lambda_mult``), are arguments
    of the constructor. Options, ``perspectives``, ``filter`` and ``search_kwargs`` may also be
    given to ``invoke``, ``ainvoke``, ``batch`` and ``stream``, for that call.

    Documents come back as copies, best first. ``metadata["relevance_score"]`` is what
    ``score_kind`` says, higher is better; a document whose similarity is not known has none.
    Metadata keys that begin with "perspective_rag_" say what a document supports: see
    ``perspective_rag.extend.annotations_of``; ``report_in`` reads all of it. ``retrieve`` gives the
    whole report.

    In a trace, searches, model calls and judgements are children tagged
    ``perspective_rag:<stage>``, and the report is a custom event named "perspective_rag". What
    failed or was left out is logged, and is an event named "perspective_rag.degradation". Where
    only text can be searched, a warning says once what that rules out.

    Raises:
        ConfigError: An argument is unknown (the error suggests the right one) or cannot be used.
        CapabilityError: The source cannot do what an argument asks, or does not say its embeddings:
            pass ``embeddings``.
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
    selector: Selector | None = None
    """Chooses the documents from the judged ones, ``MMR()`` for example; default: plain search's
    own, exchanged where that covers more."""
    llm: AnyLLM | None = None
    """A chat model or LLM that writes the perspectives and, under the default judge, reads all
    candidates in one more call; rules and the packaged judge take over when it fails."""
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
    score_kind: ScoreKind = "similarity"
    """What ``relevance_score`` is: the similarity to the question, or the score of the choice."""
    limiter: Limiter = Field(default_factory=Limiter, repr=False)
    """How many calls of each kind all requests together make at a time."""
    telemetry: Telemetry | None = Field(default=None, repr=False)
    """Is told what each request does, ``OpenTelemetry()`` for example."""

    def __init__(self, **given: Unpack[RetrieverArguments]) -> None:
        check_parts(given)
        rest, options = split_options(given, {*type(self).model_fields, "options"})
        super().__init__(**rest, **{name: getattr(options, name) for name in OPTION_NAMES})
        # What cannot work raises here, not at the first question.
        check_score_kind(self.score_kind)
        pipeline, _ = self._prepare({})
        if not pipeline.store.takes_vector:
            source = self.vectorstore if self.retriever is None else self.retriever
            warn_caller(text_only(source, pipeline))
        self._log_unnamed(pipeline.store, self.search_kwargs)

    @classmethod
    def wrap(
        cls,
        source: VectorStore | Runnable[str, list[Document]],
        **given: Unpack[WrapArguments],
    ) -> Self:
        """Makes a retriever around a vector store or another retriever.

        What ``as_retriever()`` made is replaced by its store; its ``k`` and other search arguments,
        tags and metadata stay unless others are given, and so does its diversity with
        ``search_type="mmr"``.

        Args:
            source: A vector store, or any runnable from a question to documents.
            **given: Arguments of the constructor.

        Returns:
            The retriever.
        """
        if isinstance(source, VectorStore):
            return cls(vectorstore=source, **given)
        return cls(**arguments_of(source, given))

    def __repr__(self) -> str:
        """What is searched, and the options that are not the default."""
        source = self.vectorstore if self.vectorstore is not None else self.retriever
        return f"{type(self).__name__}({type(source).__name__}, options={self.options!r})"

    __str__ = __repr__

    @property
    def pipeline(self) -> PerspectivePipeline:
        """The pipeline that answers; its steps can be run alone."""
        # Applications that change search_kwargs["k"] of their retriever go on doing so.
        options = self.options.override(k=self.search_kwargs.get("k", self.k))
        return wrapped_pipeline(
            self._store(),
            embedder=embedder_of(self._embeddings()),
            judge=self.judge,
            llm=llm_of(self.llm),
            extractor=self.extractor,
            expander=self.expander,
            selector=self.selector,
            skip_if=self.skip_if,
            dedup_key=self.dedup_key,
            watch=traced_call,
            limiter=self.limiter,
            telemetry=self.telemetry,
            options=options,
        )

    def retrieve(self, question: str, **arguments: Unpack[CallArguments]) -> RetrievalResult:
        """Retrieves for a question and returns the whole report.

        Args:
            question: The question.
            **arguments: Options, ``perspectives``, ``filter`` and ``search_kwargs`` for this call;
                ``search_kwargs`` are added to the constructor's.

        Returns:
            Passages, coverage and trace; ``passage.source`` is the document as the store gave it.

        Raises:
            ConfigError: An argument is unknown or not allowed, or the question is empty.
            CapabilityError: The filter cannot reach the store.
            RetrievalError: Every search failed.
            CoverageError: A side stayed uncovered under ``coverage="require"``.
        """
        pipeline, given = self._prepare(arguments)
        return pipeline.retrieve(question, **given)

    async def aretrieve(self, question: str, **arguments: Unpack[CallArguments]) -> RetrievalResult:
        """The same as ``retrieve``, without blocking the event loop."""
        pipeline, given = self._prepare(arguments)
        return await pipeline.aretrieve(question, **given)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Adds documents to what is wrapped, as the retriever of ``as_retriever()`` does.

        Args:
            documents: The documents.
            **kwargs: Handed to ``add_documents`` of the store or retriever.

        Returns:
            Their ids.

        Raises:
            CapabilityError: What is wrapped takes no documents.
        """
        return adder(self.vectorstore, self.retriever).add_documents(documents, **kwargs)

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """The same as ``add_documents``, without blocking the event loop."""
        return await adder(self.vectorstore, self.retriever).aadd_documents(documents, **kwargs)

    def as_tool(
        self,
        args_schema: type[BaseModel] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_types: dict[str, type] | None = None,
    ) -> BaseTool:
        """Makes a tool that takes ``query`` and, optionally, ``perspectives``.

        Its message says which sides each passage supports; the documents are its artifact.
        Arguments from the model that cannot be used are answered by a tool error that it can read.
        ``config={"configurable": {"perspective_rag": {"filter": ...}}}`` gives a request arguments
        of ``invoke`` that the model cannot choose.

        Args:
            args_schema: Makes it the tool that LangChain makes of any runnable.
            name: The tool's name.
            description: What the model reads about it.
            arg_types: As ``args_schema``.

        Returns:
            The tool.
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
        mmr_lambda: float | None = None,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        given = {"k": k, "fetch_k": fetch_k, "mmr_lambda": mmr_lambda, "filter": filter}
        arguments = _given({**given, "perspectives": perspectives, **kwargs})
        with children_of(run_manager.get_child(), heard=bool(run_manager.handlers)):
            result = self.retrieve(query, **arguments)
        tell(result, run_manager.get_child())
        return documents_of(result, score_kind=self.score_kind)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **arguments: Any,
    ) -> list[Document]:
        with children_of(run_manager.get_child(), heard=bool(run_manager.handlers)):
            result = await self.aretrieve(query, **_given(arguments))
        await atell(result, run_manager.get_child())
        return documents_of(result, score_kind=self.score_kind)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        if isinstance(self.retriever, BaseRetriever):
            inner = self.retriever._get_ls_params()
            return {**inner, "ls_retriever_name": params["ls_retriever_name"]}
        return described(params, self.vectorstore, self._embeddings())

    def _prepare(self, arguments: CallArguments) -> tuple[PerspectivePipeline, dict[str, Any]]:
        """A pipeline for one question, and what to call it with."""
        check_names(arguments, _CALL_NAMES)
        given: dict[str, Any] = {"perspectives": None, "filter": None, **arguments}
        own = given.pop("search_kwargs", None) or {}
        search = {**self.search_kwargs, **own}
        pipeline = self.model_copy(update={"search_kwargs": search}).pipeline
        if own:
            new = {name: own[name] for name in own if name not in self.search_kwargs}
            self._log_unnamed(pipeline.store, new)
        for name in ("perspectives", "filter"):
            if given[name] is None:
                given[name] = getattr(self, name)
        if given["filter"] is not None:
            cast(LangChainStore | RetrieverStore, pipeline.store).check_filter()
        return pipeline, given

    def _log_unnamed(self, store: Any, search_kwargs: dict[str, Any]) -> None:
        names = store.unnamed(search_kwargs) if isinstance(store, LangChainStore) else []
        if names:
            kind = type(self.vectorstore).__name__
            _LOGGER.warning("search_kwargs: %s shows no parameter %s", kind, ", ".join(names))

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


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call without those that are None, where that is no value of theirs."""
    unset = ("k", "fetch_k", "mmr_lambda")
    return {n: value for n, value in arguments.items() if value is not None or n not in unset}
