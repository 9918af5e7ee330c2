"""The re-ordering by stance on the scores of a task."""

from __future__ import annotations

import numpy as np

from benchmarks.pir.tasks import Task
from perspective_rag.extract.rules import extract_by_rule
from perspective_rag.flow import run
from perspective_rag.options import PipelineOptions
from perspective_rag.protocols import Judge
from perspective_rag.rerank import rerank_by_stance, stance_asked
from perspective_rag.types import Candidate, Matrix, Passage

BEFORE = 10.0
"""Added to the scores of re-ordered documents: above every cosine."""


def reranked(
    judge: Judge, task: Task, scores: Matrix, *, limit: int | None = None
) -> tuple[Matrix, int]:
    """The scores with the first ``limit`` of each query re-ordered by stance, and the pairs judged.

    ``scores`` (n_queries, n_corpus) stand for relevance. A query whose text asks for no side, as
    the rules read it, keeps its row. ``limit`` None: the pipeline's ``judge_k``.
    """
    most = PipelineOptions().judge_k if limit is None else limit
    result, pairs = np.array(scores), 0
    for row, query in zip(result, task.queries, strict=True):
        asked = stance_asked(extract_by_rule(query.text))
        if asked is None:
            continue
        best = np.argsort(-row, kind="stable")[:most]
        candidates = [
            Candidate(Passage(str(i), task.corpus[i]), 0.0, {"relevance": float(row[i])})
            for i in best
        ]
        ordered = run(rerank_by_stance(judge, asked, candidates, limit=most))
        for candidate in ordered:
            row[int(candidate.passage.id)] = BEFORE + candidate.score
        pairs += len(candidates)
    return result, pairs
