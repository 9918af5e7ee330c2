"""The constants of the adaptive choice, chosen without the tasks that are scored.

python -m benchmarks pir.left_out benchmarks/results/pir_adaptive.json \\
    benchmarks/results/pir_adaptive-all-mpnet-base-v2.json

Reads the grids of ``benchmarks.pir.adaptive``. For each task, the cell that is best on the mean of
the other tasks is scored on it. With several results files, the mean is over all of them, and a
task is left out of every one; each file is then scored by what was chosen together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.command import run_command
from perspective_rag import ConfigError

Means = Mapping[str, float]
"""task -> p-Recall@5 in percent."""

Grid = Mapping[str, Means]
"""cell -> task -> p-Recall@5 in percent."""


def left_out(grids: Sequence[Grid], plains: Sequence[Means], count: int) -> list[dict[str, Any]]:
    """Each choice of ``count`` tasks scored with the cell best on the others, for each grid.

    A cell's worth is the mean over the grids of the mean over their tasks that are not left out;
    of equal cells the first is taken. A grid need not have every task. ``over_plain`` is the mean
    of the differences to ``plains``, ``least_over_plain`` the least of them. Empty for grids with
    no more than ``count`` tasks.
    """
    tasks = list(dict.fromkeys(task for plain in plains for task in plain))
    if not grids or not grids[0] or min(map(len, plains)) <= count:
        return [{} for _ in grids]
    folds: dict[str, str] = {}
    scored: list[dict[str, list[float]]] = [{task: [] for task in plain} for plain in plains]
    for held in combinations(tasks, count):
        best = max(grids[0], key=lambda cell: _worth(grids, cell, held))
        folds[" + ".join(held)] = best
        for values, grid in zip(scored, grids, strict=True):
            for task in held:
                if task in values:
                    values[task].append(grid[best][task])
    return [_scores(folds, values, plain) for values, plain in zip(scored, plains, strict=True)]


def _worth(grids: Sequence[Grid], cell: str, held: Sequence[str]) -> float:
    return float(
        np.mean(
            [
                np.mean([mean for task, mean in grid[cell].items() if task not in held])
                for grid in grids
            ]
        )
    )


def _scores(
    folds: Mapping[str, str], values: Mapping[str, Sequence[float]], plain: Means
) -> dict[str, Any]:
    own = {task: float(np.mean(found)) for task, found in values.items()}
    over = [own[task] - plain[task] for task in own]
    return {
        "chosen": dict(folds),
        "tasks": {task: round(value, 4) for task, value in own.items()},
        "mean": round(float(np.mean(list(own.values()))), 4),
        "over_plain": round(float(np.mean(over)), 4),
        "least_over_plain": round(min(over), 4),
    }


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Prints and writes the scores; the exit status is 0, or 2 for files that cannot be used."""
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    found: dict[str, Any] = {}
    try:
        documents = [results.read(path) for path in options.files]
    except (OSError, ValueError) as error:
        raise ConfigError(f"a results file cannot be read: {error}") from error
    names = [document["embedder"] for document in documents]
    for reading in ("merged", "apart"):
        grids = [_grid(document, options.group, reading) for document in documents]
        plains = [_plain(document, options.group, reading) for document in documents]
        for count in (1, 2):
            chosen = left_out(grids, plains, count)
            found.setdefault(reading, {})[f"left_out_{count}"] = dict(
                zip(names, chosen, strict=True)
            )
            for name, row in zip(names, chosen, strict=True):
                if not row:
                    continue
                console.print(
                    f"{reading}, {count} left out, {name}: mean {row['mean']:.2f} "
                    f"{row['over_plain']:+.2f} least {row['least_over_plain']:+.2f}",
                    highlight=False,
                )
    document = results.document(
        "pir.left_out",
        arguments=given,
        config={"group": options.group},
        seed=0,
        data={document["embedder"]: document["data"] for document in documents},
        embedder=", ".join(names),
        judge=None,
        seconds=0.0,
        degradations=0,
        results=found,
    )
    results.write(document, options.out)
    return 0


def _grid(document: Mapping[str, Any], group: str, reading: str) -> Grid:
    try:
        grid: Grid = document["results"]["groups"][group]["grid"][reading]
    except (KeyError, TypeError) as error:
        raise ConfigError(
            f"a results file has no grid for {group}: run benchmarks.pir.adaptive"
        ) from error
    return grid


def _plain(document: Mapping[str, Any], group: str, reading: str) -> Means:
    plain: Means = document["results"]["groups"][group]["rows"][reading]["none"]["tasks"]
    return plain


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pir.left_out",
        description="Constants chosen on all tasks but those scored, over several encoders.",
    )
    parser.add_argument("files", type=Path, nargs="+", help="of benchmarks.pir.adaptive")
    parser.add_argument("--group", default="pir_demo", help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=results.RESULTS / "pir_left_out.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
