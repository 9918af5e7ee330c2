"""The re-ordering by stance on the scores of a task."""

from __future__ import annotations

import numpy as np

from benchmarks.pir.tasks import Task
from perspective_rag import Candidate, Passage, Perspective, PipelineOptions, run
from perspective_rag.addons import Recorder, extract_by_rule
from perspective_rag.extend import Judge, Matrix
from perspective_rag.judge.support import stance_asked
from perspective_rag.search.candidates import rerank_by_stance

BEFORE = 10.0
"""Added to the scores of re-ordered documents: above every cosine."""


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
