"""The choice among documents that another retriever found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field
from typing_extensions import Unpack

from langchain_perspective_rag.arguments import (
    AnyEmbeddings,
    AnyJudge,
    AnyLLM,
    CommonArguments,
    check_parts,
    embedder_of,
    llm_of,
    split_options,
)
from langchain_perspective_rag.documents import (
    DedupKey,
    documents_of,
    passage_of,
)
from langchain_perspective_rag.tracing import atell, children_of, tell, traced_call
from perspective_rag import (
    Limiter,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
)
from perspective_rag.extend import (
    Extractor,
    GivenPassages,
    ScoreKind,
    Selector,
    Telemetry,
    check_score_kind,
    wrapped_pipeline,
)


class PerspectiveCompressor(BaseDocumentCompressor):
    """Keeps the k documents that together cover the sides of the question.

    For ``ContextualCompressionRetriever(base_compressor=PerspectiveCompressor(k=5),
    base_retriever=...)``. Nothing is searched: the order of the documents counts as their
    relevance, or with ``embeddings`` the cosine to the question. Fewer than k come back only where
    fewer different ones were given.

    The fields below, and the options of ``perspective_rag.PipelineOptions``, are arguments of the
    constructor. Documents come back as those of ``PerspectiveRetriever``.

    Raises:
        ConfigError: An argument is unknown or does not fit.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    embeddings: AnyEmbeddings | None = None
    """Orders the documents by cosine, and makes ``mmr_lambda`` below 1 possible."""
    judge: AnyJudge | None = "default"
    """Says which document supports which perspective; "default": the library's own, None: none."""
    extractor: Extractor | None = None
    """Finds the perspectives of a question; by default with ``llm`` where given, else by rules."""
    selector: Selector | None = None
    """Chooses the documents from the judged ones; default: the first, exchanged where that covers
    more."""
    llm: AnyLLM | None = None
    """A chat model or LLM that writes the perspectives and, under the default judge, reads all
    candidates in one more call; rules and the packaged judge take over when it fails."""
    perspectives: Sequence[Perspective | str] | None = None
    """The sides of every question, where they are known beforehand."""
    skip_if: Callable[[str], Any] | None = None
    """True of a question for which the first k are kept, without perspectives and judge."""
    dedup_key: DedupKey | None = None
    """A metadata key, or a function of a document; those that share it are one document."""
    score_kind: ScoreKind = "similarity"
    """What ``relevance_score`` is: the similarity to the question, which needs ``embeddings``, or
    the score of the choice."""
    k: int = 5
    """Documents kept."""
    limiter: Limiter = Field(default_factory=Limiter, repr=False)
    """How many calls of each kind all requests together make at a time."""
    telemetry: Telemetry | None = Field(default=None, repr=False)
    """Is told what each request does, ``OpenTelemetry()`` for example."""
    options: PipelineOptions = PipelineOptions()
    """All other options; ``k`` above comes before the one in here."""

    def __init__(self, **given: Unpack[CommonArguments]) -> None:
        check_parts(given)
        rest, options = split_options(given, type(self).model_fields)
        rest |= {"options": options, "k": options.k}
        super().__init__(**rest)
        # What cannot work raises here, not at the first question.
        check_score_kind(self.score_kind)
        self._pipeline([])

    def __repr__(self) -> str:
        """The options that are not the default."""
        return f"{type(self).__name__}(options={self.options.override(k=self.k)!r})"

    __str__ = __repr__

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Chooses among documents.

        Args:
            documents: What a retriever found, best first.
            query: The question.
            callbacks: LangChain's callbacks, for the trace.

        Returns:
            Copies of the chosen documents, best first.
        """
        if not documents:
            return []
        with children_of(callbacks):
            result = self.report(documents, query)
        tell(result, callbacks)
        return documents_of(result, score_kind=self.score_kind)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """The same as ``compress_documents``, without blocking the event loop."""
        if not documents:
            return []
        with children_of(callbacks):
            result = await self.areport(documents, query)
        await atell(result, callbacks)
        return documents_of(result, score_kind=self.score_kind)

    def report(self, documents: Sequence[Document], query: str) -> RetrievalResult:
        """Chooses among documents and returns the whole report.

        Args:
            documents: What a retriever found, best first.
            query: The question.

        Returns:
            Passages, coverage and trace; ``passage.source`` is the document as it was given.
        """
        return self._pipeline(documents).retrieve(query, perspectives=self.perspectives)

    async def areport(self, documents: Sequence[Document], query: str) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        return await self._pipeline(documents).aretrieve(query, perspectives=self.perspectives)

    def _pipeline(self, documents: Sequence[Document]) -> PerspectivePipeline:
        return wrapped_pipeline(
            GivenPassages([passage_of(document) for document in documents]),
            embedder=embedder_of(self.embeddings),
            judge=self.judge,
            llm=llm_of(self.llm),
            extractor=self.extractor,
            selector=self.selector,
            skip_if=self.skip_if,
            dedup_key=self.dedup_key,
            watch=traced_call,
            limiter=self.limiter,
            telemetry=self.telemetry,
            # The question alone finds all that there is, and searching again would find no more.
            options=self.options.override(
                k=self.k, fetch_k=max(len(documents), 1), max_queries=1, guard_searches=0
            ),
        )
