"""The numbers of a run: means, intervals, and each method against plain cosine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.core.bootstrap import (
    RESAMPLES,
    interval,
    macro_difference,
    macro_interval,
    paired_difference,
)
from benchmarks.pir.methods import PLAIN
from benchmarks.pir.metrics import CUTS
from benchmarks.pir.running import TaskOutcome


def task_summary(outcome: TaskOutcome, seed: int, resamples: int = RESAMPLES) -> dict[str, Any]:
    """One task: sizes, fingerprint, and for each method p-Recall@k and its difference to plain."""
    task = outcome.task
    base = outcome.values[PLAIN]
    return {
        "queries": len(task.queries),
        "roots": len(task.roots),
        "documents": len(task.corpus),
        "distinct_documents": len(set(task.corpus)),
        "fingerprint": task.fingerprint,
        "methods": {
            name: {
                **_figures(
                    name, values, base, interval, paired_difference, seed=seed, resamples=resamples
                ),
                "recall": {str(k): round(outcome.recall[name][k], 6) for k in CUTS},
            }
            for name, values in outcome.values.items()
        },
        "root_recall": {str(k): round(outcome.root_recall[k], 6) for k in CUTS},
        "ties": {
            str(k): {"lost": round(lost, 6), "won": round(won, 6)}
            for k, (lost, won) in outcome.ties.items()
        },
        "label_shares": {str(k): shares for k, shares in outcome.shares.items()},
    }


def group_summary(
    outcomes: Sequence[TaskOutcome], seed: int, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """A folder of tasks: each of them, and the macro-average over them."""
    names = list(outcomes[0].values)
    average = {}
    for name in names:
        rows = {k: [outcome.values[name][k] for outcome in outcomes] for k in CUTS}
        bases = {k: [outcome.values[PLAIN][k] for outcome in outcomes] for k in CUTS}
        average[name] = _figures(
            name, rows, bases, macro_interval, macro_difference, seed=seed, resamples=resamples
        )
    return {
        "tasks": {
            outcome.task.name: task_summary(outcome, seed, resamples) for outcome in outcomes
        },
        "average": average,
    }


def _figures(
    name: str,
    values: Mapping[int, Any],
    base: Mapping[int, Any],
    mean_of: Callable[..., Any],
    difference_of: Callable[..., Any],
    **options: int,
) -> dict[str, Any]:
    """p-Recall at every cut, and the difference to ``base``, which plain cosine itself lacks."""
    differences = None
    if name != PLAIN:
        differences = {str(k): difference_of(values[k], base[k], **options).to_dict() for k in CUTS}
    return {
        "p_recall": {str(k): mean_of(values[k], **options).to_dict() for k in CUTS},
        "against_plain": differences,
    }
