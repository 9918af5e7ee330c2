"""Every row on every question, question by question, from where an earlier run stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.core.cells import Cell, Outcome
from benchmarks.core.gold import GoldQuestion, GoldSet
from benchmarks.core.results import hash_of_files, source_fingerprint
from benchmarks.coverage.configurations import Configuration
from benchmarks.coverage.perfect import PerfectJudge
from perspective_rag import Passage, Perspective, PerspectivePipeline, RetrievalResult, run
from perspective_rag.protocols import Embedder, Judge, Store

CUTS = (5, 10)
"""The k that each row is run with."""

HERE = Path(__file__).parent
ASKING = [HERE / name for name in ("configurations.py", "perfect.py", "running.py")]
"""The benchmark's own code that outcomes depend on; reports are made anew in any case."""


@dataclass(frozen=True, slots=True)
class Job:
    """One row at one k: its pipeline, the outcomes known, and the questions still to be asked.

    ``sides`` are the perspectives given with a question, by its id; no row but a ceiling has any.
    """

    row: Configuration
    k: int
    pipeline: PerspectivePipeline
    cell: Cell
    waiting: list[GoldQuestion]
    sides: Mapping[str, Sequence[Perspective]] = field(default_factory=dict)


def jobs(
    rows: Sequence[Configuration],
    gold: GoldSet,
    store: Store,
    embedder: Embedder,
    judge: Judge | None,
    *,
    embedder_name: str,
    judge_identity: dict[str, Any] | None,
    folder: Path,
    strict: bool,
) -> list[Job]:
    """All that is to be done; outcomes in ``folder`` of the same code, data and models are done.

    In strict mode questions with degradations are asked again.
    """
    perfect = PerfectJudge(gold.questions)
    source = [source_fingerprint(), hash_of_files(HERE, ASKING)]
    result = []
    for row in rows:
        pipeline = row.pipeline(store, embedder, judge, perfect)
        for k in CUTS:
            key = {
                "row": row.to_dict(),
                "k": k,
                "data": gold.fingerprint,
                "embedder": embedder_name,
                "judge": judge_identity if row.kind in ("judged", "guarded") else None,
                "source": source,
            }
            cell = Cell(folder, f"{row.name}-{k}", key)
            waiting = [each for each in gold.questions if not _done(cell, each, strict)]
            sides = perfect.sides if row.kind == "ceiling" else {}
            result.append(Job(row, k, pipeline, cell, waiting, sides))
    return result


def _done(cell: Cell, question: GoldQuestion, strict: bool) -> bool:
    outcome = cell.outcomes.get(question.id)
    return outcome is not None and not (strict and outcome.degradations)


def warm_up(work: Sequence[Job], embedder: Embedder, judge: Judge | None) -> None:
    """Loads the models that the work will use, so that no question pays for it."""
    text = "This is a text."
    if any(job.waiting for job in work):
        embedder.embed_queries([text])
    judges = any(job.waiting and job.row.kind in ("judged", "guarded") for job in work)
    if judges and judge is not None:
        run(judge.judge([Perspective("warm-up", text)], [Passage("warm-up", text)]))


def perform(work: Sequence[Job], *, strict: bool) -> Iterator[Job]:
    """Asks what is waiting; yields the job after each question, when its outcome is on disk."""
    for job in work:
        while job.waiting:
            question = job.waiting[0]
            sides = job.sides.get(question.id)
            started = time.perf_counter()
            result = job.pipeline.retrieve(
                question.question, perspectives=sides, k=job.k, strict=strict
            )
            job.cell.add(_outcome(question, result, time.perf_counter() - started))
            del job.waiting[0]
            yield job


def _outcome(question: GoldQuestion, result: RetrievalResult, seconds: float) -> Outcome:
    trace = result.trace
    return Outcome(
        question=question.id,
        ranking=tuple(passage.id for passage in result.passages),
        seconds=round(seconds, 6),
        stages={stage: round(value, 6) for stage, value in trace.seconds.items()},
        searches=trace.calls.get("search", 0),
        judged_pairs=trace.counts.get("judged_pairs", 0),
        complete=result.coverage.complete if result.coverage is not None else None,
        degradations=tuple(f"{each.stage}: {each.message}" for each in trace.degradations),
    )
