"""The ways of getting a set of passages: the paper's four, and the pipeline stage by stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from benchmarks.berds.questions import Question
from benchmarks.berds.retrievers import Ask, Retriever
from perspective_rag import (
    Hit,
    NoExpansion,
    Passage,
    PerspectivePipeline,
    StatementExpander,
    passage_key,
)
from perspective_rag.extend import Embedder, Expander, Judge, unknown_name
from perspective_rag.maths.ranking import mmr, round_robin

POOL = 100
LAMBDAS = (0.5, 0.75, 0.9, 0.95, 0.99)
"""The grid of the paper, Appendix A.6."""

DEFAULT = "default"
PAPER = (DEFAULT, "mmr", "expansion", "expansion + mmr")
PIPELINE: Mapping[str, Mapping[str, Any]] = {
    "pipeline": {},
    "pipeline, no guard": {"guard_searches": 0},
    "pipeline, no expansion": {"expands": False},
    "pipeline, no judge": {"coverage": "off"},
}
"""The pipeline with its defaults, and without one stage at a time."""

APPROACHES = (*PAPER, *PIPELINE)

Passages = list[Passage]


def check_approaches(names: Sequence[str]) -> None:
    """Raises ConfigError for a name that does not exist."""
    for name in names:
        if name not in APPROACHES:
            raise unknown_name(name, APPROACHES, "approach")


@dataclass(frozen=True, slots=True)
class Found:
    """What one approach gave for one question: rankings by k, and what it cost.

    ``rankings`` has one ranking for each k the approach was run with; the paper's approaches have
    one of up to ``POOL`` passages, of which any k is a beginning.
    """

    rankings: Mapping[int, Passages]
    seconds: float = 0.0
    judged_pairs: int = 0
    searches: int = 0
    degradations: tuple[str, ...] = ()

    def ranking(self, k: int) -> Passages:
        """The first k passages of the smallest ranking that was made for at least k."""
        sizes = [size for size in self.rankings if size >= k]
        return self.rankings[min(sizes)][:k] if sizes else []

    @property
    def depth(self) -> int:
        """The largest k there is a ranking for."""
        return max(self.rankings, default=0)


def identified(hits: Sequence[Hit]) -> list[Hit]:
    """The hits with ids that are never empty, none twice: the first of its passage is kept."""
    by_key: dict[str, Hit] = {}
    for hit in hits:
        key = passage_key(hit.passage)
        by_key.setdefault(key, replace(hit, passage=replace(hit.passage, id=key)))
    return list(by_key.values())


def rankings_of(retriever: Retriever, asks: Sequence[Ask], k: int = POOL) -> list[list[Hit]]:
    """One ranking for each query, with ids that identify passages."""
    return [identified(hits) for hits in retriever.rankings(asks, k)]


def expansion_asks(question: Question, written: Sequence[str], *, as_published: bool) -> list[Ask]:
    """The queries of query expansion: each generated perspective.

    ``as_published`` puts the question before each, as the authors' code does.
    """
    lead = f"{question.text} " if as_published else ""
    return [Ask(lead + text, question) for text in written]


def expanded(rankings: Sequence[Sequence[Hit]], *, as_published: bool) -> list[Hit]:
    """The rankings of the perspectives in turn, in the order they were written, the first POOL.

    A passage counts once (paper, section 6), at its best score; ``as_published`` keeps repeats.
    """
    best: dict[str, Hit] = {}
    for hit in (hit for ranking in rankings for hit in ranking):
        known = best.get(hit.passage.id)
        if known is None or (hit.score or 0.0) > (known.score or 0.0):
            best[hit.passage.id] = hit
    ids = [[hit.passage.id for hit in ranking] for ranking in rankings]
    if not as_published:
        return [best[each] for each in round_robin(ids)[:POOL]]
    repeated = [each for turn in zip_longest(*ids) for each in turn if each is not None]
    return [best[each] for each in repeated[:POOL]]


def sim1(hits: Sequence[Hit]) -> list[float]:
    """The retriever's scores; where it gives none, 1 - rank / n, which keeps its order."""
    if any(hit.score is None or not math.isfinite(hit.score) for hit in hits):
        return [1.0 - rank / len(hits) for rank in range(len(hits))]
    return [float(hit.score or 0.0) for hit in hits]


def highest_score(rankings: Sequence[Sequence[Hit]]) -> float | None:
    """The maximum of Sim1 over a whole data set, by which it is divided; None when not above 0."""
    highest = max((value for hits in rankings for value in sim1(hits)), default=0.0)
    return highest if highest > 0 else None


def reranked(
    hits: Sequence[Hit],
    embedder: Embedder,
    *,
    mmr_lambda: float,
    maximum: float | None,
    as_published: bool,
) -> list[Hit]:
    """The hits in the order of MMR (paper, Equation 1), Sim2 the cosine of ``embedder``.

    Sim1 is divided by ``maximum``, the highest score of the data set (Appendix A.6).
    ``as_published`` divides by the question's own highest score, starts with the retriever's
    first, and compares text and title together, as the authors' code does.
    """
    unique = list({hit.passage.id: hit for hit in hits}.values())
    if not unique:
        return []
    texts = [_sim2_text(hit.passage, as_published) for hit in unique]
    values = np.array(sim1(unique))
    highest = float(values.max()) if as_published and values.max() > 0 else maximum
    selection = mmr(
        values / (highest or max(float(values.max()), 0.0) or 1.0),
        embedder.embed_passages(texts),
        len(unique),
        mmr_lambda=mmr_lambda,
        first_pick="relevance" if as_published else "criterion",
    )
    return [unique[i] for i in selection.indices]


def _sim2_text(passage: Passage, as_published: bool) -> str:
    return f"{passage.text} {passage.title}" if as_published and passage.title else passage.text


def pipeline_found(
    name: str,
    question: Question,
    retriever: Retriever,
    selector: Judge | None,
    *,
    cuts: Sequence[int],
    strict: bool,
    clock: Callable[[], float],
    options: Mapping[str, Any] | None = None,
) -> Found:
    """What the pipeline over the retriever's store returns, once for each k of ``cuts``.

    ``options`` go before its defaults.
    """
    options = {"fetch_k": POOL, **PIPELINE[name], **(options or {})}
    expander: Expander = StatementExpander() if options.pop("expands", True) else NoExpansion()
    store, embedder = retriever.store(question)
    judge = None if options.get("coverage") == "off" else selector
    pipeline = PerspectivePipeline(
        store, embedder=embedder, judge=judge, expander=expander, **options
    )
    rankings: dict[int, Passages] = {}
    pairs = searches = 0
    problems: list[str] = []
    started = clock()
    for k in cuts:
        result = pipeline.retrieve(question.text, k=k, strict=strict)
        hits = [Hit(candidate.passage) for candidate in result.candidates]
        rankings[k] = [hit.passage for hit in identified(hits)]
        pairs += result.trace.counts.get("judged_pairs", 0)
        searches += result.trace.calls.get("search", 0)
        problems += [f"{each.stage}: {each.message}" for each in result.trace.degradations]
    share = len(cuts)
    return Found(
        rankings, (clock() - started) / share, pairs // share, searches // share, tuple(problems)
    )
