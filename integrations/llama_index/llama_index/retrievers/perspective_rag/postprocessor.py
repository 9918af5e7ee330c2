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

from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder
from llama_index.retrievers.perspective_rag.nodes import (
    DedupKey,
    nodes_of,
    passage_dedup_key,
    passage_of,
)
from llama_index.retrievers.perspective_rag.parts import (
    JudgeChoice,
    bundle_of,
    check_judge,
    extractor_of,
    judge_of,
    options_of,
)
from perspective_rag.errors import ConfigError
from perspective_rag.extract.rules import as_perspectives
from perspective_rag.flow import Flow, arun, run
from perspective_rag.gate import Gate
from perspective_rag.options import PipelineOptions
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import LLM, Extractor
from perspective_rag.request import Request
from perspective_rag.types import Candidate, Hit, Passage, Perspective, RetrievalResult, Vector

dispatcher = instrument.get_dispatcher(__name__)  # type: ignore[attr-defined]

_PARAMETERS = tuple("dedup_key embed_model extractor gate judge llm perspectives skip_if".split())
_SEARCHING = ("fetch_k", "projection", "fusion", "max_queries", "guard_searches", "guard_seconds")


class PerspectivePostprocessor(BaseNodePostprocessor):
    """Judges given nodes and chooses ``k`` that cover every perspective of the question.

    The order of the nodes is taken for their relevance, whatever their scores are; a node that is
    given twice, by its id or by ``dedup_key``, counts once, where it came first. No store is
    searched: what no given node supports stays uncovered, and ``discover`` reads the given nodes.
    ``embed_model`` is needed for a ``relevance_weight`` below 1 only. The other parameters, and the
    nodes it returns, are those of ``PerspectiveRetriever``; options that belong to a search raise.
    """

    _judge: JudgeChoice = PrivateAttr()
    _extractor: Extractor | None = PrivateAttr()
    _embed_model: BaseEmbedding | None = PrivateAttr()
    _perspectives: Sequence[Perspective | str] | None = PrivateAttr()
    _skip_if: Callable[[str], Any] | None = PrivateAttr()
    _dedup_key: str | Callable[[Passage], Any] | None = PrivateAttr()
    _gate: Gate = PrivateAttr()
    _options: PipelineOptions = PrivateAttr()

    def __init__(
        self,
        *,
        judge: JudgeChoice = "default",
        llm: BaseLLM | LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        perspectives: Sequence[Perspective | str] | None = None,
        extractor: Extractor | None = None,
        skip_if: Callable[[str], Any] | None = None,
        dedup_key: DedupKey | None = None,
        callback_manager: CallbackManager | None = None,
        gate: Gate | None = None,
        options: PipelineOptions | None = None,
        **changes: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager or CallbackManager())
        self._options = options_of(options, changes, parameters=_PARAMETERS, without=_SEARCHING)
        self._judge = check_judge(judge)
        self._extractor = extractor_of(extractor, llm)
        self._embed_model = embed_model
        self._perspectives = None if perspectives is None else as_perspectives(perspectives)
        self._skip_if = skip_if
        self._dedup_key = passage_dedup_key(dedup_key)
        self._gate = gate or Gate()
        self._pipeline(QueryBundle(""), ())  # what these parts can never do is said now

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "PerspectivePostprocessor"

    @property
    def options(self) -> PipelineOptions:
        """The options of every call."""
        return self._options

    def report(self, nodes: Sequence[NodeWithScore], query: str | QueryBundle) -> RetrievalResult:
        """The full result of choosing among nodes: passages, coverage, trace."""
        request, flow = self._choice(nodes, bundle_of(query))
        return run(flow, request.recorder, request.limits)

    async def areport(
        self, nodes: Sequence[NodeWithScore], query: str | QueryBundle
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        request, flow = self._choice(nodes, bundle_of(query))
        return await arun(flow, request.recorder, request.limits)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = self._started(nodes, query_bundle)
        return self._ended(self.report(nodes, query) if nodes else None)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = self._started(nodes, query_bundle)
        return self._ended(await self.areport(nodes, query) if nodes else None)

    def _started(self, nodes: list[NodeWithScore], query: QueryBundle | None) -> QueryBundle:
        if query is None:
            raise ConfigError("nodes are judged against a question: pass query_bundle or query_str")
        judge = judge_of(self._judge)
        name = judge.name if judge is not None else "none"
        dispatcher.event(
            ReRankStartEvent(query=query, nodes=nodes, top_n=self._options.k, model_name=name)
        )
        return query

    def _ended(self, result: RetrievalResult | None) -> list[NodeWithScore]:
        chosen = nodes_of(result) if result is not None else []
        dispatcher.event(ReRankEndEvent(nodes=chosen))
        return chosen

    def _choice(
        self, nodes: Sequence[NodeWithScore], query: QueryBundle
    ) -> tuple[Request, Flow[RetrievalResult]]:
        pipeline = self._pipeline(query, nodes)
        request = pipeline.request(query.query_str, fetch_k=max(len(nodes), 1))
        return request, self._flow(pipeline, request, nodes)

    def _flow(
        self, pipeline: PerspectivePipeline, request: Request, nodes: Sequence[NodeWithScore]
    ) -> Flow[RetrievalResult]:
        """The steps of the pipeline that need no search, in its order."""
        extraction = yield from pipeline.extract(request, self._perspectives)
        candidates = _candidates(request, nodes)
        candidates = yield from pipeline.order(request, extraction, candidates)
        candidates = yield from pipeline.judged(request, extraction, candidates)
        return pipeline.result(
            request, extraction, pipeline.select(request, extraction, candidates)
        )

    def _pipeline(self, bundle: QueryBundle, nodes: Sequence[NodeWithScore]) -> PerspectivePipeline:
        model = self._embed_model
        return PerspectivePipeline(
            _Given(nodes, takes_vector=model is not None),
            embedder=LlamaIndexEmbedder(model, bundle=bundle) if model is not None else None,
            judge=judge_of(self._judge),
            extractor=self._extractor,
            skip_if=self._skip_if,
            dedup_key=self._dedup_key,
            gate=self._gate,
            options=self._options,
        )


def _candidates(request: Request, nodes: Sequence[NodeWithScore]) -> list[Candidate]:
    """One candidate for each node, by the place where it comes first."""
    first: dict[str, tuple[Passage, float | None]] = {}
    for item in nodes:
        passage = passage_of(item.node)
        first.setdefault(request.key(passage), (passage, item.score))
    return [
        Candidate(
            passage,
            score=1.0 / rank,
            scores={} if score is None else {"given": float(score)},
        )
        for rank, (passage, score) in enumerate(first.values(), start=1)
    ]


class _Given:
    """The store of a pipeline that is given its candidates: a search finds all, in their order.

    ``takes_vector`` where there is an embedding model: the pipeline then leaves the order of the
    candidates alone, where it would re-order those of a text search.
    """

    takes_vector: bool

    def __init__(self, nodes: Sequence[NodeWithScore], *, takes_vector: bool) -> None:
        self.takes_vector = takes_vector
        self._hits = [Hit(passage_of(item.node)) for item in nodes]

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        return self._hits[:k]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        return self._hits[:k]
