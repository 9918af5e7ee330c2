"""A Haystack retriever whose documents cover every side of the question."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

import copy
from collections.abc import Callable, Sequence
from typing import Any

from haystack import Document, component
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import FilterPolicy, apply_filter_policy
from haystack.tools import ComponentTool
from typing_extensions import Unpack

from haystack_integrations.common.perspective_rag.component import PerspectiveComponent
from haystack_integrations.common.perspective_rag.documents import DedupKey, passage_dedup_key
from haystack_integrations.common.perspective_rag.models import HaystackEmbedder
from haystack_integrations.common.perspective_rag.parts import (
    JudgeChoice,
    changes_of,
    check_parts,
    checked_perspectives,
    extractor_of,
    judge_of,
    seen,
)
from haystack_integrations.common.perspective_rag.store import HaystackStore, retriever_over
from haystack_integrations.components.retrievers.perspective_rag.tool import search_tool
from perspective_rag import (
    CapabilityError,
    ConfigError,
    Limiter,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
)
from perspective_rag.extend import (
    Expander,
    Extractor,
    Options,
    ScoreKind,
    Selector,
    Telemetry,
    changed_options,
    check_score_kind,
    second_judge_of,
)

_PARAMETERS = (
    *"chat_generator dedup_key document_embedder document_store expander extractor filters".split(),
    *"filter_policy judge limiter perspectives retriever score_kind selector skip_if".split(),
    *"telemetry text_embedder".split(),
)


@component
class PerspectiveRetriever(PerspectiveComponent):
    """Retrieves documents that cover every perspective of a question, through any retriever.

    ``retriever``: a Haystack retriever component. One that takes ``query_embedding`` is searched by
    vector and needs ``text_embedder``, the one that goes with its store; any other is searched by
    text, and a ``text_embedder`` then re-orders what it finds. ``document_store`` instead is an
    InMemoryDocumentStore, searched by vector where there is a ``text_embedder``, else by BM25.
    ``document_embedder`` embeds documents that come without their vector, where one is needed
    (default: ``text_embedder`` does).
    ``judge``: "default" is the judge that comes with perspective_rag, None turns judging off.
    ``chat_generator`` names the perspectives of a question and, under the default judge, reads all
    candidates in one more call (``LLMListJudge``), with rules and the packaged judge to fall back
    on; without it the rules name them, or ``extractor``. ``perspectives`` names them once for all
    questions.
    ``filters`` reach the retriever with every search; ``filter_policy`` says what those of a run do
    to them, as in Haystack's own retrievers.
    ``skip_if(question)``: where it is true, the question is searched as it is, without perspectives
    and judge. ``dedup_key``: a metadata key, or a function of a document; documents for which it
    gives the same are one. By default a document is known by its id.
    ``limiter`` limits the calls of all runs together; by default each retriever has its own.
    ``telemetry`` is told what each run does, ``OpenTelemetry()`` for example.

    ``options`` and every further keyword are those of ``PipelineOptions``: ``k`` (also ``top_k``),
    ``fetch_k``, ``mmr_lambda`` (1.0 = relevance alone), ``projection``, ``coverage`` and so on.

    Documents are copies, in the order of the choice. A document's score is its similarity to the
    question, higher is better; ``score_kind="selection"`` makes it the score of the choice, which
    keeps the order where somebody sorts by it. Metadata keys that begin with "perspective_rag_" say
    what a document supports (see ``annotations_of``; ``report_in`` reads the whole of it). What
    failed or was left out is logged, and stands in the report.
    """

    def __init__(
        self,
        retriever: Any = None,
        *,
        document_store: InMemoryDocumentStore | None = None,
        text_embedder: Any = None,
        document_embedder: Any = None,
        judge: JudgeChoice = "default",
        chat_generator: Any = None,
        filters: dict[str, Any] | None = None,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        perspectives: Sequence[Perspective | str] | None = None,
        extractor: Extractor | None = None,
        expander: Expander | None = None,
        selector: Selector | None = None,
        skip_if: Callable[[str], Any] | None = None,
        dedup_key: DedupKey | None = None,
        score_kind: ScoreKind = "similarity",
        limiter: Limiter | None = None,
        telemetry: Telemetry | None = None,
        options: PipelineOptions | None = None,
        **changes: Unpack[Options],
    ) -> None:
        self._given = {
            "retriever": retriever,
            "document_store": document_store,
            "text_embedder": text_embedder,
            "document_embedder": document_embedder,
            "judge": judge,
            "chat_generator": chat_generator,
            "filters": filters,
            "filter_policy": filter_policy,
            "perspectives": checked_perspectives(perspectives),
            "extractor": extractor,
            "expander": expander,
            "selector": selector,
            "skip_if": skip_if,
            "dedup_key": dedup_key,
            "score_kind": score_kind,
            "limiter": limiter,
            "telemetry": telemetry,
        }
        check_parts(self._given)
        check_score_kind(score_kind)
        self.options = changed_options(options, changes, parameters=_PARAMETERS)
        if (retriever is None) == (document_store is None):
            raise ConfigError("pass either retriever= or document_store=")
        if document_store is not None:
            retriever = retriever_over(document_store, by_vector=text_embedder is not None)
        self._store = HaystackStore(retriever)
        if filters is not None:
            self._store.check_filter()
        if not isinstance(filter_policy, FilterPolicy):
            raise ConfigError(f"filter_policy must be a FilterPolicy, got {filter_policy!r:.60}")
        self._score_kind = score_kind
        if self._store.takes_vector and text_embedder is None:
            raise CapabilityError(
                f"{type(retriever).__name__} searches by vector: pass text_embedder=, the one that "
                "goes with its store"
            )
        if document_embedder is not None and text_embedder is None:
            raise ConfigError("document_embedder= needs text_embedder= beside it")
        self._pipeline = self._made()

    def _made(self) -> PerspectivePipeline:
        given = self._given
        embedder = None
        if given["text_embedder"] is not None:
            embedder = HaystackEmbedder(given["text_embedder"], given["document_embedder"])
        return PerspectivePipeline(
            self._store,
            embedder=embedder,
            judge=seen(judge_of(given["judge"], given["chat_generator"])),
            second_judge=second_judge_of(given["judge"], given["chat_generator"]),
            extractor=extractor_of(given["extractor"], given["chat_generator"]),
            expander=given["expander"],
            selector=given["selector"],
            skip_if=given["skip_if"],
            dedup_key=passage_dedup_key(given["dedup_key"]),
            telemetry=given["telemetry"],
            limiter=given["limiter"],
            options=self.options,
        )

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
        """The documents for a question, and the report of the run.

        ``perspectives`` replaces what would be found; ``filters`` in Haystack's form; ``options``
        are changes of ``PipelineOptions`` for this run, by name. ``report`` has the coverage, the
        queries, what was called and what was degraded, as plain values. Raises ConfigError for an
        empty query and for an unknown option, RetrievalError when every search failed,
        CoverageError under the policy "require".
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
        """The full result for a question: passages, coverage, and a trace of what was done."""
        self._check(changes)
        return self._pipeline.retrieve(
            query,
            perspectives=self._sides(perspectives),
            filter=self._filters(filters),
            **changes,
        )

    async def areport(
        self,
        query: str,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: dict[str, Any] | None = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        self._check(changes)
        return await self._pipeline.aretrieve(
            query,
            perspectives=self._sides(perspectives),
            filter=self._filters(filters),
            **changes,
        )

    def as_tool(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        filters: dict[str, Any] | None = None,
    ) -> ComponentTool:
        """A tool that takes ``query`` and, if the model likes, ``perspectives``; nothing else.

        Its message says which perspectives each document supports. ``filters`` hold besides the
        retriever's own, for a request or a tenant: the model can neither see nor change them. An
        empty query is answered by an error that the model can read.
        """
        return search_tool(self._narrowed(filters), name=name, description=description)

    def _narrowed(self, filters: dict[str, Any] | None) -> "PerspectiveRetriever":
        if filters is None:
            return self
        self._store.check_filter()
        own, narrowed = self._given["filters"], copy.copy(self)
        both = {"operator": "AND", "conditions": [own, filters]} if own else filters
        narrowed._given = {**self._given, "filters": both}
        return narrowed

    def _check(self, changes: Options) -> None:
        changed_options(self.options, changes, parameters=("filters", "perspectives", "top_k"))

    def _sides(
        self, given: Sequence[Perspective | str] | None
    ) -> Sequence[Perspective | str] | None:
        sides: Sequence[Perspective | str] | None = self._given["perspectives"]
        return sides if given is None else given

    def _filters(self, given: dict[str, Any] | None) -> dict[str, Any] | None:
        own, policy = self._given["filters"], self._given["filter_policy"]
        wanted: dict[str, Any] | None = apply_filter_policy(policy, own, given)
        if wanted is not None:
            self._store.check_filter()
        return wanted
