"""How well a judge detects perspectives: BERDS Table 7, other domains, robustness, speed.

python -m benchmarks download berds-human
python -m benchmarks perspective_detection --data data/judge_human/pairs.jsonl
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.command import publish, run_command
from benchmarks.core.data import data_note, needed
from benchmarks.core.judges import JUDGES, named_judge
from benchmarks.core.table import Table
from benchmarks.perspective_detection.detection import by_source, detection, read_human_pairs
from benchmarks.perspective_detection.judging import facts, verdicts
from benchmarks.perspective_detection.report import tables
from benchmarks.perspective_detection.robustness import (
    MINIMAL_PAIRS,
    read_minimal_pairs,
    robustness,
)
from benchmarks.perspective_detection.speed import speed
from perspective_rag import ConfigError
from perspective_rag.extend import Judge
from perspective_rag_train.data import read_pairs


def main(
    arguments: Sequence[str] | None = None,
    *,
    judge: Judge | None = None,
    console: Console | None = None,
) -> int:
    """Runs the benchmark; ``judge`` replaces that of the command line.

    The exit status is 0, or 2 for what could not be done; a target that was missed is a result.
    """
    run = partial(_run, judge=judge)
    return run_command(arguments, _parser(), run, console)


def _run(
    options: argparse.Namespace, given: list[str], console: Console, *, judge: Judge | None
) -> int:
    document = _measured(options, given, judge, console)
    shown = tables(document["results"])
    publish(
        document,
        options.out or results.CACHE / "perspective-detection.json",
        console,
        markdown="\n".join(table.markdown() for table in shown),
        shown=[_narrow(table) for table in shown],
    )
    return 0


def _measured(
    options: argparse.Namespace, given: list[str], judge: Judge | None, console: Console
) -> dict[str, Any]:
    started = time.perf_counter()
    pairs = read_human_pairs(needed(options.data, "perspective_detection"))
    folder = None
    if judge is None:
        judge, folder = named_judge(options.judge)
    about = facts(folder)
    console.print(f"Judging {len(pairs)} pairs labelled by people", highlight=False)
    begun = time.perf_counter()
    found = verdicts(judge, [p.document for p in pairs], [p.perspective for p in pairs])
    rate = len(pairs) / (time.perf_counter() - begun)
    thresholds: dict[str, float] = {"threshold of the folder": judge.threshold}
    if about["best_f1_threshold"] is not None:
        thresholds["threshold of best F1 on development pairs"] = about["best_f1_threshold"]
    failed = found.failed
    result: dict[str, Any] = {
        "detection": {
            name: detection(pairs, found, threshold, seed=options.seed)
            for name, threshold in thresholds.items()
        },
        "pairs_per_second": round(rate, 1),
        "parameters": about["parameters"],
    }
    data = {"human pairs": _facts(options.data, len(pairs))}
    if options.dev:
        rows = read_pairs([options.dev])
        console.print(f"Judging {len(rows)} development pairs", highlight=False)
        seen = verdicts(judge, [p.document for p in rows], [p.statement for p in rows])
        failed += seen.failed
        result["domains"] = by_source(rows, seen)
        data["development pairs"] = _facts(options.dev, len(rows))
    if options.robustness:
        minimal = read_minimal_pairs()
        console.print(f"Judging {len(minimal)} minimal pairs and attacks", highlight=False)
        result["robustness"] = robustness(judge, minimal, seed=options.seed)
        data["minimal pairs"] = _facts(MINIMAL_PAIRS, len(minimal))
    if options.speed:
        if folder is None or not folder.is_dir():
            raise ConfigError("--speed compares a judge in a folder with itself in PyTorch")
        texts = list(dict.fromkeys(p.document for p in pairs))
        asked = list(dict.fromkeys(p.perspective for p in pairs))
        result["speed"] = speed(folder, texts, asked)
    return results.document(
        "perspective_detection",
        arguments=given,
        config={"thresholds": thresholds},
        seed=options.seed,
        data=data,
        embedder="none",
        judge=results.judge_identity(judge, folder),
        seconds=time.perf_counter() - started,
        degradations=failed,
        results=result,
    )


def _facts(path: Path, rows: int) -> Mapping[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": path.name, "sha256": digest, "rows": rows}


def _narrow(table: Table) -> Table:
    """Values without their intervals where the table would not fit a terminal."""
    if len(table.columns) < 8:
        return table
    short = Table(table.title.removesuffix(", 95% intervals over documents"), table.columns)
    for row in table.rows:
        short.add(row[0], *(cell.partition(" [")[0] for cell in row[1:]))
    return short


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks perspective_detection",
        description="Figures of a judge on pairs that people labelled, beside the paper's.",
        epilog=data_note("perspective_detection", "Never tune on it: it is for reports only."),
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="question, document, perspective, label 0 or 1"
    )
    parser.add_argument("--judge", default="default", help=JUDGES)
    parser.add_argument("--dev", type=Path, help="development pairs, for the table by source")
    parser.add_argument("--robustness", action="store_true", help="minimal pairs and attacks too")
    parser.add_argument("--speed", action="store_true", help="beside the same network in PyTorch")
    parser.add_argument("--out", type=Path, help="results file (.json; tables go beside it)")
    parser.add_argument("--seed", type=int, default=13, help="of the resampling")
    return parser
