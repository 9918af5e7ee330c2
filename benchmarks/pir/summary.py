"""The numbers of a run: means, intervals, and each method against plain cosine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
                "p_recall": {
                    str(k): interval(values[k], seed=seed, resamples=resamples).to_dict()
                    for k in CUTS
                },
                "against_plain": _unless_plain(
                    name,
                    {
                        str(k): paired_difference(
                            values[k], base[k], seed=seed, resamples=resamples
                        ).to_dict()
                        for k in CUTS
                    },
                ),
                "recall": {str(k): round(outcome.recall[name][k], 6) for k in CUTS},
            }
            for name, values in outcome.values.items()
        },
        "root_recall": {str(k): round(outcome.root_recall[k], 6) for k in CUTS},
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
        average[name] = {
            "p_recall": {
                str(k): macro_interval(rows[k], seed=seed, resamples=resamples).to_dict()
                for k in CUTS
            },
            "against_plain": _unless_plain(
                name,
                {
                    str(k): macro_difference(
                        rows[k], bases[k], seed=seed, resamples=resamples
                    ).to_dict()
                    for k in CUTS
                },
            ),
        }
    return {
        "tasks": {
            outcome.task.name: task_summary(outcome, seed, resamples) for outcome in outcomes
        },
        "average": average,
    }


def _unless_plain(name: str, differences: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return None if name == PLAIN else differences
