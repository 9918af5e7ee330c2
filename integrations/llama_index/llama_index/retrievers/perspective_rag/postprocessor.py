"""A LlamaIndex postprocessor that chooses, among given nodes, those that cover every side."""

from __future__ import annotations

from collections.abc import Sequence
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

from llama_index.retrievers.perspective_rag.events import tell, with_span
from llama_index.retrievers.perspective_rag.models import embedder_of, llm_of
from llama_index.retrievers.perspective_rag.nodes import bundle_of, nodes_of, passage_of
from perspective_rag import (
    ConfigError,
    Hit,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
)
from perspective_rag.extend import (
    LLM,
    SEARCH_NAMES,
    ChooserArguments,
    GivenPassages,
    WrapperParts,
    wrapped_pipeline,
)

dispatcher = instrument.get_dispatcher(__name__)  # type: ignore[attr-defined]


class PerspectivePostprocessor(BaseNodePostprocessor):
    """Chooses, among given nodes, ``k`` that cover every side of the question.

    The order of the nodes counts as their relevance, whatever their scores are; a node given twice,
    by its id or by ``dedup_key``, counts once, where it came first. No store is searched: what no
    given node supports stays uncovered, and ``discover`` reads the given nodes. With
    ``score_kind="similarity"`` a node keeps the score that it came with.

    The nodes it returns are those of ``PerspectiveRetriever``.

    Args:
        llm: As in ``PerspectiveRetriever``.
        embed_model: Needed for a ``mmr_lambda`` below 1 only.
        callback_manager: LlamaIndex's.
        **given: As in ``PerspectiveRetriever``, without what concerns a search.

    Raises:
        ConfigError: An argument is unknown, cannot be used, or belongs to a search.
    """

    _parts: WrapperParts = PrivateAttr()
    _llm: LLM | None = PrivateAttr()
    _embed_model: BaseEmbedding | None = PrivateAttr()

    def __init__(
        self,
        *,
        llm: BaseLLM | LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        callback_manager: CallbackManager | None = None,
        **given: Unpack[ChooserArguments],
    ) -> None:
        super().__init__(callback_manager=callback_manager or CallbackManager())
        self._parts = WrapperParts.of(
            given, parameters=("embed_model", "llm"), without=SEARCH_NAMES
        )
        self._llm, self._embed_model = llm_of(llm), embed_model
        self._pipeline(QueryBundle(""), ())  # what these parts can never do is said now

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "PerspectivePostprocessor"

    def __repr__(self) -> str:
        """The options that are not the default."""
        return f"{type(self).__name__}(options={self.options!r})"

    __str__ = __repr__

    @property
    def options(self) -> PipelineOptions:
        """The options of every call."""
        return self._parts.options

    def report(self, nodes: Sequence[NodeWithScore], query: str | QueryBundle) -> RetrievalResult:
        """Chooses among nodes, best first, and returns the whole result: passages
        (``passage.source`` is the node), coverage and trace.
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
            ReRankStartEvent(query=query, nodes=nodes, top_n=self.options.k, model_name=name)
        )
        return query

    def _end(self, result: RetrievalResult | None) -> list[NodeWithScore]:
        chosen = [] if result is None else nodes_of(tell(result), self._parts.score_kind)
        dispatcher.event(ReRankEndEvent(nodes=chosen))
        return chosen

    def _prepare(
        self, nodes: Sequence[NodeWithScore], query: str | QueryBundle
    ) -> tuple[PerspectivePipeline, str, dict[str, Any]]:
        """The pipeline for one question, the question, and what else ``choose`` is given."""
        bundle = bundle_of(query)
        hits = [Hit(passage_of(item.node), item.score) for item in nodes]
        given = {"hits": hits, "perspectives": self._parts.perspectives}
        return self._pipeline(bundle, hits), bundle.query_str, {**given, "fetch_k": len(hits) or 1}

    def _pipeline(self, bundle: QueryBundle, hits: Sequence[Hit]) -> PerspectivePipeline:
        takes_vector = self._embed_model is not None
        return wrapped_pipeline(
            GivenPassages([hit.passage for hit in hits], takes_vector=takes_vector),
            self._parts,
            embedder=embedder_of(self._embed_model, bundle),
            llm=self._llm,
            watch=with_span if hits else None,
        )
