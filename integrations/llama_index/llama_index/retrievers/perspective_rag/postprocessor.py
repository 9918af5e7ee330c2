"""A LlamaIndex postprocessor that chooses, among given nodes, those that cover every side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import llama_index.core.instrumentation as instrument
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import Unpack

from llama_index.retrievers.perspective_rag.events import tell
from llama_index.retrievers.perspective_rag.nodes import DedupKey, nodes_of, passage_of
from llama_index.retrievers.perspective_rag.parts import JudgeChoice, Parts, bundle_of, llm_of
from perspective_rag import (
    ConfigError,
    Hit,
    Limiter,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
)
from perspective_rag.extend import (
    LLM,
    ChoiceOptions,
    Extractor,
    GivenPassages,
    ScoreKind,
    Selector,
    Telemetry,
    changed_options,
)

dispatcher = instrument.get_dispatcher(__name__)  # type: ignore[attr-defined]

_PARAMETERS = (
    *"dedup_key embed_model extractor limiter judge llm perspectives".split(),
    *"score_kind selector skip_if telemetry".split(),
)
_SEARCHING = ("fetch_k", "projection", "fusion", "max_queries", "guard_searches", "guard_seconds")


class PerspectivePostprocessor(BaseNodePostprocessor):
    """Chooses, among given nodes, ``k`` that cover every side of the question.

    The order of the nodes counts as their relevance, whatever their scores are; a node given twice,
    by its id or by ``dedup_key``, counts once, where it came first. No store is searched: what no
    given node supports stays uncovered, and ``discover`` reads the given nodes.

    Parameters not listed, and the nodes it returns, are those of ``PerspectiveRetriever``.

    Args:
        embed_model: Needed for a ``mmr_lambda`` below 1 only.
        score_kind: "similarity": a node keeps the score that it came with; "selection": the score
            of the choice.
        **changes: Options of ``perspective_rag.PipelineOptions`` that concern no search.

    Raises:
        ConfigError: An argument is unknown, cannot be used, or belongs to a search.
    """

    _parts: Parts = PrivateAttr()
    _options: PipelineOptions = PrivateAttr()

    def __init__(
        self,
        *,
        judge: JudgeChoice = "default",
        llm: BaseLLM | LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        perspectives: Sequence[Perspective | str] | None = None,
        extractor: Extractor | None = None,
        selector: Selector | None = None,
        skip_if: Callable[[str], Any] | None = None,
        dedup_key: DedupKey | None = None,
        score_kind: ScoreKind = "similarity",
        callback_manager: CallbackManager | None = None,
        limiter: Limiter | None = None,
        telemetry: Telemetry | None = None,
        options: PipelineOptions | None = None,
        **changes: Unpack[ChoiceOptions],
    ) -> None:
        super().__init__(callback_manager=callback_manager or CallbackManager())
        self._options = changed_options(
            options, changes, parameters=_PARAMETERS, without=_SEARCHING
        )
        self._parts = Parts(
            judge=judge,
            llm=llm_of(llm),
            embed_model=embed_model,
            perspectives=perspectives,
            extractor=extractor,
            selector=selector,
            skip_if=skip_if,
            dedup_key=dedup_key,
            score_kind=score_kind,
            limiter=limiter or Limiter(),
            telemetry=telemetry,
        )
        self._pipeline(QueryBundle(""), ())  # what these parts can never do is said now

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "PerspectivePostprocessor"

    def __repr__(self) -> str:
        """The options that are not the default."""
        return f"{type(self).__name__}(options={self._options!r})"

    __str__ = __repr__

    @property
    def options(self) -> PipelineOptions:
        """The options of every call."""
        return self._options

    def report(self, nodes: Sequence[NodeWithScore], query: str | QueryBundle) -> RetrievalResult:
        """Chooses among nodes and returns the whole report.

        Args:
            nodes: What a retriever found, best first.
            query: The question.

        Returns:
            Passages, coverage and trace; ``passage.source`` is the node.
        """
        pipeline, question, given = self._prepare(nodes, query)
        return pipeline.choose(question, **given)

    async def areport(
        self, nodes: Sequence[NodeWithScore], query: str | QueryBundle
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        pipeline, question, given = self._prepare(nodes, query)
        return await pipeline.achoose(question, **given)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = self._begin(nodes, query_bundle)
        return self._end(self.report(nodes, query) if nodes else None)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = self._begin(nodes, query_bundle)
        return self._end(await self.areport(nodes, query) if nodes else None)

    def _begin(self, nodes: list[NodeWithScore], query: QueryBundle | None) -> QueryBundle:
        if query is None:
            raise ConfigError("nodes are judged against a question: pass query_bundle or query_str")
        judge = self._pipeline(query, ()).judge
        name = judge.name if judge is not None else "none"
        dispatcher.event(
            ReRankStartEvent(query=query, nodes=nodes, top_n=self._options.k, model_name=name)
        )
        return query

    def _end(self, result: RetrievalResult | None) -> list[NodeWithScore]:
        chosen = []
        if result is not None:
            chosen = nodes_of(tell(result), score_kind=self._parts.score_kind)
        dispatcher.event(ReRankEndEvent(nodes=chosen))
        return chosen

    def _prepare(
        self, nodes: Sequence[NodeWithScore], query: str | QueryBundle
    ) -> tuple[PerspectivePipeline, str, dict[str, Any]]:
        """The pipeline for one question, the question, and what else ``choose`` is given."""
        bundle = bundle_of(query)
        hits = [Hit(passage_of(item.node), item.score) for item in nodes]
        given = {
            "hits": hits,
            "perspectives": self._parts.perspectives,
            "fetch_k": max(len(hits), 1),
        }
        return self._pipeline(bundle, hits), bundle.query_str, given

    def _pipeline(self, bundle: QueryBundle, hits: Sequence[Hit]) -> PerspectivePipeline:
        takes_vector = self._parts.embed_model is not None
        store = GivenPassages([hit.passage for hit in hits], takes_vector=takes_vector)
        return self._parts.pipeline(store, bundle, self._options, traced=bool(hits))
