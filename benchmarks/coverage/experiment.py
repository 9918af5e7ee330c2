"""The whole measurement: every configuration asked every question, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.core.gold import GoldSet
from benchmarks.coverage.configurations import (
    BASELINE,
    Configuration,
    ablation_configurations,
    configurations,
    topic_configurations,
)
from benchmarks.coverage.report import check_ceiling, summary
from benchmarks.coverage.running import Job, jobs, perform, warm_up
from perspective_rag import ConfigError, FaissStore
from perspective_rag.extend import Embedder, Judge
from perspective_rag_scale import build_dense_index
from perspective_rag_train.append_log import slug


def measure(
    gold: GoldSet,
    rows: Sequence[Configuration],
    embedder: Embedder,
    judge: Judge | None,
    *,
    embedder_name: str,
    judge_identity: Any,
    cache: Path,
    seed: int,
    strict: bool,
    bars: Progress,
) -> dict[str, Any]:
    """The figures of every row; what was asked before, with the same parts, is not asked again.

    Raises what a part raises where ``strict``; otherwise a failure is counted as a degradation.
    """
    task = bars.add_task("embedding", total=len(gold.corpus))
    embeddings = build_dense_index(
        gold.corpus,
        embedder,
        cache / slug(f"dense-{gold.fingerprint[:12]}-{embedder_name}"),
        model_name=embedder_name,
        on_progress=lambda done, total: bars.update(task, completed=done),
    )
    bars.remove_task(task)
    with jobs(
        rows,
        gold,
        FaissStore(gold.corpus.passages, embeddings),
        embedder,
        judge,
        embedder_name=embedder_name,
        judge_identity=judge_identity,
        folder=cache / "coverage",
        strict=strict,
    ) as work:
        warm_up(work, embedder, judge)
        _ask(work, gold, bars, strict=strict)
    _check_ceilings(work, gold)
    return summary(work, gold, seed=seed)


def chosen_rows(
    *, topics: bool, ablation: bool, only: Sequence[str] | None, judges: bool
) -> list[Configuration]:
    """The rows asked for, without those that lack their judge; the baseline is always there.

    Raises ConfigError for a part of a name that no row has.
    """
    if topics:
        rows = topic_configurations()
    else:
        rows = ablation_configurations() if ablation else configurations()
    names = [row.name for row in rows]
    for name in only or ():
        if not any(name in each for each in names):
            raise ConfigError(f"no configuration has {name!r} in its name: {', '.join(names)}")
    return [
        row
        for row in rows
        if row.name == BASELINE
        or (
            (judges or row.kind not in ("judged", "guarded"))
            and (not only or any(name in row.name for name in only))
        )
    ]


def _ask(work: Sequence[Job], gold: GoldSet, bars: Progress, *, strict: bool) -> None:
    left = sum(len(job.waiting) for job in work)
    total = len(work) * len(gold.questions)
    task = bars.add_task("asking", total=total, completed=total - left)
    for job in perform(work, strict=strict):
        bars.update(task, advance=1, description=f"{job.row.name}, k = {job.k}")
    bars.remove_task(task)


def _check_ceilings(work: Sequence[Job], gold: GoldSet) -> None:
    """Compares each perfect judge with the exact best choice from what plain search found."""
    ceilings = [job for job in work if job.row.kind == "ceiling"]
    if not ceilings:
        return
    size = max(job.row.options["judge_k"] for job in ceilings)
    plain = next(job for job in work if job.row.name == BASELINE).pipeline
    pools = {
        each.id: [passage.id for passage in plain.retrieve(each.question, k=size).passages]
        for each in gold.questions
    }
    for job in ceilings:
        check_ceiling(job, pools, gold)
