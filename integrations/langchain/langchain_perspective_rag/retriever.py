"""The retriever that takes the place of ``vectorstore.as_retriever()``."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import BaseModel, Field
from typing_extensions import Self, Unpack

from langchain_perspective_rag.arguments import (
    AnyEmbeddings,
    CallArguments,
    RetrieverArguments,
    WrapArguments,
    WrapperFields,
    check_names,
    field_values,
)
from langchain_perspective_rag.documents import documents_of
from langchain_perspective_rag.embeddings import SteerableEmbeddings
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from langchain_perspective_rag.tracing import atell, children_of, tell
from perspective_rag import CapabilityError, ConfigError, RetrievalResult
from perspective_rag.extend import StoreAdapter

if TYPE_CHECKING:
    from perspective_rag import PerspectivePipeline

_LOGGER = logging.getLogger("perspective_rag")
_CALL_NAMES = ("filter", "perspectives", "search_kwargs")

# By search type: the search arguments of a VectorStoreRetriever that are options here, and its
# defaults for them where ours would change what it means.
_OPTIONS_OF = {"similarity": ("k",), "mmr": ("k", "fetch_k", "lambda_mult")}
_DEFAULTS_OF = {"similarity": {}, "mmr": {"fetch_k": 20, "lambda_mult": 0.5}}


class PerspectiveRetriever(WrapperFields, BaseRetriever):
    """Finds documents that cover every side of a question.

        retriever = PerspectiveRetriever.wrap(vectorstore, k=6)
        documents = retriever.invoke("Should social media be banned for children?")

    Give it a ``vectorstore``, or a ``retriever`` to search by text. The fields below, those of
    ``perspective_rag.extend.WrapperParts`` and every option of ``perspective_rag.PipelineOptions``
    (with LangChain's ``lambda_mult``) are fields, and arguments of the constructor. Options,
    ``perspectives``, ``filter`` and ``search_kwargs`` may also be given to ``invoke``, ``ainvoke``,
    ``batch`` and ``stream``, for that call.

    Documents come back as copies, best first. ``metadata["relevance_score"]`` is what
    ``score_kind`` says, higher is better; a document whose similarity is not known has none.
    Metadata keys that begin with "perspective_rag_" say what a document supports: see
    ``perspective_rag.extend.annotations_of``; ``report_in`` reads all of it. ``retrieve`` gives the
    whole report.

    In a trace, searches, model calls and judgements are children tagged
    ``perspective_rag:<stage>``, and the report is a custom event named "perspective_rag". What
    failed or was left out is logged, and is an event named "perspective_rag.degradation". Where
    only text can be searched, a warning says once what that rules out.

    Attributes:
        vectorstore: The store to search by vector.
        retriever: A retriever to search by text, instead of a store.
        embeddings: Embeddings of the question; None: the vector store's own.
        llm: A chat model or LLM that writes the perspectives and, under the default judge, reads
            all candidates in one more call; rules and the packaged judge take over when it fails.
        filter: The store's own filter, handed on with every search.
        search_kwargs: Further arguments of every search; a ``k`` in here comes before the option.
        adapter: How to treat a kind of store that is not known here; None: the one for its class.
        filter_keyword: The store's name for a filter, where it cannot be seen from its signature.

    Raises:
        ConfigError: An argument is unknown (the error suggests the right one) or cannot be used.
        CapabilityError: The source cannot do what an argument asks, or does not say its embeddings:
            pass ``embeddings``.
    """

    vectorstore: VectorStore | None = None
    retriever: Runnable[str, list[Document]] | None = None
    filter: Any = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    adapter: StoreAdapter | None = None
    filter_keyword: str | None = None

    def __init__(self, **given: Unpack[RetrieverArguments]) -> None:
        super().__init__(**field_values(given, type(self)))
        # What cannot work raises here, not at the first question.
        pipeline, _ = self._prepare({})
        if not pipeline.store.takes_vector:
            level = 1
            while sys._getframe(level).f_globals.get("__name__") == __name__:
                level += 1
            warnings.warn(self._text_only(pipeline), stacklevel=level + 1)
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
        kept: dict[str, Any] = {"retriever": source}
        arguments: dict[str, Any] = {**given}
        if isinstance(source, VectorStoreRetriever):
            search, kind = {**source.search_kwargs}, source.search_type
            # A subclass may do more than search, and a score threshold is the store's to apply.
            if type(source) is not VectorStoreRetriever or kind not in _OPTIONS_OF:
                kept["options"] = {"k": search["k"]} if "k" in search else {}
            else:
                search |= given.get("search_kwargs", {})
                names = [name for name in _OPTIONS_OF[kind] if name in search]
                options = {**_DEFAULTS_OF[kind], **{name: search.pop(name) for name in names}}
                kept = {"vectorstore": source.vectorstore, "options": options}
                kept |= {"tags": source.tags, "metadata": source.metadata}
                arguments["search_kwargs"] = search
        return cls(**{**kept, **arguments})

    def __repr__(self) -> str:
        """What is searched, and the options that are not the default."""
        return f"{type(self).__name__}({type(self._source).__name__}, options={self.options!r})"

    @property
    def pipeline(self) -> PerspectivePipeline:
        """The pipeline that answers; its steps can be run alone."""
        # Applications that change search_kwargs["k"] of their retriever go on doing so.
        options = self.options.override(k=self.search_kwargs.get("k", self.k))
        return self._over(self._store(), self._embeddings, options)

    def invoke(  # type: ignore[override]  # others are refused while running, too
        self, input: str, config: RunnableConfig | None = None, **kwargs: Unpack[CallArguments]
    ) -> list[Document]:
        """Finds the documents for a question; ``kwargs`` hold options, ``perspectives``, ``filter``
        and ``search_kwargs`` for this call.
        """
        return super().invoke(input, config, **kwargs)

    async def ainvoke(  # type: ignore[override]
        self, input: str, config: RunnableConfig | None = None, **kwargs: Unpack[CallArguments]
    ) -> list[Document]:
        """The same as ``invoke``, without blocking the event loop."""
        return await super().ainvoke(input, config, **kwargs)

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
        """Adds documents to what is wrapped, as the retriever of ``as_retriever()`` does; returns
        their ids. Raises CapabilityError where what is wrapped takes none.
        """
        names: list[str] = self._adder().add_documents(documents, **kwargs)
        return names

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """The same as ``add_documents``, without blocking the event loop."""
        names: list[str] = await self._adder().aadd_documents(documents, **kwargs)
        return names

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
            from langchain_perspective_rag.tool import search_tool

            return search_tool(self, name=name, description=description)
        return super().as_tool(args_schema, name=name, description=description, arg_types=arg_types)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,  # named, so that whoever wraps this retriever sees it
        **arguments: Any,
    ) -> list[Document]:
        with children_of(run_manager.get_child(), heard=bool(run_manager.handlers)):
            result = self.retrieve(query, **_given({"k": k, **arguments}))
        tell(result, run_manager.get_child())
        return documents_of(result, self.score_kind)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **arguments: Any,
    ) -> list[Document]:
        with children_of(run_manager.get_child(), heard=bool(run_manager.handlers)):
            result = await self.aretrieve(query, **_given({"k": k, **arguments}))
        await atell(result, run_manager.get_child())
        return documents_of(result, self.score_kind)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        if isinstance(self.retriever, BaseRetriever):
            inner = self.retriever._get_ls_params()
            return {**inner, "ls_retriever_name": params["ls_retriever_name"]}
        embeddings: Any = self._embeddings
        if isinstance(embeddings, SteerableEmbeddings):
            embeddings = embeddings.embeddings
        if self.vectorstore is not None:
            params["ls_vector_store_provider"] = type(self.vectorstore).__name__
        if embeddings is not None:
            params["ls_embedding_provider"] = type(embeddings).__name__
        return params

    def _prepare(self, arguments: CallArguments) -> tuple[PerspectivePipeline, dict[str, Any]]:
        """A pipeline for one question, and what to call it with."""
        check_names(arguments, _CALL_NAMES)
        given: dict[str, Any] = {"perspectives": None, "filter": None, **arguments}
        own = given.pop("search_kwargs", None) or {}
        search = {**self.search_kwargs, **own}
        pipeline = self.model_copy(update={"search_kwargs": search}).pipeline
        self._log_unnamed(
            pipeline.store, {name: own[name] for name in own if name not in self.search_kwargs}
        )
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
        search = {name: value for name, value in self.search_kwargs.items() if name != "k"}
        if (self.vectorstore is None) == (self.retriever is None):
            raise ConfigError("pass either vectorstore= or retriever=")
        if self.vectorstore is None:
            return RetrieverStore(
                cast(Runnable[str, list[Document]], self.retriever),
                search_kwargs=search,
                filter_keyword=self.filter_keyword,
            )
        store = LangChainStore(
            self.vectorstore,
            adapter=self.adapter,
            filter_keyword=self.filter_keyword,
            search_kwargs=search,
        )
        if store.takes_vector and self._embeddings is None:
            raise CapabilityError(
                f"{type(self.vectorstore).__name__} does not say with which embeddings it was "
                "made: pass embeddings=, the same that the store uses"
            )
        return store

    @property
    def _source(self) -> Any:
        return self.retriever if self.vectorstore is None else self.vectorstore

    @property
    def _embeddings(self) -> AnyEmbeddings | None:
        if self.embeddings is not None or self.vectorstore is None:
            return self.embeddings
        return self.vectorstore.embeddings

    def _adder(self) -> Any:
        if not hasattr(self._source, "add_documents"):
            raise CapabilityError(
                f"{type(self._source).__name__} takes no documents: add them where it gets its own"
            )
        return self._source

    def _text_only(self, pipeline: PerspectivePipeline) -> str:
        """What is not possible where only text can be searched, and what to do about it."""
        lacking = ["projection"]
        if pipeline.embedder is None:
            lacking.append("mmr_lambda below 1 (without embeddings=)")
        if not cast(LangChainStore | RetrieverStore, pipeline.store).takes_filter:
            lacking.append("filter")
        remedy = ""
        if self.vectorstore is not None:
            remedy = "; make it with SteerableEmbeddings to search it by vector"
        elif isinstance(getattr(self.retriever, "vectorstore", None), VectorStore):
            remedy = "; pass its vectorstore= to search by vector"
        return (
            f"{type(self._source).__name__} is searched by text only, which rules out: "
            f"{', '.join(lacking)}{remedy}"
        )


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call without those that are None, where that is no value of theirs."""
    unset = ("k", "fetch_k", "mmr_lambda")
    return {n: value for n, value in arguments.items() if value is not None or n not in unset}
