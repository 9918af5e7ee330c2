"""The re-ordering by stance on the scores of a task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.pir.tasks import Task
from perspective_rag import (
    Candidate,
    ConfigError,
    Extraction,
    Passage,
    Perspective,
    PipelineOptions,
    run,
)
from perspective_rag.addons import Recorder, as_vector, extract_by_rule
from perspective_rag.extend import Flow, Judge, Matrix, Vector
from perspective_rag.judge.support import judge_best_first

BEFORE = 10.0
"""Added to the scores of re-ordered documents: above every cosine."""


def stance_asked(extraction: Extraction) -> Perspective | None:
    """The side of a claim that a question asks for ("find a claim that opposes: X"), or None.

    None where several sides are asked for: then coverage, not one side, is what is wanted.
    """
    if len(extraction.perspectives) != 1:
        return None
    (perspective,) = extraction.perspectives
    return perspective if perspective.stance is not None and perspective.claim else None


def stance_scores(relevance: ArrayLike, support: ArrayLike) -> Vector:
    """max(0, relevance) P(stance): wanted is what is relevant and takes the side, so both count.

    ``relevance`` has shape (n,), higher is better, in any unit, since a factor common to all
    changes no order. ``support`` (n,) is in [0, 1]; NaN, where the judge gave no answer, counts as
    the mean of the others, so that a passage is neither raised nor lowered for it (1 where none was
    judged: the order of relevance). Raises ConfigError for shapes that differ and values outside.
    """
    near = as_vector(relevance, "relevance")
    sides = np.asarray(support, dtype=np.float64)
    if sides.shape != near.shape:
        raise ConfigError(f"support has shape {sides.shape}, relevance {near.shape}")
    judged = ~np.isnan(sides)
    if np.any((sides[judged] < 0.0) | (sides[judged] > 1.0)):
        raise ConfigError("support holds values outside [0, 1]")
    unknown = float(sides[judged].mean()) if judged.any() else 1.0
    scores: Vector = np.maximum(near, 0.0) * np.where(judged, sides, unknown)
    return scores


def rerank_by_stance(
    judge: Judge, asked: Perspective, candidates: Sequence[Candidate], *, limit: int
) -> Flow[list[Candidate]]:
    """The first ``limit`` candidates by ``stance_scores``; the others follow in their order.

    The judge is asked in batches, and the pairs are counted in the trace. What it could not judge
    is recorded and keeps the place that its relevance gives it; when it fails throughout, the order
    is the old one. Relevance is the best score of the searches, or 1 / log2(1 + place) where scores
    are missing or not above 0. ``scores`` gains ``stance``.
    """
    head = yield from judge_best_first(
        judge, [asked], candidates[:limit], k=limit, limit=limit, rule=None
    )
    support = [c.support.get(asked.id, math.nan) for c in head]
    if all(math.isnan(value) for value in support):
        return list(candidates)
    values = stance_scores(_relevance(head), support)
    order = np.argsort(-values, kind="stable")
    best = [
        replace(
            head[i], score=float(values[i]), scores={**head[i].scores, "stance": float(values[i])}
        )
        for i in order
    ]
    return [*best, *candidates[limit:]]


def _relevance(candidates: Sequence[Candidate]) -> Vector:
    found = [
        max(
            (v for name, v in c.scores.items() if name == "relevance" or name[:7] == "search:"),
            default=0.0,
        )
        for c in candidates
    ]
    if min(found, default=0.0) > 0.0:
        return np.array(found)
    places: Vector = 1.0 / np.log2(np.arange(2, len(candidates) + 2))
    return places


def sides_asked(task: Task) -> list[Perspective | None]:
    """For each query the side of its root that its text asks for, as the rules read it."""
    return [stance_asked(extract_by_rule(query.text)) for query in task.queries]


def reranked(
    judge: Judge,
    task: Task,
    scores: Matrix,
    *,
    limit: int | None = None,
    book: Recorder | None = None,
) -> tuple[Matrix, int]:
    """The scores with the first ``limit`` of each query re-ordered by stance, and the pairs judged.

    ``scores`` (n_queries, n_corpus) stand for relevance. A query whose text asks for no side, as
    the rules read it, keeps its row. ``limit`` None: the pipeline's ``judge_k``. ``book`` records
    what could not be judged.
    """
    book = book or Recorder()
    most = PipelineOptions().judge_k if limit is None else limit
    result, pairs = np.array(scores), 0
    for row, asked in zip(result, sides_asked(task), strict=True):
        if asked is None:
            continue
        best = np.argsort(-row, kind="stable")[:most]
        candidates = [
            Candidate(Passage(str(i), task.corpus[i]), 0.0, {"relevance": float(row[i])})
            for i in best
        ]
        ordered = run(rerank_by_stance(judge, asked, candidates, limit=most), book)
        for candidate in ordered:
            row[int(candidate.passage.id)] = BEFORE + candidate.score
        pairs += len(candidates)
    return result, pairs


def other_gold(task: Task) -> dict[int, frozenset[int]]:
    """For each query that asks for a side, the documents that are gold for the other side of its
    root and not for its own.
    """
    asked = sides_asked(task)
    found = {}
    for places in task.roots.values():
        for place in places:
            if (side := asked[place]) is None:
                continue
            others = [p for p in places if (a := asked[p]) is not None and a.stance != side.stance]
            gold = frozenset[int]().union(*(task.queries[p].gold for p in others))
            found[place] = gold - task.queries[place].gold
    return found


def other_side_last(task: Task, scores: Matrix) -> Matrix:
    """The scores with the gold of the root's other side ranked behind all else.

    What a judge could do at most that takes no document of the other side for one of this side,
    and knows nothing of the documents that are gold for neither. Queries that ask for no side keep
    their rows.
    """
    result = np.array(scores)
    for place, wrong in other_gold(task).items():
        result[place, sorted(wrong)] -= BEFORE
    return result


def sides_found(task: Task, scores: Matrix, k: int) -> dict[str, float]:
    """Shares of the first ``k`` of the queries that ask for a side: gold for the side ``asked``
    for, for the ``other`` one, for ``neither``.
    """
    counts = dict.fromkeys(("asked", "other", "neither"), 0)
    for place, wrong in other_gold(task).items():
        for document in np.argsort(-scores[place], kind="stable")[:k].tolist():
            own = document in task.queries[place].gold
            counts["asked" if own else "other" if document in wrong else "neither"] += 1
    total = max(1, sum(counts.values()))
    return {name: round(count / total, 6) for name, count in counts.items()}
