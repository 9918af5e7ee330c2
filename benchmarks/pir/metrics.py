"""What a ranking is worth: PIR's p-Recall@k and Recall@k (Zhao et al. 2024, section 2.3).

Scores have shape (n_queries, n_corpus), higher is better; of equal scores the document that comes
first in the corpus ranks first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.pir.tasks import Task
from perspective_rag.types import Matrix

CUTS = (1, 5, 10)
"""The k that PIR reports."""

Ranks = NDArray[np.int64]


def gold_ranks(scores: Matrix, task: Task) -> Ranks:
    """For each query, how many documents rank before its best gold document: shape (n_queries,).

    A query succeeds at k where this is below k. Raises ValueError for scores of another shape and
    for NaN, which would rank nowhere.
    """
    if scores.shape != (len(task.queries), len(task.corpus)):
        raise ValueError(
            f"scores of shape {scores.shape} for {len(task.queries)} queries on "
            f"{len(task.corpus)} documents"
        )
    if np.isnan(scores).any():
        raise ValueError("a score is NaN")
    ranks = np.empty(len(task.queries), dtype=np.int64)
    for place, query in enumerate(task.queries):
        row = scores[place]
        gold = np.array(sorted(query.gold))
        best = gold[np.argmax(row[gold])]
        ranks[place] = (row > row[best]).sum() + (row[:best] == row[best]).sum()
    return ranks


def root_values(
    ranks: Ranks, task: Task, k: int, *, zero_single_roots: bool = False
) -> list[float]:
    """For each root, the share of its queries that succeed at k.

    p-Recall@k = 1/|roots| sum_r E_p [success(q = p + r, k)] is their mean. With
    ``zero_single_roots`` a root with a single query scores 0 whatever was retrieved, as in the
    published code.
    """
    success = ranks < k
    return [
        0.0 if zero_single_roots and len(places) == 1 else float(success[places].mean())
        for places in task.roots.values()
    ]


def p_recall_at_k(ranks: Ranks, task: Task, k: int, *, zero_single_roots: bool = False) -> float:
    """p-Recall@k: the mean of ``root_values``, in [0, 1]."""
    return float(np.mean(root_values(ranks, task, k, zero_single_roots=zero_single_roots)))


def recall_at_k(ranks: Ranks, k: int) -> float:
    """Recall@k: the share of queries with a gold document among the first k, in [0, 1]."""
    return float(np.mean(ranks < k))


def top_documents(scores: Matrix, k: int) -> Sequence[NDArray[np.int64]]:
    """The positions of the first k documents of every query, best first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return list(order[:, :k])
