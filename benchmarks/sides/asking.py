"""Pipelines with a watched judge, and those of the pools."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sides.data import OPPOSITE, STATEMENT, PoolQuestion, Pools
from benchmarks.sides.reading import OTHER, Outcome, SideOf, outcome_of
from perspective_rag import (
    CachedJudge,
    Corpus,
    ListingRule,
    Passage,
    Perspective,
    PerspectivePipeline,
    RetrievalResult,
    local_pipeline,
)
from perspective_rag.addons import cosine
from perspective_rag.extend import (
    Embedder,
    Flow,
    Judge,
    JudgesSides,
    Matrix,
    SecondJudge,
    Selector,
    Vector,
    complete,
    judge_table,
)


class WatchedJudge:
    """A judge that remembers what it was asked: ``seen`` maps (text of the perspective, passage id)
    to P(support). All else is the judge's own.
    """

    def __init__(self, judge: Judge) -> None:
        self.inner = judge
        self.seen: dict[tuple[str, str], float] = {}

    @property
    def name(self) -> str:
        """The judge's own name."""
        return self.inner.name

    @property
    def threshold(self) -> float:
        """The judge's own threshold."""
        return self.inner.threshold

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """What the judge says, shape (n_passages, n_perspectives)."""
        table = yield from judge_table(self.inner, perspectives, passages)
        for passage, row in zip(passages, table, strict=True):
            for perspective, value in zip(perspectives, row, strict=True):
                self.seen[perspective.text, passage.id] = float(value)
        return table

    @property
    def sides_listing(self) -> ListingRule | None:
        """The judge's own, where it reads two sides together."""
        return getattr(self.inner, "sides_listing", None)

    def judge_sides(
        self, sides: tuple[Perspective, Perspective], passages: Sequence[Passage], relevance: Vector
    ) -> Flow[Matrix]:
        """What the judge says of two sides read together, shape (n_passages, 2)."""
        assert isinstance(self.inner, JudgesSides)
        flow = self.inner.judge_sides(sides, passages, relevance)
        table: Matrix = yield from complete(flow, f"judge {self.name!r}", "shape (n, 2)")
        for passage, row in zip(passages, table, strict=True):
            for perspective, value in zip(sides, row, strict=True):
                self.seen[perspective.text, passage.id] = float(value)
        return table

    def __getattr__(self, name: str) -> Any:
        if name == "judge_pairs":  # pairs are to come as tables, which are watched
            raise AttributeError(name)
        return getattr(self.inner, name)


class Bench:
    """Pipelines as a user gets them, with one judge that is watched.

    ``judge`` None: the one that ``local_pipeline`` comes with. Verdicts (of a judge that has a
    ``revision``) and embeddings are kept in ``cache``; None keeps nothing.
    """

    def __init__(
        self, embedder: Embedder, judge: Judge | None, cache: Path | None, *, strict: bool = False
    ) -> None:
        self.embedder, self.strict = embedder, strict
        self._cache = cache
        if judge is None:
            any_corpus = Corpus([Passage("any", "Any text.")])
            default = local_pipeline(any_corpus, cache=cache, embedder=embedder).judge
            assert default is not None
            judge = default
        if cache is not None and getattr(judge, "revision", None):
            judge = CachedJudge(judge, cache / "verdicts.sqlite")
        self.judge = WatchedJudge(judge)

    def over(
        self,
        corpus: Corpus,
        *,
        dense: bool = False,
        selector: Selector | None = None,
        second_judge: SecondJudge | None = None,
    ) -> PerspectivePipeline:
        """The pipeline over a corpus; ``dense`` searches by vector."""
        judge: Any = self.judge
        return local_pipeline(
            corpus,
            cache=self._cache,
            dense=dense,
            embedder=self.embedder,
            judge=judge,
            second_judge=second_judge,
            selector=selector,
        )

    def retrieve(
        self,
        pipeline: PerspectivePipeline,
        question: str,
        perspectives: Sequence[str] | None,
        side_of: SideOf,
        **options: Any,
    ) -> tuple[Outcome, RetrievalResult]:
        """What a pipeline makes of a question, timed; ``side_of`` as in ``outcome_of``."""
        self.judge.seen.clear()
        started = time.perf_counter()
        result = pipeline.retrieve(
            question,
            perspectives=None if perspectives is None else list(perspectives),
            strict=self.strict,
            **options,
        )
        seconds = round(time.perf_counter() - started, 6)
        return outcome_of(result, side_of, pairs=len(self.judge.seen), seconds=seconds), result


class PoolBench(Bench):
    """A bench with the pipelines of the pools: one for each question, over its own passages alone,
    made when it is first needed.

    Without a ``cache`` it is made anew each time: passages are embedded (but for ``dense``, which
    has them embedded beforehand) and judged within the seconds of each question.
    """

    def __init__(
        self,
        pools: Pools,
        embedder: Embedder,
        judge: Judge | None,
        cache: Path | None,
        *,
        strict: bool = False,
    ) -> None:
        super().__init__(embedder, judge, cache, strict=strict)
        self.pools = pools
        self._pipelines: dict[tuple[str, bool, Selector | None], PerspectivePipeline] = {}
        self._near: dict[str, tuple[Outcome, Matrix]] = {}

    def pipeline(
        self, question: PoolQuestion, *, dense: bool = False, selector: Selector | None = None
    ) -> PerspectivePipeline:
        """The pipeline over the pool of a question."""
        key = (question.id, dense, selector)
        known = self._pipelines.get(key)
        if known is None:
            corpus = self.pools.corpus(question)
            known = self.over(corpus, dense=dense, selector=selector)
            if self._cache is not None:
                self._pipelines[key] = known
        return known

    def ask(
        self, pipeline: PerspectivePipeline, question: PoolQuestion, **options: Any
    ) -> tuple[Outcome, RetrievalResult]:
        """A question with its two statements as the perspectives."""
        sides = {question.statement: STATEMENT, question.opposite: OPPOSITE}
        return self.retrieve(
            pipeline,
            question.question,
            question.statements,
            lambda text: sides.get(text, OTHER),
            **options,
        )

    def nearness(self, question: PoolQuestion) -> tuple[Outcome, Matrix]:
        """All that the search for the question finds, and the cosines of these passages to the
        question and its two statements, shape (n, 3), those below 0 as 0.
        """
        if question.id in self._near:
            return self._near[question.id]
        pipeline = self.pipeline(question)
        everything = {"k": len(question.labels), "coverage": "off", "max_queries": 1}
        outcome, result = self.ask(pipeline, question, **everything)
        started = time.perf_counter()
        embedder = pipeline.embedder
        assert embedder is not None
        near = cosine(
            np.asarray(embedder.embed_passages([each.titled for each in result.passages])),
            np.asarray(embedder.embed_queries([question.question, *question.statements])),
        ).clip(0.0, 1.0)
        seconds = outcome.seconds + time.perf_counter() - started
        found = replace(outcome, seconds=round(seconds, 6)), near
        if self._cache is not None:
            self._near[question.id] = found
        return found
