"""A Haystack retriever whose documents cover every side of the question."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

import copy
from collections.abc import Sequence
from typing import Any

from haystack import Document, component
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import FilterPolicy, apply_filter_policy
from haystack.tools import ComponentTool
from typing_extensions import Unpack

from haystack_integrations.common.perspective_rag.component import PerspectiveComponent, changes_of
from haystack_integrations.common.perspective_rag.store import HaystackStore, retriever_over
from haystack_integrations.components.retrievers.perspective_rag.tool import search_tool
from perspective_rag import (
    CapabilityError,
    ConfigError,
    Perspective,
    PerspectivePipeline,
    RetrievalResult,
)
from perspective_rag.extend import Options, WrapperArguments, changed_options


@component
class PerspectiveRetriever(PerspectiveComponent):
    """Retrieves documents that cover every side of a question, through any Haystack retriever.

    Documents are copies, in the order of the choice. Metadata keys that begin with
    "perspective_rag_" say what a document supports: see ``perspective_rag.extend.annotations_of``;
    ``report_in`` reads all of it. What failed or was left out is logged, and stands in the report.

    Args:
        retriever: A retriever component. One that takes ``query_embedding`` is searched by vector
            and needs ``text_embedder``; any other is searched by text.
        document_store: Instead of ``retriever``, an InMemoryDocumentStore: searched by vector where
            there is a ``text_embedder``, else by BM25.
        text_embedder: Embeds the question, as the store's documents were embedded; re-orders what a
            search by text finds.
        document_embedder: Embeds documents that come without their vector; None: ``text_embedder``
            does.
        chat_generator: Names the perspectives of a question and, under the default judge, reads all
            candidates in one more call (``LLMListJudge``); when it fails, rules and the packaged
            judge take over.
        filters: Reach the retriever with every search.
        filter_policy: What the filters of a run do to these, as in Haystack's own retrievers.
        **given: The attributes of ``perspective_rag.extend.WrapperParts`` (``judge``,
            ``perspectives``, ...) and the options of ``perspective_rag.PipelineOptions`` by name;
            ``top_k`` is ``k``.

    Raises:
        ConfigError: An argument is unknown (the error suggests the right one) or cannot be used.
        CapabilityError: The retriever takes no filters, or searches by vector and ``text_embedder``
            is missing.
    """

    def __init__(
        self,
        retriever: Any = None,
        *,
        document_store: InMemoryDocumentStore | None = None,
        text_embedder: Any = None,
        document_embedder: Any = None,
        chat_generator: Any = None,
        filters: dict[str, Any] | None = None,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        **given: Unpack[WrapperArguments],
    ) -> None:
        own = {
            "retriever": retriever,
            "document_store": document_store,
            "text_embedder": text_embedder,
            "document_embedder": document_embedder,
            "chat_generator": chat_generator,
            "filters": filters,
            "filter_policy": filter_policy,
        }
        self._take(own, given)
        if (retriever is None) == (document_store is None):
            raise ConfigError("pass either retriever= or document_store=")
        if document_store is not None:
            retriever = retriever_over(document_store, by_vector=text_embedder is not None)
        self._store = HaystackStore(retriever)
        if filters is not None:
            self._store.check_filter()
        if not isinstance(filter_policy, FilterPolicy):
            raise ConfigError(f"filter_policy must be a FilterPolicy, got {filter_policy!r:.60}")
        if self._store.takes_vector and text_embedder is None:
            raise CapabilityError(
                f"{type(retriever).__name__} searches by vector: pass text_embedder=, the one that "
                "goes with its store"
            )
        self._pipeline = self._pipeline_over(self._store, self.options)

    @property
    def pipeline(self) -> PerspectivePipeline:
        """The pipeline that answers; its steps can be run alone."""
        return self._pipeline

    @component.output_types(documents=list[Document], report=dict[str, Any])
    def run(
        self,
        query: str,
        perspectives: list[str] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Finds the documents for a question.

        Args:
            query: The question.
            perspectives: Its sides, in place of those that would be found.
            filters: In Haystack's form; ``filter_policy`` says how they meet the retriever's own.
            top_k: Maximum number of documents.
            options: Options of ``PipelineOptions`` for this run, by name.

        Returns:
            ``documents``, and ``report``: coverage, queries, calls and degradations as plain
            values.

        Raises:
            ConfigError: The query is empty, or an option is unknown or not allowed.
            RetrievalError: Every search failed.
            CoverageError: A side stayed uncovered under ``coverage="require"``.
        """
        if not self._is_warm:
            self.warm_up()
        changes = changes_of(top_k, options)
        return self._outputs(self.report(query, perspectives, filters, **changes))

    @component.output_types(documents=list[Document], report=dict[str, Any])
    async def run_async(
        self,
        query: str,
        perspectives: list[str] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The same as ``run``, without blocking the event loop."""
        if not self._is_warm:
            await self.warm_up_async()
        changes = changes_of(top_k, options)
        return self._outputs(await self.areport(query, perspectives, filters, **changes))

    def report(
        self,
        query: str,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: dict[str, Any] | None = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """The same as ``run``, but returns the whole result: passages (``passage.source`` is the
        document), coverage and trace.
        """
        given = self._arguments(perspectives, filters, changes)
        return self._pipeline.retrieve(query, **given)

    async def areport(
        self,
        query: str,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: dict[str, Any] | None = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        given = self._arguments(perspectives, filters, changes)
        return await self._pipeline.aretrieve(query, **given)

    def as_tool(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        filters: dict[str, Any] | None = None,
    ) -> ComponentTool:
        """Makes a tool that takes ``query`` and, optionally, ``perspectives``.

        Its message says which sides each document supports. An empty query is answered by an error
        that the model can read.

        Args:
            name: The tool's name.
            description: What the model reads about it.
            filters: Hold besides the retriever's own, for a request or a tenant; the model can
                neither see nor change them.

        Returns:
            The tool.

        Raises:
            CapabilityError: The retriever takes no filters.
        """
        return search_tool(self._narrow(filters), name=name, description=description)

    def _narrow(self, filters: dict[str, Any] | None) -> "PerspectiveRetriever":
        if filters is None:
            return self
        self._store.check_filter()
        own, narrowed = self._given["filters"], copy.copy(self)
        both = {"operator": "AND", "conditions": [own, filters]} if own else filters
        narrowed._given = {**self._given, "filters": both}
        return narrowed

    def _arguments(
        self,
        perspectives: Sequence[Perspective | str] | None,
        filters: dict[str, Any] | None,
        changes: Options,
    ) -> dict[str, Any]:
        changed_options(self.options, changes, parameters=("filters", "perspectives", "top_k"))
        wanted = apply_filter_policy(self._given["filter_policy"], self._given["filters"], filters)
        if wanted is not None:
            self._store.check_filter()
        return {"perspectives": self._sides(perspectives), "filter": wanted, **changes}
