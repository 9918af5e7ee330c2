"""What a projection adds to a search: milliseconds a query at growing numbers of vectors.

python -m benchmarks pir.cost --vectors 10000 100000 1000000

One exact FAISS index of random unit vectors on one thread; the median processor time of a search
with the plain query, of one with PAP (the query projected, then the same search), and of the
adaptive choice (its deeper search, the vectors of what that finds, and the ranking).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import run_command
from perspective_rag.addons import normalised
from perspective_rag.extend import Matrix, Vector
from perspective_rag.maths.adaptive import CANDIDATES, KINDS, choose, parts
from perspective_rag.maths.projection import project_query

SIZES = (10_000, 100_000, 1_000_000)
CHUNK = 100_000


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, or 130 after Ctrl-C."""
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started = time.perf_counter()
    found = {}
    for size in options.vectors:
        row = measure(size, options.dimensions, options.queries, options.fetch_k, options.seed)
        found[str(size)] = row
        console.print(
            f"{size:>9,} vectors: "
            + ", ".join(f"{name} {value:.3f}" for name, value in row.items()),
            highlight=False,
        )
    document = results.document(
        "pir.cost",
        arguments=given,
        config={
            "dimensions": options.dimensions,
            "queries": options.queries,
            "fetch_k": options.fetch_k,
            "index": "faiss.IndexFlatIP",
            "unit": "median milliseconds of processor time a query, one thread",
        },
        seed=options.seed,
        data={"random unit vectors": list(options.vectors)},
        embedder="none",
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=0,
        results={"by_vectors": found},
    )
    results.write(document, options.out)
    console.print(f"Written to {options.out}", highlight=False)
    return 0


def measure(size: int, dimensions: int, queries: int, fetch_k: int, seed: int) -> dict[str, float]:
    """Median milliseconds of each way, and the ratios to plain search of the query-wise medians.

    The ways take turns within each query, so that what else the machine does strikes all alike.
    """
    import faiss

    # Processor time of one thread: what else the machine does then counts for nothing.
    faiss.omp_set_num_threads(1)
    generator = np.random.default_rng(seed)
    index = faiss.IndexFlatIP(dimensions)
    for start in range(0, size, CHUNK):
        index.add(_random(generator, min(CHUNK, size - start), dimensions))
    kinds = _random(generator, len(KINDS), dimensions)
    triples = _random(generator, 3 * queries, dimensions).reshape(queries, 3, dimensions)

    def search(vector: Vector, k: int = fetch_k) -> Matrix:
        unit = np.ascontiguousarray(normalised(vector)[None, :], dtype=np.float32)
        _, positions = index.search(unit, k)
        rows: Matrix = positions[0]
        return rows

    def plain(q: Vector, r: Vector, p: Vector) -> None:
        search(q)

    def pap(q: Vector, r: Vector, p: Vector) -> None:
        search(project_query("pap", q, r, p)[0])

    def adaptive(q: Vector, r: Vector, p: Vector) -> None:
        turned = parts(q, r, p, kinds=kinds)
        found = search(turned.search, max(fetch_k, CANDIDATES))
        rows = index.reconstruct_batch(found)
        np.argsort(-(rows @ choose(turned, rows).vector), kind="stable")

    ways: dict[str, Callable[[Vector, Vector, Vector], None]] = {
        "plain": plain,
        "pap": pap,
        "adaptive": adaptive,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way(*triples[0])
    for place, triple in enumerate(triples):
        names = list(ways)
        for name in names[place % 3 :] + names[: place % 3]:
            begun = time.thread_time()
            ways[name](*triple)
            taken[name].append(1000.0 * (time.thread_time() - begun))
    medians = {name: float(np.median(values)) for name, values in taken.items()}
    row = {f"{name}_ms": round(value, 4) for name, value in medians.items()}
    for name in ("pap", "adaptive"):
        row[f"{name}_times_plain"] = round(medians[name] / medians["plain"], 3)
    row["pap_turning_ms"] = round(_turning(triples), 4)
    return row


def _turning(triples: Matrix) -> float:
    """Median milliseconds of PAP's arithmetic alone."""
    taken = []
    for q, r, p in triples:
        begun = time.thread_time()
        project_query("pap", q, r, p)
        taken.append(1000.0 * (time.thread_time() - begun))
    return float(np.median(taken))


def _random(generator: np.random.Generator, rows: int, dimensions: int) -> Matrix:
    drawn = generator.standard_normal((rows, dimensions), dtype=np.float32)
    unit: Matrix = np.ascontiguousarray(normalised(drawn))
    return unit


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pir.cost", description="What a projection adds to a search."
    )
    add = parser.add_argument
    add("--vectors", type=whole, nargs="+", default=list(SIZES), help="default: %(default)s")
    add("--dimensions", type=whole, default=384)
    add("--queries", type=whole, default=60)
    add("--fetch-k", type=whole, default=50)
    add("--seed", type=int, default=13)
    add("--out", type=Path, default=results.RESULTS / "pir_cost.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
