"""Plans a large corpus: storage, memory, hours and money of three set-ups, from measured rates.

python -m benchmarks plan
python -m benchmarks plan --passages 5000000 --set-up "mine=machines:4,cores:16,price:0.7"
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run, publish
from benchmarks.plan.planning import SET_UPS, Rates, SetUp, planned
from benchmarks.plan.report import tables
from perspective_rag import ConfigError

SIZES = (22_000_000, 906_000_000)
"""The passages of Wikipedia (DPR's, 2018) and of Sphere, the corpora of BERDS."""


def _run(run: Run) -> int:
    options = run.options
    started = time.perf_counter()
    try:
        measured = results.read(options.rates)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{options.rates} holds no rates ({error}): `python -m benchmarks engines` measures"
        ) from error
    try:
        rates = Rates.of(measured)
    except (KeyError, ZeroDivisionError) as error:
        raise ConfigError(f"{options.rates} lacks a rate: {error!r}") from error
    set_ups = [SetUp.of(text) for text in options.set_up or ()] or list(SET_UPS)
    sizes = options.passages or SIZES
    found = {
        "rates": asdict(rates),
        "measured_at": measured["date"],
        "measured_by": measured["command"],
        "speeds": {
            each.name: {"embedded": each.embeds(rates), "judged": each.judges(rates)}
            for each in set_ups
        },
        "rows": [
            planned(size, options.pairs, each, rates, compressed=options.compressed)
            for size in sizes
            for each in set_ups
        ],
    }
    document = results.document(
        "plan",
        arguments=run.given,
        config={
            "set_ups": [asdict(each) for each in set_ups],
            "pairs": options.pairs,
            "compressed": options.compressed,
        },
        seed=0,
        data=measured["data"],
        embedder=measured["embedder"],
        judge=measured["judge"],
        seconds=time.perf_counter() - started,
        degradations=0,
        results=found,
    )
    shown = tables(document)
    markdown = "\n".join(table.markdown() for table in shown)
    out = options.out or results.place("plan", partial=bool(run.given))
    publish(document, out, run.console, markdown=markdown, shown=shown)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks plan",
        description=__doc__.partition("\n")[0],
        epilog="Rates of CPUs are measured; prices and rates of GPUs are assumptions: give yours.",
    )
    add = parser.add_argument
    add(
        "--rates",
        type=Path,
        default=results.RESULTS / "engines.json",
        help="results of benchmarks engines (default: those of this repository)",
    )
    add("--passages", type=whole, action="append", metavar="N", help="again for more sizes")
    add("--pairs", type=whole, default=1_000_000, help="to be judged (default: %(default)s)")
    add(
        "--set-up",
        action="append",
        metavar="NAME=machines:M,cores:C,price:P",
        help="of one machine: cores and price an hour, or with embedded:X,judged:Y a second",
    )
    add(
        "--compressed",
        type=whole,
        default=64,
        help="bytes of a quantised vector in memory (default: %(default)s)",
    )
    add("--out", type=Path, help="results file (.json; tables in .md beside it)")
    return parser


main = Benchmark(_parser, _run)
