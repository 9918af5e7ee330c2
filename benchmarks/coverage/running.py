"""Every row on every question, question by question, from where an earlier run stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.core.gold import GoldQuestion, GoldSet
from benchmarks.core.results import hash_of_files, source_fingerprint
from benchmarks.coverage.configurations import Configuration
from benchmarks.coverage.outcomes import Outcome
from benchmarks.coverage.perfect import PerfectJudge
from perspective_rag import Passage, Perspective, PerspectivePipeline, RetrievalResult, run
from perspective_rag.extend import Embedder, Judge, Store
from perspective_rag_train.append_log import AppendLog

CUTS = (5, 10)
"""The k that each row is run with."""

HERE = Path(__file__).parent
ASKING = [HERE / name for name in ("configurations.py", "outcomes.py", "perfect.py", "running.py")]
"""The benchmark's own code that outcomes depend on; reports are made anew in any case."""


@dataclass(frozen=True, slots=True)
class Job:
    """One row at one k: its pipeline, the outcomes known, and the questions still to be asked.

    ``ledger`` holds outcomes by the question's id. ``sides`` are the perspectives given with a
    question, by its id; no row but a ceiling has any.
    """

    row: Configuration
    k: int
    pipeline: PerspectivePipeline
    ledger: AppendLog
    waiting: list[GoldQuestion]
    sides: Mapping[str, Sequence[Perspective]] = field(default_factory=dict)

    def outcome(self, question: GoldQuestion) -> Outcome:
        """What the row did with a question that was asked; raises KeyError for another."""
        return Outcome.from_dict(self.ledger.values[question.id])


@contextmanager
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
) -> Iterator[list[Job]]:
    """All that is to be done; outcomes in ``folder`` of the same code, data and models are done.

    In strict mode questions with degradations are asked again. Raises ConfigError while another run
    is at the same work.
    """
    perfect = PerfectJudge(gold.questions)
    source = [source_fingerprint(), hash_of_files(HERE, ASKING)]
    work = []
    with ExitStack() as ledgers:
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
                ledger = ledgers.enter_context(AppendLog(folder, f"{row.name}-{k}", key))
                waiting = [each for each in gold.questions if not _done(ledger, each, strict)]
                sides = perfect.sides if row.kind == "ceiling" else {}
                work.append(Job(row, k, pipeline, ledger, waiting, sides))
        yield work


def _done(ledger: AppendLog, question: GoldQuestion, strict: bool) -> bool:
    outcome = ledger.values.get(question.id)
    return outcome is not None and not (strict and outcome["degradations"])


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
            outcome = _outcome(result, time.perf_counter() - started)
            job.ledger.add([(question.id, asdict(outcome))])
            del job.waiting[0]
            yield job


def _outcome(result: RetrievalResult, seconds: float) -> Outcome:
    trace = result.trace
    return Outcome(
        ranking=tuple(passage.id for passage in result.passages),
        seconds=round(seconds, 6),
        stages={stage: round(value, 6) for stage, value in trace.seconds.items()},
        searches=trace.calls.get("search", 0),
        judged_pairs=trace.counts.get("judged_pairs", 0),
        complete=result.coverage.complete if result.coverage.judged else None,
        degradations=tuple(f"{each.stage}: {each.message}" for each in trace.degradations),
    )
