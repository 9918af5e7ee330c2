"""Search, projection and the guarded pipeline from 10,000 vectors to 10,000,000.

python -m benchmarks scale --sizes 10000 100000
python -m benchmarks scale --sizes 10000 100000 1000000 --resume
python -m benchmarks scale --sizes 10000000 --kinds ivfpq --resume
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.scale.collection import KINDS, Tell
from benchmarks.scale.experiment import Settings, measured
from benchmarks.scale.measure import FETCH_K, GUARDED
from benchmarks.scale.plot import draw
from benchmarks.scale.report import tables
from benchmarks.scale.vectors import DIMENSIONS

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, 2 where no size was measured, 130 after Ctrl-C."""
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started, load = time.perf_counter(), os.getloadavg()[0]
    settings = Settings(options.queries, options.seconds, options.seed, options.threads)
    full = set(options.sizes) == set(SIZES) and set(options.kinds) == set(KINDS)
    out = options.out or results.place("scale", partial=not full)
    found: list[dict[str, Any]] = []
    document: dict[str, Any] = {}
    with threadpool_limits(1, "blas"), console.status("starting") as status:
        for each in measured(
            options.sizes,
            options.kinds,
            settings,
            options.work,
            resume=options.resume or options.kept,
            kept_alone=options.kept,
            told=status.update if console.is_terminal else _lines(console),
        ):
            found.append(each)
            document = results.document(
                "scale",
                arguments=given,
                config={
                    "queries": options.queries,
                    "seconds": options.seconds,
                    "threads_to_build": options.threads,
                    "fetch_k": FETCH_K,
                    "guarded": dict(GUARDED),
                    "load_average_before": round(load, 2),
                    "load_average_after": round(os.getloadavg()[0], 2),
                },
                seed=options.seed,
                data={
                    "name": "clustered synthetic unit vectors, float16 on disk",
                    "vectors": list(options.sizes),
                    "d": DIMENSIONS,
                },
                embedder="look-up",
                judge={"name": "fixed cost", "threshold": 0.5, "files": None},
                seconds=time.perf_counter() - started,
                degradations=0,
                results={"measured": found},
            )
            results.write(document, out)  # what there is is kept, whatever becomes of the next
    if not found:
        console.print("No size was measured: no kind of index is built for these sizes")
        return 2
    shown = tables(found)
    draw(found, out.with_name(f"{out.stem}-cost.svg"))
    text = "\n".join(table.markdown() for table in shown)
    publish(document, out, console, markdown=text, shown=shown)
    return 0


def _lines(console: Console, every: float = 10.0) -> Tell:
    """Prints what it is told, at most once in so many seconds."""
    next_at = 0.0

    def tell(said: str) -> None:
        nonlocal next_at
        if time.monotonic() >= next_at:
            console.print(said, highlight=False)
            next_at = time.monotonic() + every

    return tell


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: none; vectors are drawn. 10,000,000 of them need 10 GB of disk.",
    )
    add = parser.add_argument
    add("--sizes", type=whole, nargs="+", default=list(SIZES), help="numbers of vectors")
    add("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of index")
    add("--queries", type=whole, default=50)
    add("--seconds", type=float, default=40.0, help="of timing, for each size and kind")
    add(
        "--threads",
        type=whole,
        default=os.cpu_count() or 1,
        help="that build an index; a search has one",
    )
    add("--resume", action="store_true", help="do not measure again what was kept")
    add("--kept", action="store_true", help="report what was kept so far, and measure nothing")
    add("--work", type=Path, default=results.CACHE / "scale", help="vectors, indexes, what is kept")
    add("--out", type=Path, help="results file (.json; tables and plot go beside it)")
    add("--seed", type=int, default=13, help="of the vectors")
    return parser
