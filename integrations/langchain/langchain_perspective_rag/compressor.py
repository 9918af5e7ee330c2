"""The choice among documents that another retriever found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field

from langchain_perspective_rag.arguments import (
    AnyEmbeddings,
    AnyJudge,
    AnyLLM,
    embedder_of,
    extractor_of,
    judge_of,
    split_options,
)
from langchain_perspective_rag.documents import (
    DedupKey,
    documents_of,
    passage_dedup_key,
    passage_of,
)
from langchain_perspective_rag.tracing import TracedJudge, children_of
from perspective_rag import Gate, Hit, Perspective, PerspectivePipeline, PipelineOptions
from perspective_rag.extract.rules import as_perspectives
from perspective_rag.protocols import Extractor
from perspective_rag.types import Vector


class PerspectiveCompressor(BaseDocumentCompressor):
    """Keeps the k documents that together cover the perspectives of the question.

    For ``ContextualCompressionRetriever(base_compressor=PerspectiveCompressor(k=5),
    base_retriever=...)``. Nothing is searched: the order of the documents counts as their
    relevance, unless ``embeddings`` are given (then the cosine to the question does). Documents
    come back as copies with their scores, never fewer than k where so many different ones were
    given. Options are those of ``perspective_rag.PipelineOptions``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    embeddings: AnyEmbeddings | None = None
    """Orders the documents by cosine, and makes ``relevance_weight`` below 1 possible."""
    judge: AnyJudge | None = "default"
    """Says which document supports which perspective; "default": the library's own, None: none."""
    extractor: Extractor | None = None
    """Finds the perspectives of a question; by default with ``llm`` where given, else by rules."""
    llm: AnyLLM | None = None
    """A chat model or LLM that writes the perspectives; rules take over when it fails."""
    perspectives: Sequence[Perspective | str] | None = None
    """The sides of every question, where they are known beforehand."""
    skip_if: Callable[[str], Any] | None = None
    """True of a question for which the first k are kept, without perspectives and judge."""
    dedup_key: DedupKey | None = None
    """A metadata key, or a function of a document; those that share it are one document."""
    k: int = 5
    """Documents kept."""
    gate: Gate = Field(default_factory=Gate, repr=False)
    """How many calls of each kind all requests together make at a time."""
    options: PipelineOptions = PipelineOptions()
    """All other options; ``k`` above comes before the one in here."""

    def __init__(self, **given: Any) -> None:
        rest, options = split_options(given, type(self).model_fields)
        rest |= {"options": options, "k": options.k}
        super().__init__(**rest)
        # What cannot work raises here, not at the first question.
        as_perspectives(self.perspectives or ())
        self._pipeline([])

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Copies of the chosen documents, best first."""
        if not documents:
            return []
        with children_of(callbacks):
            result = self._pipeline(documents).retrieve(query, perspectives=self.perspectives)
        return documents_of(result)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """The same, without blocking the event loop."""
        if not documents:
            return []
        with children_of(callbacks):
            result = await self._pipeline(documents).aretrieve(
                query, perspectives=self.perspectives
            )
        return documents_of(result)

    def _pipeline(self, documents: Sequence[Document]) -> PerspectivePipeline:
        judge = judge_of(self.judge)
        return PerspectivePipeline(
            _Given(documents),
            embedder=embedder_of(self.embeddings),
            judge=None if judge is None else TracedJudge(judge),
            extractor=extractor_of(self.extractor, self.llm),
            skip_if=self.skip_if,
            dedup_key=passage_dedup_key(self.dedup_key),
            gate=self.gate,
            # The question alone finds all that there is, and searching again would find no more.
            options=self.options.override(
                k=self.k, fetch_k=max(len(documents), 1), max_queries=1, guard_searches=0
            ),
        )


class _Given:
    """A store of the given documents, which every search returns in their order."""

    takes_vector = False

    def __init__(self, documents: Sequence[Document]) -> None:
        self._hits = [Hit(passage_of(document)) for document in documents]

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        return self._hits[:k]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        return self._hits[:k]
