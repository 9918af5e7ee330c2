"""A Haystack ranker that chooses, among given documents, those that cover every side."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

from collections.abc import Sequence
from typing import Any

from haystack import Document, component
from typing_extensions import Unpack

from haystack_integrations.common.perspective_rag.component import PerspectiveComponent, changes_of
from haystack_integrations.common.perspective_rag.store import GivenDocuments
from perspective_rag import Perspective, PerspectivePipeline, RetrievalResult
from perspective_rag.extend import (
    SEARCH_NAMES,
    ChoiceOptions,
    ChooserArguments,
    changed_options,
)


@component
class PerspectiveRanker(PerspectiveComponent):
    """Chooses, among given documents, ``k`` that cover every side of the question.

    The order of the documents counts as their relevance, whatever their scores are; a document
    given twice, by its id or by ``dedup_key``, counts once, where it came first. Nothing is
    searched: what no given document supports stays uncovered, and ``discover`` reads the given
    documents. With ``score_kind="similarity"`` a document keeps the score that it came with.

    The documents it returns are those of ``PerspectiveRetriever``.

    Args:
        text_embedder: The one of the store; needed for a ``mmr_lambda`` below 1 only, for documents
            that bring no embedding.
        document_embedder: Embeds those documents in its place.
        chat_generator: As in ``PerspectiveRetriever``.
        **given: As in ``PerspectiveRetriever``, without what concerns a search.

    Raises:
        ConfigError: An argument is unknown, cannot be used, or belongs to a search.
    """

    def __init__(
        self,
        *,
        text_embedder: Any = None,
        document_embedder: Any = None,
        chat_generator: Any = None,
        **given: Unpack[ChooserArguments],
    ) -> None:
        own = {
            "text_embedder": text_embedder,
            "document_embedder": document_embedder,
            "chat_generator": chat_generator,
        }
        self._take(own, given, without=SEARCH_NAMES)
        self._pipeline([])  # what these parts can never do is said now

    @component.output_types(documents=list[Document], report=dict[str, Any])
    def run(
        self,
        query: str,
        documents: list[Document],
        perspectives: list[str] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Chooses among documents.

        Args:
            query: The question.
            documents: What a retriever found, best first.
            perspectives: The question's sides, in place of those that would be found.
            top_k: Maximum number of documents.
            options: Options of ``PipelineOptions`` for this run, by name.

        Returns:
            ``documents``, best first, and ``report``: coverage, calls and degradations as plain
            values. Both are empty without documents.

        Raises:
            ConfigError: The query is empty, or an option is unknown or not allowed.
            CoverageError: A side stayed uncovered under ``coverage="require"``.
        """
        changes = changes_of(top_k, options)
        if not documents:
            return {"documents": [], "report": {}}
        if not self._is_warm:
            self.warm_up()
        return self._outputs(self.report(query, documents, perspectives, **changes))

    @component.output_types(documents=list[Document], report=dict[str, Any])
    async def run_async(
        self,
        query: str,
        documents: list[Document],
        perspectives: list[str] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The same as ``run``, without blocking the event loop."""
        changes = changes_of(top_k, options)
        if not documents:
            return {"documents": [], "report": {}}
        if not self._is_warm:
            await self.warm_up_async()
        return self._outputs(await self.areport(query, documents, perspectives, **changes))

    def report(
        self,
        query: str,
        documents: Sequence[Document],
        perspectives: Sequence[Perspective | str] | None = None,
        **changes: Unpack[ChoiceOptions],
    ) -> RetrievalResult:
        """The same as ``run``, but returns the whole result: passages (``passage.source`` is the
        document), coverage and trace.
        """
        pipeline, store = self._prepare(documents, changes)
        return pipeline.choose(query, store.hits, perspectives=self._sides(perspectives), **changes)

    async def areport(
        self,
        query: str,
        documents: Sequence[Document],
        perspectives: Sequence[Perspective | str] | None = None,
        **changes: Unpack[ChoiceOptions],
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        pipeline, store = self._prepare(documents, changes)
        sides = self._sides(perspectives)
        return await pipeline.achoose(query, store.hits, perspectives=sides, **changes)

    def _prepare(
        self, documents: Sequence[Document], changes: ChoiceOptions
    ) -> tuple[PerspectivePipeline, GivenDocuments]:
        changed_options(
            self.options, changes, parameters=("perspectives", "top_k"), without=SEARCH_NAMES
        )
        return self._pipeline(documents)

    def _pipeline(
        self, documents: Sequence[Document]
    ) -> tuple[PerspectivePipeline, GivenDocuments]:
        takes_vector = self._given["text_embedder"] is not None
        store = GivenDocuments(documents, takes_vector=takes_vector)
        options = self.options.override(fetch_k=max(len(documents), 1))
        return self._pipeline_over(store, options), store
