"""The choice among documents that another retriever found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from typing_extensions import Unpack

from langchain_perspective_rag.arguments import (
    CompressorArguments,
    WrapperFields,
    field_values,
)
from langchain_perspective_rag.documents import documents_of, passage_of
from langchain_perspective_rag.tracing import atell, children_of, tell
from perspective_rag import RetrievalResult, extend

if TYPE_CHECKING:
    from perspective_rag import PerspectivePipeline


class PerspectiveCompressor(WrapperFields, BaseDocumentCompressor):
    """Keeps the k documents that together cover the sides of the question.

    For ``ContextualCompressionRetriever(base_compressor=PerspectiveCompressor(k=5),
    base_retriever=...)``. Nothing is searched: the order of the documents counts as their
    relevance, or with ``embeddings`` the cosine to the question. Fewer than k come back only where
    fewer different ones were given.

    The fields below, those of ``perspective_rag.extend.WrapperParts`` and the options of
    ``perspective_rag.PipelineOptions`` are fields, and arguments of the constructor. Documents come
    back as those of ``PerspectiveRetriever``; their similarity to the question needs
    ``embeddings``.

    Attributes:
        embeddings: Orders the documents by cosine, and makes ``mmr_lambda`` below 1 possible.
        llm: As in ``PerspectiveRetriever``.

    Raises:
        ConfigError: An argument is unknown or does not fit.
    """

    def __init__(self, **given: Unpack[CompressorArguments]) -> None:
        super().__init__(**field_values(given, type(self), without=("expander",)))
        self._pipeline([])  # what cannot work raises here, not at the first question

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Chooses among documents, best first; the chosen ones come back as copies, best first."""
        if not documents:
            return []
        with children_of(callbacks):
            result = self.report(documents, query)
        tell(result, callbacks)
        return documents_of(result, self.score_kind)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """The same as ``compress_documents``, without blocking the event loop."""
        if not documents:
            return []
        with children_of(callbacks):
            result = await self.areport(documents, query)
        await atell(result, callbacks)
        return documents_of(result, self.score_kind)

    def report(self, documents: Sequence[Document], query: str) -> RetrievalResult:
        """The same as ``compress_documents``, but returns the whole result: passages
        (``passage.source`` is the document as it was given), coverage and trace.
        """
        return self._pipeline(documents).retrieve(query, perspectives=self.perspectives)

    async def areport(self, documents: Sequence[Document], query: str) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        return await self._pipeline(documents).aretrieve(query, perspectives=self.perspectives)

    def _pipeline(self, documents: Sequence[Document]) -> PerspectivePipeline:
        # The question alone finds all that there is, and searching again would find no more.
        options = self.options.override(
            fetch_k=max(len(documents), 1), max_queries=1, guard_searches=0
        )
        given = extend.GivenPassages([passage_of(document) for document in documents])
        return self._over(given, self.embeddings, options)
