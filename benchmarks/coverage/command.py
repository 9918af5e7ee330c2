"""Coverage of both sides, configuration by configuration, on questions with human labels.

python -m benchmarks download perspectrum
python -m benchmarks coverage --data data/perspectrum/gold.jsonl
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run, progress, publish
from benchmarks.core.data import data_note, needed
from benchmarks.core.gold import read_gold
from benchmarks.core.judges import JUDGES, named_judge
from benchmarks.coverage.experiment import chosen_rows, measure
from benchmarks.coverage.report import table, tables
from benchmarks.coverage.running import CUTS
from benchmarks.coverage.topics import topics_of
from perspective_rag import OnnxMiniLM

MEASURED = "dev.jsonl.gz"
"""The set of the committed results: labels of several sources, not public as one file."""


def _run(run: Run) -> int:
    """The status is 0; with --strict a degradation ends the run."""
    options, console = run.options, run.console
    started = time.perf_counter()
    gold = read_gold(needed(options.data, "coverage"), limit=options.limit)
    if options.topics:
        gold = topics_of(gold)
    embedder = run.embedder or OnnxMiniLM()
    embedder_name = results.embedder_name(embedder)
    judge, folder = run.judge, None
    if judge is None and options.judge != "none":
        judge, folder = named_judge(options.judge)
    identity = results.judge_identity(judge, folder) if judge is not None else None
    rows = chosen_rows(
        topics=options.topics,
        ablation=options.ablation,
        only=options.only,
        judges=judge is not None,
    )
    with progress(console) as bars:
        found = measure(
            gold,
            rows,
            embedder,
            judge,
            embedder_name=embedder_name,
            judge_identity=identity,
            cache=options.cache,
            seed=options.seed,
            strict=options.strict,
            bars=bars,
        )
    document = results.document(
        "coverage",
        arguments=run.given,
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


def _default_out(options: argparse.Namespace) -> Path:
    """The committed results for a full run on their set; no other run must replace them."""
    full = options.limit is None and not options.only and options.judge == "default"
    if full and options.data.name == MEASURED:
        kind = "_topics" if options.topics else "_ablation" if options.ablation else ""
        return results.RESULTS / f"coverage{kind}.json"
    return Path(options.cache) / "coverage-partial.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks coverage",
        description="Compares configurations of the pipeline on questions with human labels.",
        epilog=data_note("coverage", "Any file of the same form will do."),
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="JSON lines of passages and labelled questions"
    )
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
        "--judge", default="default", help=f"{JUDGES}; 'none' leaves the judged rows out"
    )
    parser.add_argument("--only", action="append", help="only rows with this in their name")
    parser.add_argument("--out", type=Path, help="results file (.json; a table goes beside it)")
    parser.add_argument("--cache", type=Path, default=results.CACHE, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=13, help="of the resampling")
    parser.add_argument("--strict", action="store_true", help="any degradation is an error")
    return parser


main = Benchmark(_parser, _run)
