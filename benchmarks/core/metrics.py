"""What a ranking is worth against gold labels, after BERDS (Chen and Choi 2024, section 3).

A ranking is a sequence of passage ids, best first; gold maps each perspective of the question to
the ids of the passages that take it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

Gold = Mapping[str, AbstractSet[str]]


def mrecall_at_k(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """MRecall@k (Min et al. 2021; BERDS section 3): 1.0 when the top k take enough perspectives.

    With m perspectives enough is ``min(m, k)``: all m, or k of them when m > k. Otherwise 0.0.
    """
    top = set(ranking[:k])
    taken = sum(not top.isdisjoint(ids) for ids in gold.values())
    return float(taken >= min(len(gold), k))


def precision_at_k(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """Precision@k (BERDS section 3): |top k that take any perspective| / k.

    Divided by k even when fewer came back. An unlabelled passage counts as wrong, so where labels
    are incomplete this is a lower bound.
    """
    labelled: set[str] = set().union(*gold.values())
    return len(labelled.intersection(ranking[:k])) / k


def balance_at_k(ranking: Sequence[str], gold: Gold, k: int) -> dict[str, int]:
    """For each perspective, how many of the top k take it; summed over questions: a lean."""
    top = set(ranking[:k])
    return {perspective: len(top & ids) for perspective, ids in gold.items()}


def oracle_ranking(pool: Sequence[str], gold: Gold, k: int) -> list[str]:
    """The k of a pool that no choice beats, in MRecall@k first and in Precision@k then.

    Exact: among all sets of at most k passages one that takes the most perspectives, the smallest
    of these (dynamic programming over sets of perspectives, of which there are 2^m), filled up with
    labelled passages and then with any, each in the pool's order.
    """
    names = list(gold)
    best: dict[int, list[str]] = {0: []}
    labelled = []
    for passage in pool:
        takes = sum(1 << bit for bit, name in enumerate(names) if passage in gold[name])
        if takes:
            labelled.append(passage)
        for taken, chosen in list(best.items()):
            union = taken | takes
            if union != taken and len(chosen) < k:
                known = best.get(union)
                if known is None or len(known) > len(chosen) + 1:
                    best[union] = [*chosen, passage]
    _, cover = max(best.items(), key=lambda item: (item[0].bit_count(), -len(item[1])))
    rest = [passage for passage in (*labelled, *pool) if passage not in cover]
    return [*cover, *dict.fromkeys(rest)][:k]
