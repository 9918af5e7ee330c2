"""What a ranking is worth: PIR's p-Recall@k and Recall@k (Zhao et al. 2024, section 2.3).

Scores have shape (n_queries, n_corpus), higher is better. The demo corpora repeat texts (270 of
AGNews's 500), which no retriever can tell apart; where gold ties with other documents, success is
its expectation over all orders of the tied ones (McSherry and Najork 2008), so that neither the
order of the corpus nor rounding decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from benchmarks.pir.tasks import Task
from perspective_rag.extend import Matrix

CUTS = (1, 5, 10)
"""The k that PIR reports."""

TIE = 1e-9
"""Scores closer than this, relative to the larger of 1 and the score, are equal."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GoldRanks:
    """Where the best gold document of each query stands, three counts of shape (n_queries,).

    ``above`` documents score higher than it, ``tied`` score the same, itself included, and ``gold``
    of these are gold.
    """

    above: Counts
    tied: Counts
    gold: Counts

    def success(self, k: int) -> NDArray[np.float64]:
        """The probability of a gold document among the first k, shape (n_queries,).

        0 or 1 where the first k are certain, else ``1 - C(tied - gold, m) / C(tied, m)`` with the
        m = k - above places that the tied documents share.
        """
        rows = zip(self.above.tolist(), self.tied.tolist(), self.gold.tolist(), strict=True)
        return np.array([_chance(above, tied, gold, k) for above, tied, gold in rows])

    def bounds(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Success at k were gold to lose, and to win, every tie: two arrays of shape (n_queries,),
        the values of ``success`` between them.
        """
        lost, won = self.above + self.tied - self.gold < k, self.above < k
        return lost.astype(np.float64), won.astype(np.float64)


def _chance(above: int, tied: int, gold: int, k: int) -> float:
    places = min(k - above, tied)
    if places <= 0:
        return 0.0
    return 1.0 - comb(tied - gold, places) / comb(tied, places)


def gold_ranks(scores: Matrix, task: Task) -> GoldRanks:
    """Where gold stands in the ranking of every query.

    Raises ValueError for scores of another shape than (n_queries, n_corpus) and for NaN, which
    would rank nowhere.
    """
    if scores.shape != (len(task.queries), len(task.corpus)):
        raise ValueError(
            f"scores of shape {scores.shape} for {len(task.queries)} queries on "
            f"{len(task.corpus)} documents"
        )
    if np.isnan(scores).any():
        raise ValueError("a score is NaN")
    counts = np.empty((3, len(task.queries)), dtype=np.int64)
    for place, query in enumerate(task.queries):
        row = scores[place]
        gold = row[sorted(query.gold)]
        best = gold.max()
        margin = TIE * max(1.0, abs(float(best)))
        counts[:, place] = (
            (row > best + margin).sum(),
            (np.abs(row - best) <= margin).sum(),
            (gold >= best - margin).sum(),
        )
    return GoldRanks(*counts)


def root_values(
    ranks: GoldRanks, task: Task, k: int, *, zero_single_roots: bool = False
) -> list[float]:
    """For each root, the mean success at k of its queries.

    p-Recall@k = 1/|roots| sum_r E_p [success(q = p + r, k)] is the mean of these. With
    ``zero_single_roots`` a root with a single query scores 0 whatever was retrieved, as in the
    published code.
    """
    return _of_roots(ranks.success(k), task, zero_single_roots)


def tie_bounds(
    ranks: GoldRanks, task: Task, k: int, *, zero_single_roots: bool = False
) -> tuple[float, float]:
    """p-Recall@k were gold to lose, and to win, every tie: p-Recall@k lies between them."""
    lost, won = (
        float(np.mean(_of_roots(each, task, zero_single_roots))) for each in ranks.bounds(k)
    )
    return lost, won


def _of_roots(success: NDArray[np.float64], task: Task, zero_single_roots: bool) -> list[float]:
    return [
        0.0 if zero_single_roots and len(places) == 1 else float(success[places].mean())
        for places in task.roots.values()
    ]


def p_recall_at_k(
    ranks: GoldRanks, task: Task, k: int, *, zero_single_roots: bool = False
) -> float:
    """p-Recall@k: the mean of ``root_values``, in [0, 1]."""
    return float(np.mean(root_values(ranks, task, k, zero_single_roots=zero_single_roots)))


def recall_at_k(ranks: GoldRanks, k: int) -> float:
    """Recall@k: the share of queries with a gold document among the first k, in [0, 1]."""
    return float(ranks.success(k).mean())


def top_documents(scores: Matrix, k: int) -> Sequence[NDArray[np.int64]]:
    """The positions of the first k documents of every query, best first, equal ones in order."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return list(order[:, :k])
