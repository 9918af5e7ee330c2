"""What wrapping adds to each store's own searches, as ratios within one run.

python -m benchmarks overhead
python -m benchmarks overhead --stores FAISS --vectors 10000 --seconds 2
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.overhead import ONE_BLAS_THREAD, measure
from benchmarks.overhead.experiment import measure_stores
from benchmarks.overhead.report import table
from benchmarks.overhead.stores import DIMENSIONS, STORES

VECTORS = 100_000


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, for a target that was missed too, or 2 when no
    store was measured, and 130 after Ctrl-C.
    """
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    names = [
        name for name in STORES if not options.stores or options.stores.lower() in name.lower()
    ]
    started, load = time.perf_counter(), os.getloadavg()[0]
    with console.status("starting") as status:
        stores, absent = measure_stores(
            names,
            vectors=options.vectors,
            seed=options.seed,
            seconds=options.seconds,
            told=status.update,
        )
    if not stores:
        console.print(f"No store was measured; absent: {absent or options.stores}")
        return 2
    document = results.document(
        "overhead",
        arguments=given,
        config={
            "seconds": options.seconds,
            "one_blas_thread": ONE_BLAS_THREAD,
            "load_average_before": round(load, 2),
            "load_average_after": round(os.getloadavg()[0], 2),
        },
        seed=options.seed,
        data={"name": "random unit vectors", "vectors": options.vectors, "d": DIMENSIONS},
        embedder="look-up",
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=sum(
            setting["degradations"]
            for store in stores.values()
            for setting in store["settings"].values()
        ),
        results={
            "stores": stores,
            "absent": absent,
            "target": {"ms": measure.TARGET_MS, "share": measure.TARGET_SHARE, "at": VECTORS},
        },
    )
    partial = bool(options.stores) or options.vectors != VECTORS
    shown = table(document["results"])
    out = options.out or results.place("overhead", partial=partial)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks overhead",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: none; vectors are random.",
    )
    parser.add_argument("--stores", help="only those with this in their name")
    parser.add_argument("--vectors", type=whole, default=VECTORS, help="in each store, at most")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each store and setting")
    parser.add_argument("--out", type=Path, help="results file (.json; the table goes beside it)")
    parser.add_argument("--seed", type=int, default=13, help="of the random vectors")
    return parser
