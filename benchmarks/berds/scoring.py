"""From rankings and verdicts to one value a question, and from these to means with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.core.bootstrap import LEVEL, RESAMPLES, Interval
from benchmarks.core.metrics import Gold, mrecall_at_k
from perspective_rag import MissingDependency

CUTS = (5, 10)
AVERAGE = "average"
DEPTH = 100

Values = Mapping[str, float]
"""For "mrecall@5" and the like, the value of one question."""


def values_of(ranking: Sequence[str], gold: Gold, k: int) -> dict[str, float]:
    """The metrics at k of passage ids, best first; ``k`` = 5 gives Precision@1 too.

    Precision@k counts places, as the paper does: a passage that stands twice counts twice.
    """
    labelled: set[str] = set().union(*gold.values())
    right = [identity in labelled for identity in ranking[:k]]
    values = {
        f"mrecall@{k}": mrecall_at_k(ranking, gold, k),
        f"precision@{k}": sum(right) / k,
    }
    if k == min(CUTS):
        values["precision@1"] = float(sum(right[:1]))
    return values


def set_size(ranking: Sequence[str], gold: Gold) -> int | None:
    """How many passages from the top are needed to take every perspective (Table 5/17).

    None when all of the ranking does not.
    """
    open_ids = dict(gold)
    for size, identity in enumerate(ranking, start=1):
        open_ids = {name: ids for name, ids in open_ids.items() if identity not in ids}
        if not open_ids:
            return size
    return None


def covers_all(passages: Sequence[str], gold: Gold) -> float:
    """1.0 when a set of passages, however large, takes every perspective (Table 6)."""
    found = set(passages)
    return float(all(not found.isdisjoint(ids) for ids in gold.values()))


def standard_values(
    rankings: Mapping[str, Sequence[str]], golds: Mapping[str, Gold], k: int
) -> dict[str, dict[str, float]]:
    """alpha-nDCG@k (Clarke et al. 2008), ERR-IA@k (Chapelle et al. 2009), subtopic recall@k (Zhai
    et al. 2003) by ir-measures, for each question; perspectives are the subtopics.

    The ideal ranking of alpha-nDCG is made of the passages that were judged; ERR-IA is divided by
    that of k passages which each take every perspective, as ndeval reports it. A question for which
    no judged passage supports anything has 0. Raises MissingDependency without ir-measures.
    """
    try:
        import ir_measures
        from ir_measures import ERR_IA, StRecall, alpha_nDCG
    except ImportError as error:
        raise MissingDependency("bench", "the standard set metrics") from error
    names = {
        alpha_nDCG @ k: f"alpha_ndcg@{k}",
        ERR_IA @ k: f"err_ia@{k}",
        StRecall @ k: f"subtopic_recall@{k}",
    }
    result = {query: dict.fromkeys(names.values(), 0.0) for query in rankings}
    qrels = [
        ir_measures.Qrel(query, identity, 1, subtopic)
        for query in rankings
        for subtopic, ids in golds[query].items()
        for identity in sorted(ids)
    ]
    run = [
        ir_measures.ScoredDoc(query, identity, float(-place))
        for query, ranking in rankings.items()
        for place, identity in enumerate(dict.fromkeys(ranking))
    ]
    if not qrels or not run:
        return result
    for found in ir_measures.iter_calc(list(names), qrels, run):
        result[found.query_id][names[found.measure]] = float(found.value)
    # A subtopic that no judged passage takes is unknown to the qrels, but the question has it, and
    # these two are means over subtopics. The ideal of alpha-nDCG cannot take it either.
    for query, gold in golds.items():
        if query in result and gold:
            taken = sum(bool(ids) for ids in gold.values())
            for name in ("err_ia", "subtopic_recall"):
                result[query][f"{name}@{k}"] *= taken / len(gold)
    return result


def intervals(
    by_set: Mapping[str, Sequence[float]], *, seed: int, resamples: int = RESAMPLES
) -> dict[str, Interval]:
    """For each set of questions, and for ``AVERAGE``, the mean with its bootstrap interval.

    The average is the mean of the sets' means (the papers' macro-average); its resamples draw
    anew within each set. Sets without a value are left out.
    """
    tail = 100 * (1.0 - LEVEL) / 2.0
    means, found = [], {}
    for place, (name, values) in enumerate(by_set.items()):
        if not len(values):
            continue
        sample = np.asarray(values, dtype=np.float64)
        generator = np.random.default_rng([seed, place])
        draws = generator.integers(len(sample), size=(resamples, len(sample)))
        means.append((float(sample.mean()), sample[draws].mean(axis=1)))
        low, high = np.percentile(means[-1][1], [tail, 100 - tail])
        found[name] = Interval(means[-1][0], float(low), float(high))
    if means:
        averages = np.mean([drawn for _, drawn in means], axis=0)
        low, high = np.percentile(averages, [tail, 100 - tail])
        centre = float(np.mean([mean for mean, _ in means]))
        found[AVERAGE] = Interval(centre, float(low), float(high))
    return found


def outcome_of_two(ranking: Sequence[str], gold: Gold, places: tuple[int, int], k: int) -> str:
    """ "supporting", "opposing", "both" or "neither": what the top k take (Figure 2)."""
    top = set(ranking[:k])
    supports, opposes = (not top.isdisjoint(gold[str(place)]) for place in places)
    if supports and opposes:
        return "both"
    return "supporting" if supports else "opposing" if opposes else "neither"


def lean(
    rankings: Sequence[tuple[Sequence[str], Gold, tuple[int, int]]],
    k: int,
    *,
    seed: int,
    resamples: int = 2_000,
) -> dict[str, Any]:
    """Delta = (p - n) / p (section 8, Figure 3) with p and n, over rankings of two-sided questions.

    p and n are the shares of the top k that take the supporting and the opposing perspective.
    Delta is None for p = 0 and has no lower bound, so (p - n) is given beside it; the intervals
    resample questions.
    """
    counts = np.array(
        [
            [len(set(ranking[:k]) & set(gold[str(place)])) / k for place in places]
            for ranking, gold, places in rankings
        ]
    ).reshape(-1, 2)
    if not len(counts):
        return {"questions": 0, "p": None, "n": None, "delta": None}
    p, n = (float(value) for value in counts.mean(axis=0))
    draws = np.random.default_rng(seed).integers(len(counts), size=(resamples, len(counts)))
    shares = counts[draws].mean(axis=1)
    gaps = shares[:, 0] - shares[:, 1]
    usable = shares[:, 0] > 0
    return {
        "questions": len(counts),
        "p": round(p, 6),
        "n": round(n, 6),
        "delta": round((p - n) / p, 6) if p > 0 else None,
        "delta_interval": _bounds(gaps[usable] / shares[usable, 0]) if usable.all() else None,
        "difference": round(p - n, 6),
        "difference_interval": _bounds(gaps),
    }


def _bounds(values: Any) -> list[float]:
    tail = 100 * (1.0 - LEVEL) / 2.0
    return [round(float(value), 6) for value in np.percentile(values, [tail, 100 - tail])]
