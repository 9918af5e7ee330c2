"""Coverage of both sides, configuration by configuration, on questions with human labels.

python -m benchmarks.coverage --data gold_coverage/dev.jsonl.gz
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import progress, publish, run_command
from benchmarks.core.gold import GoldSet, read_gold
from benchmarks.coverage.configurations import (
    BASELINE,
    Configuration,
    ablation_configurations,
    configurations,
    topic_configurations,
)
from benchmarks.coverage.report import check_ceiling, summary, table, tables
from benchmarks.coverage.running import CUTS, Job, jobs, perform, warm_up
from benchmarks.coverage.topics import topics_of
from perspective_rag import (
    ConfigError,
    CrossEncoderJudge,
    FaissStore,
    OnnxMiniLM,
)
from perspective_rag.corpus import build_dense_index
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.ledger import slug
from perspective_rag.protocols import Embedder, Judge


def main(
    arguments: Sequence[str] | None = None,
    *,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    console: Console | None = None,
) -> int:
    """Runs the benchmark; ``embedder`` and ``judge`` replace those of the command line.

    The exit status is 0, 2 for what could not be done (with --strict any degradation), and 130
    after Ctrl-C, from where the next run goes on.
    """
    run = partial(_run, embedder=embedder, judge=judge)
    return run_command(arguments, _parser(), run, console)


def _run(
    options: argparse.Namespace,
    given: list[str],
    console: Console,
    *,
    embedder: Embedder | None,
    judge: Judge | None,
) -> int:
    started = time.perf_counter()
    gold = read_gold(options.data, limit=options.limit)
    if options.topics:
        gold = topics_of(gold)
    embedder = embedder or OnnxMiniLM()
    embedder_name = str(getattr(embedder, "name", type(embedder).__name__))
    folder = None
    if judge is None and options.judge != "none":
        folder = DEFAULT_MODEL if options.judge is None else Path(options.judge)
        judge = CrossEncoderJudge(options.judge)
    identity = results.judge_identity(judge, folder) if judge is not None else None
    rows = _chosen(_rows(options), options.only, judges=judge is not None)
    with progress(console) as bars:
        task = bars.add_task("embedding", total=len(gold.corpus))
        embeddings = build_dense_index(
            gold.corpus,
            embedder,
            options.cache / slug(f"dense-{gold.fingerprint[:12]}-{embedder_name}"),
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
            judge_identity=identity,
            folder=options.cache / "coverage",
            strict=options.strict,
        ) as work:
            warm_up(work, embedder, judge)
            _ask(work, gold, bars, strict=options.strict)
    _check_ceilings(work, gold)
    found = summary(work, gold, seed=options.seed)
    document = results.document(
        "coverage",
        arguments=given,
        config={"rows": {row.name: row.to_dict() for row in rows}, "k": list(CUTS)},
        seed=options.seed,
        data={
            "name": gold.name,
            "fingerprint": gold.fingerprint,
            "passages": len(gold.corpus),
            "questions": len(gold.questions),
        },
        embedder=embedder_name,
        judge=identity,
        seconds=time.perf_counter() - started,
        degradations=sum(
            cost["degradations"] for row in found["rows"].values() for cost in row["at"].values()
        ),
        results=found,
    )
    title = f"{gold.name}, {len(gold.questions)} questions, 95% intervals"
    publish(
        document,
        options.out or _default_out(options),
        console,
        markdown=f"{table(found, title).markdown()}\n{found['statement']}\n",
        shown=tables(found, title),
    )
    console.print(found["statement"], highlight=False, markup=False)
    return 0


def _rows(options: argparse.Namespace) -> list[Configuration]:
    if options.topics:
        return topic_configurations()
    return ablation_configurations() if options.ablation else configurations()


def _chosen(
    rows: Sequence[Configuration], only: Sequence[str] | None, *, judges: bool
) -> list[Configuration]:
    """The rows asked for, without those that lack their judge; the baseline is always there."""
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


def _default_out(options: argparse.Namespace) -> Path:
    """The committed results for a full run; a partial one must not replace them."""
    if options.limit is None and not options.only and options.judge is None:
        kind = "_topics" if options.topics else "_ablation" if options.ablation else ""
        return results.RESULTS / f"coverage{kind}.json"
    return Path(options.cache) / "coverage-partial.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage",
        description="Compares configurations of the pipeline on questions with human labels.",
    )
    parser.add_argument("--data", type=Path, required=True, help="gold_coverage's dev.jsonl.gz")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--ablation",
        action="store_true",
        help="the defaults without each stage, and with more or less to judge",
    )
    kinds.add_argument(
        "--topics",
        action="store_true",
        help="ask with the bare topic of each statement: perspectives have to be discovered",
    )
    parser.add_argument("--limit", type=whole, help="ask the first N questions only")
    parser.add_argument(
        "--judge", help="folder or model id; 'none' leaves the judged rows out (default: ours)"
    )
    parser.add_argument("--only", action="append", help="only rows with this in their name")
    parser.add_argument("--out", type=Path, help="results file (.json; a table goes beside it)")
    parser.add_argument("--cache", type=Path, default=results.CACHE, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=13, help="of the resampling")
    parser.add_argument("--strict", action="store_true", help="any degradation is an error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
