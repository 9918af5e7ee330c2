"""One question from top to bottom: extract, expand, search, merge, order, judge, select, guard.

Read ``PerspectivePipeline._flow`` first: it is the whole path, and what it calls is one file away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perspective_rag.adaptive_search import rank_turned
from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.coverage import coverage_of
from perspective_rag.dedup import DedupKey, identity_by
from perspective_rag.discover import discovered
from perspective_rag.errors import CapabilityError, ConfigError, CoverageError
from perspective_rag.expand.statements import StatementExpander, unique_queries
from perspective_rag.extract.rules import RuleExtractor, as_perspectives
from perspective_rag.extract.skip import SkipIf, check_skip_if, skips
from perspective_rag.flow import Flow, arun, degrade, run
from perspective_rag.gate import Gate
from perspective_rag.guard import guard
from perspective_rag.judging import judge_best_first
from perspective_rag.merge import merge
from perspective_rag.options import PipelineOptions
from perspective_rag.ordering import order_by_relevance
from perspective_rag.protocols import (
    Answerer,
    Embedder,
    Expander,
    Extractor,
    Judge,
    KeepsEmbeddings,
    Store,
)
from perspective_rag.request import Request, books
from perspective_rag.rerank import rerank_by_stance, stance_asked
from perspective_rag.search import rescore, search_all
from perspective_rag.selection import select
from perspective_rag.types import Answer, Candidate, Extraction, Perspective, Query, RetrievalResult


class PerspectivePipeline:
    """Retrieves passages that cover every perspective of a question, from any store.

    ``store`` and ``judge`` are anything that fits ``protocols``. ``embedder`` is needed by a store
    that searches by vector; with a store that searches by text it re-orders the candidates by
    cosine to the question. Without a ``judge`` nothing is judged and ``result.coverage`` is None.
    Perspectives come from ``extractor`` (rules by default) unless a call gives them; ``expander``
    turns them into queries; ``answerer`` puts a result into sentences (default: the passages' own).

    ``skip_if(question)``: where it is true, the question is searched as it is, without perspectives
    and judge. ``dedup_key``: a metadata key, or a function of a passage; passages for which it
    gives the same are one (default: ``passage_key``).

    Options are those of ``PipelineOptions``, here and at each call. The pipeline holds nothing of a
    request: one instance serves any number of threads and event loops, whose calls to models and
    stores all pass its ``gate`` (default: 32 of each stage at a time).
    """

    def __init__(
        self,
        store: Store,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        extractor: Extractor | None = None,
        expander: Expander | None = None,
        answerer: Answerer | None = None,
        gate: Gate | None = None,
        skip_if: SkipIf | None = None,
        dedup_key: DedupKey | None = None,
        options: PipelineOptions | None = None,
        **changes: Any,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.judge = judge
        self.extractor = extractor or RuleExtractor()
        self.expander = expander or StatementExpander()
        self.answerer = answerer or ExtractiveAnswerer(judge)
        self.gate = gate or Gate()
        check_skip_if(skip_if)
        self.skip_if = skip_if
        self.identity = identity_by(dedup_key)
        self.options = (options or PipelineOptions()).override(**changes)
        self._check(self.options)

    def retrieve(
        self,
        question: str,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **changes: Any,
    ) -> RetrievalResult:
        """The passages for a question.

        ``perspectives`` replaces what the extractor would find; ``filter`` is handed to the store
        with every search; further keywords are options. Raises ConfigError for a question or option
        that cannot be used, RetrievalError when every search failed, CoverageError under the policy
        "require".
        """
        request = self.request(question, filter=filter, **changes)
        return run(self._flow(request, perspectives), request.recorder, request.limits)

    async def aretrieve(
        self,
        question: str,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **changes: Any,
    ) -> RetrievalResult:
        """The same as ``retrieve``, without blocking the event loop."""
        request = self.request(question, filter=filter, **changes)
        return await arun(self._flow(request, perspectives), request.recorder, request.limits)

    def answer(self, result: RetrievalResult) -> Answer:
        """An answer from the result's passages, every sentence with its citation."""
        recorder, limits = books(self.options, self.gate)
        answer = run(self.answerer.answer(result), recorder, limits)
        return replace(answer, trace=recorder.trace())

    async def aanswer(self, result: RetrievalResult) -> Answer:
        """The same as ``answer``, without blocking the event loop."""
        recorder, limits = books(self.options, self.gate)
        answer = await arun(self.answerer.answer(result), recorder, limits)
        return replace(answer, trace=recorder.trace())

    def _flow(
        self, request: Request, given: Sequence[Perspective | str] | None
    ) -> Flow[RetrievalResult]:
        extraction = yield from self.extract(request, given)
        queries = yield from self.expand(request, extraction)
        candidates = yield from self.search(request, extraction, queries)
        candidates = yield from self.order(request, extraction, candidates)
        candidates = yield from self.reranked(request, extraction, candidates)
        candidates = yield from self.judged(request, extraction, candidates)
        chosen = self.select(request, extraction, candidates)
        chosen = yield from self.guarded(request, extraction, candidates, chosen)
        return self.result(request, extraction, chosen)

    # Each step is a flow and can be driven alone: run(pipeline.search(request, extraction,
    # queries)).

    def request(self, question: str, *, filter: Any = None, **changes: Any) -> Request:
        """The books and settings of one question; raises ConfigError for what cannot be used."""
        if not isinstance(question, str) or not question.strip():
            raise ConfigError(f"the question must be a text that is not empty, got {question!r}")
        options = self.options.override(**changes)
        self._check(options)
        threshold = options.min_support
        if threshold is None:
            threshold = self.judge.threshold if self.judge is not None else 0.5
        text = " ".join(question.split())
        return Request(text, options, filter, threshold, self.gate, self.identity)

    def extract(
        self, request: Request, given: Sequence[Perspective | str] | None = None
    ) -> Flow[Extraction]:
        """Step 1: the perspectives: given, found by the extractor, or taken from the passages
        (``discover``); none where the question invites none, which the trace's decisions say.
        """
        skipped = yield from skips(request, self.skip_if)
        if skipped:
            return Extraction(request.question)
        if given is not None:
            return Extraction(request.question, as_perspectives(given))
        try:
            extraction = yield from self.extractor.extract(request.question)
        except Exception as error:
            yield from degrade("extract", f"no perspectives could be found: {error!r}", error)
            return Extraction(request.question)
        if request.options.discover and self.judge and not extraction.perspectives:
            extraction = yield from discovered(
                request, self.store, self.embedder, self.judge, extraction
            )
        if not extraction.perspectives:
            verdict = {"stage": "extract", "query": request.question, "verdict": "no perspectives"}
            request.recorder.decisions.append(verdict)
        return extraction

    def expand(self, request: Request, extraction: Extraction) -> Flow[list[Query]]:
        """Step 2: the queries to search with; the question itself is always the first."""
        queries: list[Query] = []
        if extraction.perspectives:
            try:
                queries = yield from self.expander.expand(extraction.root, extraction.perspectives)
            except Exception as error:
                yield from degrade("expand", f"only the question is searched: {error!r}", error)
        queries = unique_queries(extraction.root, queries, limit=request.options.max_queries)
        request.recorder.queries.extend(queries)
        return queries

    def search(
        self, request: Request, extraction: Extraction, queries: Sequence[Query]
    ) -> Flow[list[Candidate]]:
        """Steps 3 to 5: embed and project the queries, search them all at once, merge what they
        found.
        """
        rankings = yield from search_all(request, self.store, self.embedder, extraction, queries)
        rankings = yield from rescore(request, self.store, self.embedder, rankings)
        rankings = yield from rank_turned(request, self.store, self.embedder, rankings)
        return merge(rankings, fusion=request.options.fusion, key=request.key)

    def order(
        self, request: Request, extraction: Extraction, candidates: list[Candidate]
    ) -> Flow[list[Candidate]]:
        """Step 6: by relevance; by cosine where only text was searched, by MMR where it is asked
        for.
        """
        return order_by_relevance(request, self.store, self.embedder, extraction.root, candidates)

    def reranked(
        self, request: Request, extraction: Extraction, candidates: list[Candidate]
    ) -> Flow[list[Candidate]]:
        """Step 6b, under ``rerank="stance"``: what takes the side asked for comes first."""
        asked = stance_asked(extraction) if request.options.rerank == "stance" else None
        if asked is None or self.judge is None:
            return candidates
        best = yield from rerank_by_stance(
            self.judge, asked, candidates, limit=request.options.judge_k
        )
        return best

    def judged(
        self, request: Request, extraction: Extraction, candidates: list[Candidate]
    ) -> Flow[list[Candidate]]:
        """Step 7: the candidates with their support of each perspective, best first and within the
        budget.
        """
        judge = self._judge_for(request, extraction)
        if judge is None:
            return candidates
        judged = yield from judge_best_first(
            judge,
            extraction.perspectives,
            candidates,
            k=request.options.k,
            limit=request.options.judge_k,
            threshold=request.threshold,
        )
        return judged

    def select(
        self, request: Request, extraction: Extraction, candidates: Sequence[Candidate]
    ) -> list[Candidate]:
        """Step 8: k passages, by relevance and by what they add to the coverage."""
        perspectives = extraction.perspectives
        by_stance = request.options.rerank == "stance" and stance_asked(extraction) is not None
        if by_stance or self._judge_for(request, extraction) is None:
            perspectives = ()  # the candidates' order says it all
        return select(candidates, perspectives, request.options, threshold=request.threshold)

    def guarded(
        self,
        request: Request,
        extraction: Extraction,
        candidates: list[Candidate],
        chosen: list[Candidate],
    ) -> Flow[list[Candidate]]:
        """Step 9: fetches again for perspectives that the chosen passages leave uncovered."""
        judge = self._judge_for(request, extraction)
        if judge is None:
            return chosen
        guarded = yield from guard(
            request, self.store, self.embedder, judge, extraction, candidates, chosen
        )
        return guarded

    def result(
        self, request: Request, extraction: Extraction, chosen: Sequence[Candidate]
    ) -> RetrievalResult:
        """The result with its coverage and trace; raises CoverageError under "require"."""
        coverage = None
        if self._judge_for(request, extraction) is not None:
            coverage = coverage_of(chosen, extraction.perspectives, request.threshold)
        result = RetrievalResult(
            question=request.question,
            candidates=tuple(chosen),
            perspectives=extraction.perspectives,
            coverage=coverage,
            trace=request.recorder.trace(),
        )
        required = request.options.coverage == "require" and bool(extraction.perspectives)
        if required and (coverage is None or not coverage.complete):
            lacking = (
                (*coverage.missing, *coverage.unjudged) if coverage else extraction.perspectives
            )
            texts = "; ".join(perspective.text for perspective in lacking)
            raise CoverageError(f"no passage was found that supports: {texts}", result=result)
        return result

    def _judge_for(self, request: Request, extraction: Extraction) -> Judge | None:
        """The judge, where there is something for it to judge."""
        asked = request.options.coverage != "off" and bool(extraction.perspectives)
        return self.judge if asked else None

    def _check(self, options: PipelineOptions) -> None:
        """Raises CapabilityError for what these components can never do."""
        if self.store.takes_vector and self.embedder is None:
            raise CapabilityError("this store searches by vector: pass embedder=")
        if options.projection != "none" and not self.store.takes_vector:
            raise CapabilityError(
                f"projection={options.projection!r} turns vectors, and this store searches by text "
                "only: use a store that searches by vector, or projection='none'"
            )
        has_vectors = self.embedder is not None or isinstance(self.store, KeepsEmbeddings)
        if options.relevance_weight < 1.0 and not has_vectors:
            raise CapabilityError(
                "relevance_weight below 1.0 compares passages by their vectors: pass embedder="
            )
        if options.rerank == "stance" and self.judge is None:
            raise CapabilityError('rerank="stance" asks a judge: pass judge=')
        if options.discover and self.judge is None:
            raise CapabilityError("discover compares what the passages say: pass judge=")
        if options.coverage == "require" and self.judge is None:
            raise CapabilityError('coverage="require" needs a judge: pass judge=')
