"""From outcomes to numbers: metrics with intervals, the table, and what it says in words."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.core.bootstrap import interval, paired_difference
from benchmarks.core.gold import GoldSet
from benchmarks.core.metrics import (
    balance_at_k,
    mrecall_at_k,
    oracle_ranking,
    precision_at_k,
)
from benchmarks.core.table import Table
from benchmarks.core.text import against, with_interval
from benchmarks.coverage.configurations import BASELINE, DISCOVERING, GUARDED
from benchmarks.coverage.outcomes import Outcome
from benchmarks.coverage.running import CUTS, Job

METRICS = {"mrecall": mrecall_at_k, "precision": precision_at_k}

Values = Mapping[str, Sequence[float]]
"""For "mrecall@5" and the like, one value a question."""


def values_of(outcomes: Sequence[Outcome], gold: GoldSet, k: int) -> dict[str, list[float]]:
    """Each metric at k of outcomes in the order of the questions."""
    return {
        f"{name}@{k}": [
            metric(outcome.ranking, question.gold, k)
            for outcome, question in zip(outcomes, gold.questions, strict=True)
        ]
        for name, metric in METRICS.items()
    }


def summary(work: Sequence[Job], gold: GoldSet, *, seed: int) -> dict[str, Any]:
    """For every row: metrics, differences to the baseline, balance and cost at each k."""
    outcomes = {
        (job.row.name, job.k): [job.outcome(each) for each in gold.questions] for job in work
    }
    values: dict[str, dict[str, list[float]]] = {}
    for (name, k), found in outcomes.items():
        values.setdefault(name, {}).update(values_of(found, gold, k))
    rows = {
        job.row.name: {
            **job.row.to_dict(),
            "metrics": {
                metric: interval(sample, seed=seed).to_dict()
                for metric, sample in values[job.row.name].items()
            },
            "against_baseline": _differences(values[job.row.name], values[BASELINE], seed),
            "at": {str(k): _cost(outcomes[job.row.name, k], gold, k) for k in CUTS},
        }
        for job in work
    }
    kinds = {job.row.name: job.row.kind for job in work}
    return {
        "questions": len(gold.questions),
        "rows": rows,
        "statement": _statement(values, kinds, seed),
    }


def check_ceiling(job: Job, pools: Mapping[str, Sequence[str]], gold: GoldSet) -> None:
    """Raises ArithmeticError where a perfect judge in the pipeline covers less than the exact best.

    Precision may stay below what is possible: near copies take a place only where nothing else is
    left.
    ``pools`` has, for each question's id, a ranking that begins with what the judge chose from.
    """
    size: int = job.row.options["judge_k"]
    for question in gold.questions:
        pool = pools[question.id][:size]
        best = oracle_ranking(pool, question.gold, job.k)
        reached = job.outcome(question).ranking
        for name, metric in METRICS.items():
            got, possible = (metric(each, question.gold, job.k) for each in (reached, best))
            if got > possible or (got < possible and name.startswith("mrecall")):
                raise ArithmeticError(
                    f"{job.row.name}, question {question.id}: {name}@{job.k} is {got:g} through "
                    f"the pipeline, and {possible:g} is possible"
                )


COLUMNS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "MRecall@5": lambda row: with_interval(row["metrics"]["mrecall@5"]),
    "vs top-k (p)": lambda row: _against(row["against_baseline"]["mrecall@5"]),
    "Precision@5": lambda row: with_interval(row["metrics"]["precision@5"]),
    "balance@5": lambda row: " / ".join(map(str, row["at"]["5"]["balance"].values())),
    "MRecall@10": lambda row: with_interval(row["metrics"]["mrecall@10"]),
    "Precision@10": lambda row: with_interval(row["metrics"]["precision@10"]),
    "pairs judged": lambda row: f"{row['at']['5']['judged_pairs']:.1f}",
    "searches": lambda row: f"{row['at']['5']['searches']:.1f}",
    "seconds": lambda row: f"{row['at']['5']['seconds_p50']:.3f}",
    "degraded": lambda row: str(sum(cost["degradations"] for cost in row["at"].values())),
}
"""Means in percent with 95% intervals; balance is labels of each side; costs are those of k = 5."""


def table(
    results: Mapping[str, Any],
    title: str,
    columns: Sequence[str] = tuple(COLUMNS),
    names: Sequence[str] | None = None,
) -> Table:
    """The results as one table, by default with all rows and all of ``COLUMNS``."""
    result = Table(title, ("configuration", *columns))
    for name in results["rows"] if names is None else names:
        result.add(name, *(COLUMNS[column](results["rows"][name]) for column in columns))
    return result


def tables(results: Mapping[str, Any], title: str) -> list[Table]:
    """The same in two tables, each narrow enough for a terminal."""
    names = list(COLUMNS)
    return [
        table(results, f"{title}: quality at k = 5", names[:4]),
        table(results, f"{title}: quality at k = 10, cost at k = 5", names[4:]),
    ]


def _differences(values: Values, base: Values, seed: int) -> dict[str, Any]:
    return {
        metric: paired_difference(sample, base[metric], seed=seed).to_dict()
        for metric, sample in values.items()
    }


def _cost(outcomes: Sequence[Outcome], gold: GoldSet, k: int) -> dict[str, Any]:
    balance: Counter[str] = Counter()
    sure = right = 0
    for outcome, question in zip(outcomes, gold.questions, strict=True):
        balance.update(balance_at_k(outcome.ranking, question.gold, k))
        if outcome.complete:
            sure += 1
            right += mrecall_at_k(outcome.ranking, question.gold, k) == 1.0
    seconds = [outcome.seconds for outcome in outcomes]
    judged = any(outcome.complete is not None for outcome in outcomes)
    return {
        "balance": dict(balance),
        "judged_pairs": statistics.fmean(each.judged_pairs for each in outcomes),
        "searches": statistics.fmean(each.searches for each in outcomes),
        "seconds_mean": round(statistics.fmean(seconds), 6),
        "seconds_p50": round(statistics.median(seconds), 6),
        "degradations": sum(len(each.degradations) for each in outcomes),
        "said_covered": sure if judged else None,
        "said_covered_rightly": right if judged else None,
    }


def _statement(values: Mapping[str, Values], kinds: Mapping[str, str], seed: int) -> str:
    """How the guarded pipeline compares with the best of the others, ceilings apart."""
    guarded = next((name for name in (GUARDED, DISCOVERING) if name in values), None)
    if guarded is None:
        return "The guarded pipeline was not run."
    rivals = [name for name in values if kinds[name] not in ("guarded", "ceiling")]
    parts = []
    for metric, label in (("mrecall@5", "MRecall@5"), ("precision@5", "Precision@5")):
        own = values[guarded][metric]
        best = max(rivals, key=lambda name: sum(values[name][metric]))
        difference = paired_difference(own, values[best][metric], seed=seed)
        bounds = difference.interval
        parts.append(
            f"{label}: guarded {_mean(own):.1f}, best of the rows without the guard "
            f"{_mean(values[best][metric]):.1f} ({best}); difference {100 * bounds.mean:+.1f} "
            f"[{100 * bounds.low:+.1f}, {100 * bounds.high:+.1f}], p = {difference.p:.4f}."
        )
    return " ".join(parts)


def _mean(sample: Sequence[float]) -> float:
    return 100 * statistics.fmean(sample)


def _against(bounds: Mapping[str, float]) -> str:
    return against(None if bounds["low"] == bounds["high"] == 0.0 else bounds)
