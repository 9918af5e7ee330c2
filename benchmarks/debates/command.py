"""The packaged judge on the sample debates, held against limits.

python -m benchmarks debates              # measures
python -m benchmarks debates --check      # exit status 1 below limits.toml
python -m benchmarks debates --check --targets
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.core import results
from benchmarks.core.command import Benchmark, Run, publish
from benchmarks.core.judges import JUDGES, named_judge
from benchmarks.debates.experiment import DEBATES, LISTED_K, K, measure, read_asked, read_labels
from benchmarks.debates.limits import LIMITS, read_limits
from benchmarks.debates.report import tables
from perspective_rag import Corpus, OnnxMiniLM, local_pipeline


def _run(run: Run) -> int:
    """The status is 0, or 1 with ``--check`` when a limit was missed."""
    options, console = run.options, run.console
    started = time.perf_counter()
    limits = read_limits(options.limits)
    judge, folder = run.judge, None
    if judge is None:
        judge, folder = named_judge(options.judge)
    embedder = run.embedder or OnnxMiniLM()
    corpus = Corpus.load(DEBATES / "passages.jsonl")
    asked = read_asked()
    with console.status("asking"):
        pipeline = local_pipeline(
            corpus, embedder=embedder, judge=judge, cache=options.cache, strict=True
        )
        found = measure(pipeline, asked, read_labels())
    found["limits"] = limits.model_dump(exclude_none=True)
    document = results.document(
        "debates",
        arguments=run.given,
        config={"k": [K, LISTED_K]},
        seed=0,
        data={"name": "examples/debates", "fingerprint": corpus.fingerprint},
        embedder=results.embedder_name(embedder),
        judge=results.judge_identity(judge, folder),
        seconds=time.perf_counter() - started,
        degradations=found["degradations"],
        results=found,
    )
    shown = tables(found)
    own = options.judge != "default" or folder is None
    out = options.out or results.place("debates", partial=own)
    markdown = "\n".join(table.markdown() for table in shown)
    publish(document, out, console, markdown=markdown, shown=shown)
    missed = limits.limits.missed(found)
    for line in missed:
        console.print(f"missed: {line}", style="bold red", highlight=False, markup=False)
    wanted = limits.targets.missed(found)
    for line in wanted:
        console.print(f"target: {line}", style="yellow", highlight=False, markup=False)
    failed = missed or (options.targets and wanted)
    return int(bool(options.check and failed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks debates",
        description="The packaged judge on the sample debates, held against limits.",
        epilog="Data: none to download; it asks over examples/debates.",
    )
    add = parser.add_argument
    add("--judge", default="default", help=JUDGES)
    add("--check", action="store_true", help="exit status 1 when a limit is missed")
    add("--targets", action="store_true", help="with --check: targets count as limits")
    add("--limits", type=Path, default=LIMITS, help="a TOML file (default: %(default)s)")
    add("--out", type=Path, help="results file (.json; the tables go beside it)")
    add("--cache", type=Path, default=results.CACHE / "debates", help="default: %(default)s")
    return parser


main = Benchmark(_parser, _run)
