"""One question from top to bottom: extract, expand, search, merge, rank, judge, select, guard, read
again what is to be listed.

Read ``PerspectivePipeline._retrieve`` first: the whole path. Each step is a function of its own:
``pipeline.run_step(search(request, extraction, queries), request)`` runs one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from perspective_rag.answer.answer import ClaimCheck, Tell, answer
from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.sentences import only_reports
from perspective_rag.cover.guard import guard, require_coverage
from perspective_rag.cover.select import check_chosen, select
from perspective_rag.errors import ConfigError, check_components
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limiter
from perspective_rag.flow.request import Request, Telemetry, whole_request
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.second_reading import second_reading
from perspective_rag.judge.support import (
    coverage_of,
    is_judged,
    judge,
    related_to,
    relevance_floor,
    relevance_scale,
    rule_of,
    says_nothing,
)
from perspective_rag.options import Options, PipelineOptions
from perspective_rag.perspectives.cleaning import caution
from perspective_rag.perspectives.find import SkipIf, check_skip_if, extract
from perspective_rag.perspectives.queries import StatementExpander, expand
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.protocols import (
    Answerer,
    Embedder,
    Expander,
    Extractor,
    Judge,
    SecondJudge,
    Selector,
    Store,
)
from perspective_rag.search.candidates import candidates_of, merge, origins, rank, with_similarity
from perspective_rag.search.search import check_capabilities, projection_for, search
from perspective_rag.text import valid
from perspective_rag.types import (
    Answer,
    Candidate,
    DedupKey,
    Extraction,
    Hit,
    Perspective,
    RetrievalResult,
    identity_by,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R")


class PerspectivePipeline:
    """Retrieves passages that cover every perspective of a question, from any store.

    A component is anything that fits its protocol in ``perspective_rag.extend``; its methods may be
    flows or plain functions. The pipeline holds nothing of a request: one instance serves any
    number of threads and event loops.

    Args:
        store: Where passages are searched.
        embedder: Needed by a store that searches by vector; with one that searches by text it ranks
            the candidates by cosine to the question.
        judge: Says which passage supports which perspective. None: nothing is judged, and
            ``result.coverage.judged`` is False.
        second_judge: Reads again what is about to be listed, see ``reread_k``. None: nothing is
            read twice.
        extractor: Finds the perspectives of a question, unless a call gives them. None: rules.
        expander: Turns perspectives into queries. None: ``StatementExpander``.
        answerer: Writes sentences from the passages. None: quotes them (``ExtractiveAnswerer``).
        selector: Chooses the k passages from the judged ones. None: ``PlainFirst``.
        limiter: Limits the calls that all requests together make to models and stores. None: 32 of
            each stage at a time.
        telemetry: Is told what each request does, as ``OpenTelemetry()`` is. None: nobody.
        skip_if: A function of the question; where it is true, the question is searched as it is,
            without perspectives and judge.
        dedup_key: A metadata key, or a function of a passage; passages for which it gives the same
            are one. None: ``passage_key``.
        options: Defaults of every request. None: those of ``PipelineOptions``.
        **changes: Single options of ``PipelineOptions``, changed in ``options``.

    Raises:
        ConfigError: A component or an option cannot be used.
        CapabilityError: An option needs a component that is missing, or a store of another kind.
    """

    def __init__(
        self,
        store: Store,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        second_judge: SecondJudge | None = None,
        extractor: Extractor | None = None,
        expander: Expander | None = None,
        answerer: Answerer | None = None,
        selector: Selector | None = None,
        limiter: Limiter | None = None,
        telemetry: Telemetry | None = None,
        skip_if: SkipIf | None = None,
        dedup_key: DedupKey | None = None,
        options: PipelineOptions | None = None,
        **changes: Unpack[Options],
    ) -> None:
        check_components(store=store, embedder=embedder, judge=judge, extractor=extractor)
        check_components(expander=expander, answerer=answerer, limiter=limiter, telemetry=telemetry)
        check_components(options=options, second_judge=second_judge, selector=selector)
        self.store = store
        self.embedder = embedder
        self.judge = judge
        self.second_judge = second_judge
        self.extractor = extractor or RuleExtractor()
        self.expander = expander or StatementExpander()
        self.answerer = answerer or ExtractiveAnswerer(judge)
        self.selector = selector
        self.limiter = limiter or Limiter()
        self.telemetry = telemetry
        check_skip_if(skip_if)
        self.skip_if = skip_if
        self.identity = identity_by(dedup_key)
        self.options = (options or PipelineOptions()).override(**changes)
        check_capabilities(store, embedder, judge, self.options)

    def __repr__(self) -> str:
        """``PerspectivePipeline(FaissStore, judge=LLMJudge, options=PipelineOptions(k=6))``."""
        components = {"embedder": self.embedder, "judge": self.judge, "extractor": self.extractor}
        parts = [type(self.store).__name__]
        parts += [f"{name}={type(c).__name__}" for name, c in components.items() if c is not None]
        return f"{type(self).__name__}({', '.join(parts)}, options={self.options!r})"

    def retrieve(
        self,
        question: str,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """Retrieves the passages for a question.

        Args:
            question: A non-empty string.
            perspectives: The perspectives, instead of what the extractor would find; strings get
                the ids p1, p2, ...
            filter: Handed to the store with every search, in the store's own form.
            **changes: Options for this call, see ``PipelineOptions``.

        Returns:
            At most k passages, best first, with their verdicts, coverage and trace.

        Raises:
            ConfigError: The question or an option cannot be used.
            CapabilityError: An option needs what the pipeline's components cannot do.
            RetrievalError: Every search failed.
            CoverageError: Under ``coverage="require"``, a perspective stayed uncovered.
        """
        request = self.request(question, filter=filter, **changes)
        return self.run_step(self._retrieve(request, perspectives), request)

    async def aretrieve(
        self,
        question: str,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filter: Any = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """The same as ``retrieve``, without blocking the event loop."""
        request = self.request(question, filter=filter, **changes)
        return await self.arun_step(self._retrieve(request, perspectives), request)

    def choose(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """Chooses the best k of given hits, by the steps that need no search.

        What no given passage supports stays uncovered; only ``discover`` searches the store.

        Args:
            question: A non-empty string.
            hits: Passages that were found elsewhere, best first.
            perspectives: As in ``retrieve``.
            **changes: Options for this call, see ``PipelineOptions``.

        Returns:
            The same as ``retrieve``.

        Raises:
            ConfigError: The question or an option cannot be used.
            CapabilityError: An option needs what the pipeline's components cannot do.
            CoverageError: Under ``coverage="require"``, a perspective stayed uncovered.
        """
        request = self.request(question, **changes)
        return self.run_step(self._choose(request, hits, perspectives), request)

    async def achoose(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        **changes: Unpack[Options],
    ) -> RetrievalResult:
        """The same as ``choose``, without blocking the event loop."""
        request = self.request(question, **changes)
        return await self.arun_step(self._choose(request, hits, perspectives), request)

    def answer(
        self,
        result: RetrievalResult,
        *,
        check_claims: ClaimCheck = "drop",
        on_claim: Tell | None = None,
    ) -> Answer:
        """Writes an answer from the result's passages, with a citation for every sentence.

        Args:
            result: What ``retrieve`` or ``choose`` returned.
            check_claims: What happens to a sentence that its citations do not support, by their
                words or by the judge: "drop" leaves it out, "mark" keeps it with ``verified``
                False, "off" checks nothing.
            on_claim: Called with each sentence as soon as it was checked.

        Returns:
            The sentences, the perspectives that no passage supports, and the trace.

        Raises:
            PerspectiveRAGError: The answerer failed; the message names it.
        """
        request = self.request(result.question)
        step = answer(self.answerer, result, judge=self.judge, check=check_claims, tell=on_claim)
        found = self.run_step(step, request)
        return replace(found, trace=request.recorder.trace())

    async def aanswer(
        self,
        result: RetrievalResult,
        *,
        check_claims: ClaimCheck = "drop",
        on_claim: Tell | None = None,
    ) -> Answer:
        """The same as ``answer``, without blocking the event loop."""
        request = self.request(result.question)
        step = answer(self.answerer, result, judge=self.judge, check=check_claims, tell=on_claim)
        found = await self.arun_step(step, request)
        return replace(found, trace=request.recorder.trace())

    @whole_request
    def _retrieve(
        self, request: Request, given: Sequence[Perspective | str] | None
    ) -> Flow[RetrievalResult]:
        extraction = yield from extract(request, self.extractor, given, skip_if=self.skip_if)
        queries = yield from expand(request, self.expander, extraction)
        rankings = yield from search(request, extraction, queries)
        candidates = yield from merge(request, rankings)
        candidates = yield from rank(request, extraction, candidates)
        candidates = yield from judge(request, extraction, candidates)
        chosen = select(request, extraction, candidates)
        chosen = yield from guard(request, extraction, queries, candidates, chosen)
        chosen = yield from second_reading(request, extraction, candidates, chosen, select)
        chosen = check_chosen(request, chosen)
        origins(queries, chosen)
        chosen = yield from with_similarity(request, extraction.root, chosen)
        return self._result(request, extraction, candidates, chosen)

    @whole_request
    def _choose(
        self, request: Request, hits: Sequence[Hit], given: Sequence[Perspective | str] | None
    ) -> Flow[RetrievalResult]:
        extraction = yield from extract(request, self.extractor, given, skip_if=self.skip_if)
        candidates = candidates_of(request, hits)
        candidates = yield from rank(request, extraction, candidates)
        candidates = yield from judge(request, extraction, candidates)
        chosen = select(request, extraction, candidates)
        chosen = yield from second_reading(request, extraction, candidates, chosen, select)
        chosen = check_chosen(request, chosen)
        return self._result(request, extraction, candidates, chosen)

    def request(self, question: str, *, filter: Any = None, **changes: Unpack[Options]) -> Request:
        """Makes the request that the steps of ``perspective_rag.extend`` take.

        Args:
            question: A non-empty string.
            filter: As in ``retrieve``.
            **changes: Options for this request.

        Returns:
            The request; its ``recorder`` gathers the trace.

        Raises:
            ConfigError: The question or an option cannot be used.
            CapabilityError: An option needs what the pipeline's components cannot do.
        """
        if not isinstance(question, str) or not question.strip():
            raise ConfigError(f"the question must be a non-empty string, got {question!r}")
        options = self.options.override(**changes)
        check_capabilities(self.store, self.embedder, self.judge, options)
        return Request(
            question=valid(" ".join(question.split())),
            options=options,
            store=self.store,
            projection=projection_for(options.projection),
            embedder=self.embedder,
            judge=self.judge,
            second_judge=self.second_judge,
            selector=self.selector,
            filter=filter,
            floor=relevance_floor(self.embedder, options.relevance_floor, options.calibrated),
            scale=relevance_scale(self.embedder, options.calibrated),
            limiter=self.limiter,
            telemetry=self.telemetry,
            identity=self.identity,
        )

    @overload
    def run_step(self, step: Flow[R], request: Request) -> R: ...
    @overload
    def run_step(self, step: R, request: Request) -> R: ...
    def run_step(self, step: Any, request: Request) -> Any:
        """Runs one step alone, within the request's limits.

        Args:
            step: What a step returns, such as ``search(request, extraction, queries)``.
            request: The request that the step was given; its ``recorder`` has the trace.

        Returns:
            The step's result.
        """
        return run(step, request.recorder, request.limits)

    @overload
    async def arun_step(self, step: Flow[R], request: Request) -> R: ...
    @overload
    async def arun_step(self, step: R, request: Request) -> R: ...
    async def arun_step(self, step: Any, request: Request) -> Any:
        """The same as ``run_step``, without blocking the event loop."""
        return await arun(step, request.recorder, request.limits)

    def _result(
        self,
        request: Request,
        extraction: Extraction,
        candidates: Sequence[Candidate],
        chosen: Sequence[Candidate],
    ) -> RetrievalResult:
        """The result with its coverage and trace; raises CoverageError under "require"."""
        about, nothing = related_to(request, [*candidates, *chosen]), False
        if request.floor is not None and about is not None:
            about = about[len(candidates) :]
            if not about.any():
                nothing = says_nothing(request.question, chosen, request.floor)
            if request.options.drop_unrelated:
                chosen = [c for c, there in zip(chosen, about.tolist(), strict=True) if there]
                about = about[about]
        by = self.judge if is_judged(request, extraction) else None
        coverage = coverage_of(
            chosen,
            extraction.perspectives,
            rule_of(request, extraction),
            exclusive=extraction.exclusive,
            about=about,
            scale=request.scale,
            judged=by is not None,
        )
        reported = None
        if by is not None:
            reported = np.array([only_reports(each.passage.text) for each in chosen], dtype=bool)
        result = RetrievalResult(
            question=request.question,
            candidates=tuple(chosen),
            perspectives=extraction.perspectives,
            coverage=coverage,
            trace=request.recorder.trace(),
            reading=extraction.reading,
            kind=extraction.kind,
            related=about,
            caution=caution(request.question, found=bool(extraction.perspectives), judge=by),
            reported=reported,
            says_nothing=nothing,
        )
        if request.options.coverage == "require":
            require_coverage(result)
        return result
