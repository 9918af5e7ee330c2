"""The arithmetic of one question, without models and stores: the library's own share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from benchmarks.latency.timing import alternately, percentiles
from perspective_rag import (
    Candidate,
    Hit,
    ListingRule,
    Passage,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    Query,
    passage_key,
)
from perspective_rag.addons import cosine, normalised
from perspective_rag.cover.select import choose
from perspective_rag.extend import Flow, Matrix, Vector
from perspective_rag.maths.projection import project_query, projected_scores
from perspective_rag.maths.ranking import mmr
from perspective_rag.search.candidates import fuse
from perspective_rag.search.search import Ranking

DIMENSIONS = 384
FETCH_K = 100
PERSPECTIVES = 4
PASSAGES = 300
K = 5
JUDGED = 25
METHOD: Final = "pap+"
MMR_LAMBDA = 0.75
TARGET_MS = 5.0

QUESTION = "a question"


class Problem:
    """Random unit vectors in the shape of one question; also the store, embedder and judge of it.

    Each of five queries finds 100 of 300 passages, so that their lists overlap as in practice.
    """

    takes_vector = True
    name = "random"
    threshold = 0.5

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.rows: Matrix = normalised(generator.standard_normal((PASSAGES, DIMENSIONS)))
        self.perspectives = [Perspective(f"p{i}", f"side {i}") for i in range(PERSPECTIVES)]
        texts = [QUESTION, *(perspective.text for perspective in self.perspectives)]
        vectors = normalised(generator.standard_normal((len(texts), DIMENSIONS)))
        self.vectors: dict[str, Vector] = dict(zip(texts, vectors, strict=True))
        passages = [Passage(f"passage {i}", f"text {i}") for i in range(PASSAGES)]
        self.hits: dict[str, list[Hit]] = {}
        for text, vector in self.vectors.items():
            found = generator.permutation(PASSAGES)[:FETCH_K]
            scores = self.rows[found] @ vector
            order = np.argsort(-scores)
            self.hits[text] = [
                Hit(passages[found[i]], float(scores[i]), self.rows[found[i]]) for i in order
            ]
        self.support = generator.random((JUDGED, PERSPECTIVES)) * 0.6

    def rankings(self) -> list[Ranking]:
        """The five lists of hits."""
        owners = [None, *(perspective.id for perspective in self.perspectives)]
        return [
            Ranking(Query(text, owner), hits)
            for (text, hits), owner in zip(self.hits.items(), owners, strict=True)
        ]

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The vectors made in advance."""
        return np.array([self.vectors[text] for text in texts])

    embed_passages = embed_queries

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The hits made in advance."""
        return self.hits[text]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same."""
        return self.hits[text]

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Probabilities made in advance, so low that judging goes on to its limit."""
        return self.support[: len(passages)]
        yield  # a flow that needs no step


def measure(seed: int, *, seconds: float) -> dict[str, Any]:
    """Times of each pure step, of all together, and of what the pipeline adds to its calls."""
    problem = Problem(seed)
    steps = _Steps(problem)
    parts = {
        "projection": steps.project,
        "merge": steps.merge,
        "MMR": steps.mmr,
        "selection": steps.select,
    }
    share = seconds / (len(parts) + 2)
    result = {
        name: percentiles(alternately([step], seconds=share)[0]) for name, step in parts.items()
    }
    together = alternately([lambda: [step() for step in parts.values()]], seconds=share)[0]
    result["all together"] = percentiles(together)
    result["pipeline, without its calls"] = percentiles(_own_time(problem, seconds=share))
    return {
        "steps": result,
        "target_ms": TARGET_MS,
        "met": result["all together"]["p50_ms"] < TARGET_MS,
        "shape": {
            "d": DIMENSIONS,
            "fetch_k": FETCH_K,
            "perspectives": PERSPECTIVES,
            "projection": METHOD,
            "mmr_lambda": MMR_LAMBDA,
            "judged": JUDGED,
            "k": K,
        },
    }


class _Steps:
    """The library's functions on one problem, each with the input that the step before it gives."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._question = problem.vectors[QUESTION]
        self._rankings = problem.rankings()
        self._head = self.merge()[:FETCH_K]
        self._vectors = np.array([c.embedding for c in self._head])
        self._judged = [
            replace(c, support=self._row(i)) if i < JUDGED else c for i, c in enumerate(self._head)
        ]
        self._options = PipelineOptions(k=K, fetch_k=FETCH_K)

    def project(self) -> None:
        """Every perspective's query turned towards it, and its hits scored anew."""
        for perspective in self._problem.perspectives:
            own = self._problem.vectors[perspective.text]
            rows = np.array([hit.embedding for hit in self._problem.hits[perspective.text]])
            direction = own - self._question
            project_query(METHOD, own, self._question, direction)
            projected_scores(METHOD, rows, own, self._question, direction)

    def merge(self) -> list[Candidate]:
        """Five lists of 100 into one."""
        keys = [[passage_key(hit.passage) for hit in each.hits] for each in self._rankings]
        return fuse(self._rankings, keys, "seats")

    def mmr(self) -> None:
        """The first 100 by MMR over their cosine to the question."""
        relevance = cosine(self._vectors, self._question[None, :])[:, 0]
        mmr(relevance, self._vectors, len(self._vectors), mmr_lambda=MMR_LAMBDA)

    def select(self) -> None:
        """Five of 100 by relevance and support."""
        choose(self._judged, self._problem.perspectives, self._options, rule=ListingRule(0.5, 0.5))

    def _row(self, place: int) -> dict[str, float]:
        values = self._problem.support[place].tolist()
        return {p.id: v for p, v in zip(self._problem.perspectives, values, strict=True)}


def _own_time(problem: Problem, *, seconds: float) -> list[float]:
    """Milliseconds of whole requests less what their calls took: flows, threads and arithmetic."""
    pipeline = PerspectivePipeline(
        problem,
        embedder=problem,
        judge=problem,
        k=K,
        fetch_k=FETCH_K,
        projection=METHOD,
        mmr_lambda=MMR_LAMBDA,
        guard_searches=0,
        judge_k=JUDGED,
        strict=True,
    )
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < 5:
        started = time.perf_counter()
        result = pipeline.retrieve(QUESTION, perspectives=problem.perspectives)
        total = time.perf_counter() - started
        taken.append(1000 * (total - sum(result.trace.seconds.values())))
    return taken
