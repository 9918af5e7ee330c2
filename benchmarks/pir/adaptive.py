"""The projection chosen per query, its constants chosen without the task that is scored.

python -m benchmarks download pir-demo
python -m benchmarks pir.adaptive --data data/pir_demo --retriever all-minilm-l6-v2

For each group of tasks: plain cosine, fixed rows, the adaptive choice, it with the judge's
re-ordering by stance, parts of it left out, and reworded queries; queries of equal text merged and
apart. For the first group also the constants chosen on all tasks but one, and but two, of a grid;
``benchmarks.pir.left_out`` chooses them over several encoders.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.bootstrap import macro_difference
from benchmarks.core.command import run_command
from benchmarks.core.data import data_note
from benchmarks.core.judges import named_judge
from benchmarks.pir.data import Group, read_groups, without_labels
from benchmarks.pir.embedding import DenseRetriever, TaskVectors, Vectors
from benchmarks.pir.left_out import left_out
from benchmarks.pir.methods import METHODS, PLAIN, Method, adaptive
from benchmarks.pir.metrics import gold_ranks, root_values
from benchmarks.pir.retrievers import Choices, Retriever, load_retriever
from benchmarks.pir.rewording import reworded
from benchmarks.pir.stance import other_side_last, reranked, sides_asked, sides_found
from benchmarks.pir.tasks import Task
from perspective_rag import CachedJudge, ConfigError, PipelineOptions
from perspective_rag.addons import Recorder
from perspective_rag.extend import Judge, Matrix
from perspective_rag.maths.adaptive import COMMON, FULL_SPREAD, KINDS

K = 5
JUDGED = PipelineOptions().judge_k
CUTS = (1, 10, JUDGED)
"""Further cuts: with the first ``JUDGED`` in a perfect order, p-Recall@K would be that @JUDGED."""

RERANKED = "adaptive + stance rerank"
KNOWN = "adaptive, gold of the other side last"
FIXED = (PLAIN, "pap", "pap+", "add", "tri-sum")
COMMONS = (0.25, 0.5, 0.75)
FULL_AT = (0.2, 0.225, 0.25)
ALWAYS, NEVER = 1e-9, 1e9
"""FULL_SPREAD such that every perspective counts in full, and that none counts."""

Values = dict[str, dict[str, list[float]]]
"""method -> task -> p-Recall@5 of each root."""


def main(
    arguments: Sequence[str] | None = None,
    *,
    retriever: Retriever | None = None,
    judge: Judge | None = None,
    console: Console | None = None,
) -> int:
    """Runs the comparison; ``retriever`` and ``judge`` replace those of the command line.

    The exit status is 0, 2 for what could not be done, and 130 after Ctrl-C.
    """
    run = partial(_run, retriever=retriever, judge=judge)
    return run_command(arguments, _parser(), run, console)


def _run(
    options: argparse.Namespace,
    given: list[str],
    console: Console,
    *,
    retriever: Retriever | None,
    judge: Judge | None,
) -> int:
    started = time.perf_counter()
    groups = without_labels(read_groups(options.data), options.without)
    if retriever is None:
        retriever = load_retriever(options.retriever, Choices(model=options.model))
    if not isinstance(retriever, DenseRetriever):
        raise ConfigError(f"{options.retriever} has no vectors to project")
    folder, kept, book = None, None, Recorder()
    if options.rerank and judge is None:
        model, folder = named_judge(options.judge)
        judge = kept = CachedJudge(model, options.cache / "pir" / "verdicts.sqlite")
    vectors = Vectors(retriever, options.cache / "pir")
    kinds = vectors.of_queries(KINDS)
    found: dict[str, Any] = {}
    for group in groups:
        console.print(f"{group.name}: {', '.join(task.name for task in group.tasks)}")
        with_grid = group is groups[0]
        found[group.name] = _group(group, vectors, kinds, judge, book, options, with_grid)
        console.print(_lines(found[group.name]), highlight=False)
    vectors.close()
    if kept is not None:
        kept.close()
    document = results.document(
        "pir.adaptive",
        arguments=given,
        config={"common": COMMON, "full_spread": FULL_SPREAD, "kinds": list(KINDS), "k": K},
        seed=options.seed,
        data={g.name: {t.name: t.fingerprint for t in g.tasks} for g in groups},
        embedder=retriever.name,
        judge=results.judge_identity(judge, folder) if judge is not None else None,
        seconds=time.perf_counter() - started,
        degradations=len(book.degradations),
        results={"groups": found},
    )
    results.write(document, options.out)
    console.print(f"Written to {options.out}", highlight=False)
    return 0


def _group(
    group: Group,
    vectors: Vectors,
    kinds: Matrix,
    judge: Judge | None,
    book: Recorder,
    options: argparse.Namespace,
    with_grid: bool,
) -> dict[str, Any]:
    methods: dict[str, Method] = {name: METHODS[name] for name in FIXED}
    methods["adaptive"] = adaptive(kinds)
    methods["adaptive, perspective always in full"] = adaptive(kinds, full_at=ALWAYS)
    methods["adaptive, no kinds of text"] = adaptive()
    methods["adaptive, perspective never"] = adaptive(kinds, full_at=NEVER)
    methods["adaptive, nothing in common removed"] = adaptive(kinds, common=0.0)
    cells = {
        f"common {c}, full at {f}": adaptive(kinds, common=c, full_at=f)
        for c, f in product(COMMONS, FULL_AT)
        if with_grid
    }
    rows: dict[str, Values] = {"merged": {}, "apart": {}}
    grid: dict[str, Values] = {"merged": {}, "apart": {}}
    cuts: dict[str, dict[int, Values]] = {name: {k: {} for k in CUTS} for name in rows}
    worded: Values = {}
    judged, sides = 0, {}
    for task in group.tasks:
        merged = task.merged()
        once = vectors.of(merged)
        scores = {name: _scores(method, once) for name, method in methods.items()}
        if judge is not None:
            scores[RERANKED], pairs = reranked(judge, merged, scores["adaptive"], book=book)
            scores[KNOWN] = other_side_last(merged, scores["adaptive"])
            judged += pairs
        if any(sides_asked(merged)):
            sides[task.name] = {
                name: sides_found(merged, scores[name], K)
                for name in (PLAIN, "pap", "adaptive", RERANKED)
                if name in scores
            }
        of_cells = {name: _scores(method, once) for name, method in cells.items()}
        for target, table in ((rows, scores), (grid, of_cells)):
            apart = {name: _spread(each, task, merged) for name, each in table.items()}
            for reading, of, found in (("merged", merged, table), ("apart", task, apart)):
                _record(target[reading], of, found)
                if target is rows:
                    for k, values in cuts[reading].items():
                        _record(values, of, found, k)
        if options.reworded:
            other = reworded(merged)
            again = vectors.of(other)
            for name in (PLAIN, "adaptive"):
                _record(worded, other, {name: _scores(methods[name], again)})
    means = {
        reading: {cell: _means(tasks) for cell, tasks in values.items()}
        for reading, values in grid.items()
    }
    plain = {reading: _means(values[PLAIN]) for reading, values in rows.items()}
    return {
        "judged_pairs": judged,
        "sides": sides,
        "rows": {
            reading: _summary(values, options.seed, cuts[reading])
            for reading, values in rows.items()
        },
        "grid": {reading: dict(cells) for reading, cells in means.items()},
        "left_out_one": {r: left_out([means[r]], [plain[r]], 1)[0] for r in means},
        "left_out_two": {r: left_out([means[r]], [plain[r]], 6)[0] for r in means},
        "reworded": _summary(worded, options.seed) if worded else None,
    }


def _scores(method: Method, vectors: TaskVectors) -> Matrix:
    return method(vectors.queries, vectors.roots, vectors.perspectives, vectors.corpus)


def _spread(scores: Matrix, task: Task, merged: Task) -> Matrix:
    """The rows of merged queries for the queries they were merged from."""
    place = {(query.text, query.root): i for i, query in enumerate(merged.queries)}
    return scores[[place[query.text, query.root] for query in task.queries]]


def _record(values: Values, task: Task, scores: Mapping[str, Matrix], k: int = K) -> None:
    for name, each in scores.items():
        found = root_values(gold_ranks(each, task), task, k)
        values.setdefault(name, {})[task.name] = found


def _summary(values: Values, seed: int, cuts: Mapping[int, Values] | None = None) -> dict[str, Any]:
    summary = {}
    plain = list(values[PLAIN].values())
    for name, tasks in values.items():
        means = _means(tasks)
        difference = macro_difference(list(tasks.values()), plain, seed=seed)
        summary[name] = {
            "tasks": {task: round(mean, 6) for task, mean in means.items()},
            "mean": round(float(np.mean(list(means.values()))), 6),
            "over_plain": round(
                float(np.mean([means[t] - 100.0 * np.mean(values[PLAIN][t]) for t in means])), 6
            ),
            "p": round(difference.p, 6),
            "cuts": {
                str(k): {task: round(mean, 6) for task, mean in _means(found[name]).items()}
                for k, found in (cuts or {}).items()
            },
        }
    return summary


def _means(tasks: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Percent of each task."""
    return {task: 100.0 * float(np.mean(found)) for task, found in tasks.items()}


def _lines(summary: Mapping[str, Any]) -> str:
    lines = []
    for reading, rows in summary["rows"].items():
        lines.append(reading)
        for name, row in rows.items():
            lines.append(_line(name, row))
        for left in ("left_out_one", "left_out_two"):
            if found := summary[left][reading]:
                lines.append(f"  {left}: mean {found['mean']:.2f} {found['over_plain']:+.2f}")
    if summary["reworded"]:
        for name, row in summary["reworded"].items():
            lines.append(_line(f"reworded, {name}", row))
    return "\n".join(lines)


def _line(name: str, row: Mapping[str, Any]) -> str:
    values = "  ".join(f"{task} {value:5.1f}" for task, value in row["tasks"].items())
    return f"  {name:38s} {values}  mean {row['mean']:5.2f} {row['over_plain']:+.2f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pir.adaptive",
        description="The projection chosen per query against plain cosine and fixed projections.",
        epilog=data_note("pir.adaptive"),
    )
    add = parser.add_argument
    add("--data", action="append", required=True, help="as for benchmarks.pir")
    add("--retriever", default="all-minilm-l6-v2", help="as for benchmarks.pir")
    add("--model", help="an id or folder in place of the retriever's own weights")
    add("--without", action="append", default=[], metavar="GROUP/TASK=LABEL")
    add("--rerank", action="store_true", help="also re-order by stance with a judge")
    add("--judge", default="default", help="default, a folder, a preset or a model id")
    add("--reworded", action="store_true", help="also with queries in other words")
    add("--out", type=Path, default=results.RESULTS / "pir_adaptive.json")
    add("--cache", type=Path, default=results.CACHE, help="default: %(default)s")
    add("--seed", type=int, default=13, help="of the significance test")
    return parser


if __name__ == "__main__":
    sys.exit(main())
