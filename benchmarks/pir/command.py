"""Perspective-aware retrieval with one retriever and every method.

python -m benchmarks download pir-demo
python -m benchmarks pir --data data/pir_demo --retriever all-minilm-l6-v2
python -m benchmarks pir --data data/pir_demo --extract rules
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.bootstrap import RESAMPLES
from benchmarks.core.command import progress, publish, run_command
from benchmarks.core.data import data_note
from benchmarks.core.encoders import Pooling
from benchmarks.pir.bias import countries, country_counts, country_portions
from benchmarks.pir.data import DEMO, FULL, Group, first_roots, read_groups, without_labels
from benchmarks.pir.embedding import DenseRetriever, Vectors
from benchmarks.pir.extraction import SAMPLE, extraction_scores, llm_extractor, rule_extractor
from benchmarks.pir.methods import ADAPTIVE, METHODS, PLAIN, Method, adaptive
from benchmarks.pir.retrievers import RETRIEVERS, Choices, Retriever, load_retriever
from benchmarks.pir.running import Reading, TaskOutcome, run_dense, run_lexical
from benchmarks.pir.summary import group_summary
from benchmarks.pir.tables import extraction_scores_table, group_table
from perspective_rag import CachedLLM, ConfigError, OpenAICompatibleLLM
from perspective_rag.maths.adaptive import KINDS
from perspective_rag_train.append_log import slug

POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "pooler")


def main(
    arguments: Sequence[str] | None = None,
    *,
    retriever: Retriever | None = None,
    console: Console | None = None,
) -> int:
    """Runs the benchmark; ``retriever`` replaces the one of the command line.

    The exit status is 0, 2 for what could not be done, and 130 after Ctrl-C, from where the next
    run goes on.
    """
    run = partial(_run, retriever=retriever)
    return run_command(arguments, _parser(), run, console)


def _run(
    options: argparse.Namespace, given: list[str], console: Console, *, retriever: Retriever | None
) -> int:
    groups = without_labels(read_groups(options.data), options.without)
    groups = [first_roots(group, options.limit) for group in groups]
    for group in groups:
        for name in group.left_out:
            console.print(f"{group.name}/{name} is no retrieval task and is left out")
    document, name = (
        _extract(options, given, groups, console)
        if options.extract
        else _measure(options, given, groups, retriever, console)
    )
    publish(document, options.out or results.RESULTS / f"{name}.json", console)
    return 0


def _measure(
    options: argparse.Namespace,
    given: list[str],
    groups: Sequence[Group],
    retriever: Retriever | None,
    console: Console,
) -> tuple[dict[str, Any], str]:
    started = time.perf_counter()
    reading = _reading(options)
    if retriever is None:
        retriever = load_retriever(
            options.retriever,
            Choices(
                pooling=options.pooling,
                pooler_output=reading.pooler_output,
                model=options.model,
                passage_model=options.passage_model,
                base_url=options.base_url,
            ),
        )
    methods = _methods(options.method)
    found: dict[str, Any] = {}
    with progress(console) as bars:
        for group in groups:
            outcomes = _outcomes(group, retriever, reading, methods, options.cache, bars)
            found[group.name] = {
                **group_summary(outcomes, options.seed, options.resamples),
                "left_out": list(group.left_out),
                "countries": _countries(outcomes),
            }
    for name, summary in found.items():
        console.print(group_table(summary, f"{name}: p-Recall@5, {retriever.name}").rich())
    document = results.document(
        "pir",
        arguments=given,
        config={
            "retriever": options.retriever,
            "reading": reading.to_dict(),
            "methods": list(methods) if isinstance(retriever, DenseRetriever) else [PLAIN],
            "without": list(options.without),
            "limit": options.limit,
            "resamples": options.resamples,
        },
        seed=options.seed,
        data={
            group.name: {task.name: task.fingerprint for task in group.tasks} for group in groups
        },
        embedder=retriever.name,
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=0,
        results={"groups": found},
    )
    return document, f"{_name(options, groups)}{reading.suffix}"


def _name(options: argparse.Namespace, groups: Sequence[Group]) -> str:
    """Of the results file: the retriever, and what makes it other than a run on the paper's tasks,
    so that a trial replaces no results of theirs."""
    parts = ["pir", slug(options.retriever.rpartition("/")[2].rpartition(":")[2])]
    parts += [slug(group.name) for group in groups if group.name not in (DEMO, FULL)]
    if options.limit is not None:
        parts.append(f"first-{options.limit}")
    return "-".join(parts)


def _outcomes(
    group: Group,
    retriever: Retriever,
    reading: Reading,
    methods: dict[str, Method],
    cache: Path,
    bars: Progress,
) -> list[TaskOutcome]:
    tasks = [reading.task(task) for task in group.tasks]
    if not isinstance(retriever, DenseRetriever):
        return [run_lexical(task, retriever, reading) for task in tasks]
    vectors = Vectors(retriever, cache / "pir")
    if ADAPTIVE in methods:
        methods = {**methods, ADAPTIVE: adaptive(vectors.of_queries(KINDS))}
    found = []
    for task in tasks:
        bar = bars.add_task(f"embedding {task.name}")

        def told(name: str, done: int, total: int, bar: Any = bar) -> None:
            bars.update(bar, completed=done, total=total)

        known = vectors.of(task, told)
        bars.update(bar, description=f"scoring {task.name}")
        found.append(run_dense(task, known, reading, methods))
        bars.remove_task(bar)
    vectors.close()
    return found


def _countries(outcomes: Sequence[TaskOutcome]) -> dict[str, Any] | None:
    """What Figures 3, 5 and 6 show, for the first task whose queries ask for countries."""
    for outcome in outcomes:
        known = countries(outcome.task)
        if known is not None:
            portions = country_portions(outcome.plain_scores, known)
            return {
                "task": outcome.task.name,
                "names": [*known.names, "unknown"],
                "asked": [list(known.asked.values()).count(i) for i in range(len(known.names))],
                "documents": [
                    int((known.of_document == i).sum()) for i in (*range(len(known.names)), -1)
                ],
                "root_counts": country_counts(outcome.root_scores, known).tolist(),
                "portions": [[round(float(x), 6) for x in row] for row in portions],
            }
    return None


def _extract(
    options: argparse.Namespace, given: list[str], groups: Sequence[Group], console: Console
) -> tuple[dict[str, Any], str]:
    started = time.perf_counter()
    extractor, name = rule_extractor(), "rules"
    if options.extract != "rules":
        llm = OpenAICompatibleLLM(options.extract, base_url=options.base_url)
        kept = CachedLLM(llm, options.cache / "pir" / "replies.sqlite")
        extractor, name = llm_extractor(kept), options.extract
    found = {
        group.name: {
            task.name: extraction_scores(task, extractor, seed=options.seed).to_dict()
            for task in group.tasks
        }
        for group in groups
    }
    for group_name, tasks in found.items():
        title = f"{group_name}: extraction of the perspective, {name}"
        console.print(extraction_scores_table(tasks, title).rich())
    document = results.document(
        "pir",
        arguments=given,
        config={"extractor": name, "sample": SAMPLE},
        seed=options.seed,
        data={
            group.name: {task.name: task.fingerprint for task in group.tasks} for group in groups
        },
        embedder="none",
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=sum(int(t["degradations"]) for g in found.values() for t in g.values()),
        results={"extraction": found},
    )
    return document, f"pir-extraction-{slug(name.rpartition('/')[2])}"


def _methods(names: Sequence[str] | None) -> dict[str, Method]:
    if unknown := sorted(set(names or ()) - set(METHODS)):
        raise ConfigError(f"no method is named {unknown[0]!r}: {', '.join(METHODS)}")
    return {name: m for name, m in METHODS.items() if not names or name == PLAIN or name in names}


def _reading(options: argparse.Namespace) -> Reading:
    if options.as_published:
        return Reading.as_published()
    return Reading(**{name: getattr(options, name) for name in Reading().to_dict()})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pir",
        description="Perspective-aware retrieval (PIR): one retriever, every method.",
        epilog=data_note("pir", "`--data hub:all` takes the full sets from the hub as it runs."),
    )
    add = parser.add_argument
    add(
        "--data",
        action="append",
        required=True,
        help="a task file, a folder of them, hub:TASK or hub:all; several are averaged apart",
    )
    add(
        "--retriever",
        default="all-minilm-l6-v2-int8",
        help=f"{', '.join(RETRIEVERS)}, st:MODEL or openai:MODEL (default: %(default)s)",
    )
    add("--model", help="an id or folder in place of the retriever's own weights")
    add("--passage-model", help="the same for the passages' side where it has its own")
    add("--pooling", choices=POOLINGS, help="in place of the retriever's own")
    add("--base-url", help="the OpenAI-compatible server")
    add("--method", action="append", help="only these methods, and plain cosine")
    add(
        "--without",
        action="append",
        default=[],
        metavar="GROUP/TASK=LABEL",
        help="leave a task's queries of a label out",
    )
    add(
        "--limit",
        type=whole,
        metavar="N",
        help="only the first N roots of each task, on its corpus",
    )
    add("--extract", metavar="rules|MODEL", help="measure the extraction of perspectives instead")
    add("--as-published", action="store_true", help="all of the switches below")
    add("--unmerged", action="store_true", help="queries of equal text stay apart")
    add("--zero-single-roots", action="store_true", help="a root with one query scores 0")
    add("--extend-gold", action="store_true", help="a root's first query takes its siblings' gold")
    add("--pooler-output", action="store_true", help="encoders give their pooler's output")
    add(
        "--difference-perspective",
        action="store_true",
        help="p = q - r where the perspective is the whole query",
    )
    add(
        "--out",
        type=Path,
        help="results file (default: benchmarks/results/pir-RETRIEVER[-GROUP].json)",
    )
    add("--cache", type=Path, default=results.CACHE, help="default: %(default)s")
    add("--seed", type=int, default=13, help="of the resampling and sampling")
    add("--resamples", type=whole, default=RESAMPLES, help="default: %(default)s")
    return parser
