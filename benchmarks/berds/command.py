"""Reproduces BERDS, with any retriever, corpus and judge.

python -m benchmarks download berds-dev perspectrum
python -m benchmarks berds --questions data/berds_dev --corpus data/perspectrum/evidence.jsonl \\
    --limit 20
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.berds import report
from benchmarks.berds.arguments import parser
from benchmarks.berds.config import Validation, arguments_of, validation_of
from benchmarks.berds.estimate import embedding_plans, estimate
from benchmarks.berds.figures import draw
from benchmarks.berds.html_report import verdict_page
from benchmarks.berds.loading import Loader, check_retriever
from benchmarks.berds.parts import asked_questions, models_of, web_of
from benchmarks.berds.questions import fingerprint
from benchmarks.berds.run import BerdsConfig, BerdsResult, config_dict, run_berds
from benchmarks.berds.verdict import tables, verdict_of
from benchmarks.core import results
from benchmarks.core.command import exit_status, progress
from benchmarks.core.table import Table, wide_console
from perspective_rag import ConfigError
from perspective_rag_train.engine_options import engine_of

FIGURES = results.CHECKOUT / "docs" / "figures"
SHOWN = 3
"""Degradations shown in the terminal; all are in the results."""


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, 1 when a threshold was missed, 2 for what could not
    be done (with --strict any degradation), and 130 after Ctrl-C, from where the same command goes
    on.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    console = console or wide_console()
    try:
        return exit_status(lambda: _run(options, given, console), console)
    except Exception:
        # Of a factory or model of the user's; Python's own status, 1, is that of a threshold.
        traceback.print_exc()
        return 2


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started = time.perf_counter()
    if options.config is not None:
        options = parser().parse_args([*arguments_of(options.config), *given])
    folder = options.cache / "berds"
    out = options.out or options.cache / "berds-partial.json"
    validation = validation_of(options)
    config = BerdsConfig(
        approaches=validation.approaches(options.approach),
        depth=options.depth,
        mmr_weight=options.mmr_weight,
        sycophancy=not options.no_sycophancy,
        as_published=options.as_published,
        decision=options.decision,
        allow_same_judge=options.force_same_judge,
        strict=options.strict,
        seed=options.seed,
        verdict=validation.verdict,
        pipeline=validation.pipeline,
    )
    names = list(dict.fromkeys(options.retriever or ["bm25"]))
    for name in names:
        check_retriever(name)
    questions, tuning = asked_questions(options, config)
    with engine_of(options) as engine, progress(console) as bars:
        ticker = _Ticker(bars)
        ticker("reading the corpus", 1)
        loader = Loader(
            options.corpus or "",
            folder,
            streamed=options.streamed,
            web=web_of(options, folder),
            on_query=lambda: ticker("searching", 1),
            on_passages=lambda count: ticker("embedding the corpus", count),
        )
        models, identities = models_of(options, config, loader, (*questions, *tuning), folder)
        retrievers = [loader.retriever(name) for name in names]
        _check_writable(out)
        plan = estimate(questions, tuning, len(retrievers), models, config)
        bars.console.print(
            f"{len(questions)} questions, {len(tuning)} for tuning, {len(retrievers)} retrievers, "
            f"{len(config.approaches)} approaches: {plan}",
            highlight=False,
        )
        for line in embedding_plans(retrievers):
            bars.console.print(line, highlight=False)
        for line in validation.plan(plan, questions, names, options):
            bars.console.print(line, highlight=False, markup=False, soft_wrap=True)
        result = run_berds(
            questions,
            retrievers,
            models,
            config,
            folder=folder,
            tuning=tuning,
            corpus=loader.identity + (options.search_url or ""),
            tick=ticker,
            on_first=lambda figures: _show_first(figures, bars.console, started),
            engine=engine,
        )
    document = results.document(
        "berds",
        arguments=given,
        config={"run": config_dict(config), "models": identities, "retrievers": names},
        seed=config.seed,
        data={
            "name": options.questions.name if options.questions else f"hub {options.split}",
            "fingerprint": fingerprint(questions),
            "questions": len(questions),
            "tuning_questions": len(tuning),
            "corpus": Path(options.corpus.rpartition(":")[2]).name if options.corpus else "own",
            "corpus_identity": loader.identity,
        },
        embedder=options.mmr_embedder,
        judge=dict(models.judge_identity),
        seconds=time.perf_counter() - started,
        degradations=len(result.degradations),
        results={**result.figures, "degradations": list(result.degradations[:100])},
    )
    results.write(document, out)
    text = report.markdown(document)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    written = draw(result.figures, options.figures or out.parent) if not options.no_figures else []
    for line in report.notes(document):
        console.print(line, highlight=False, markup=False)
    for line in result.degradations[:SHOWN]:
        console.print(f"  {line}", style="yellow", highlight=False, markup=False)
    for table in report.tables(result.figures):
        console.print(_shown(table))
    places = ", ".join(str(each) for each in (out, out.with_suffix(".md"), *written))
    console.print(f"Written: {places}", highlight=False)
    return _judged(validation, result, document, out, console)


def _check_writable(out: Path) -> None:
    """Raises ConfigError before hours of judging, not after them."""
    probe = out.with_name(out.name + ".new")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}") from error


def _judged(
    validation: Validation,
    result: BerdsResult,
    document: Mapping[str, Any],
    out: Path,
    console: Console,
) -> int:
    """The verdict where one was asked for: shown, written beside the results, as a status."""
    if validation.verdict is None:
        return 0
    verdict = verdict_of(result, validation)
    results.write({**document, "results": verdict}, out.with_suffix(".verdict.json"))
    page = verdict_page(result, verdict, about=document["command"])
    out.with_suffix(".html").write_text(page, encoding="utf-8")
    for table in tables(verdict):
        console.print(_shown(table))
    for line in verdict["missed"]:
        console.print(f"missed: {line}", style="bold red", highlight=False, markup=False)
    places = f"{out.with_suffix('.html')}, {out.with_suffix('.verdict.json')}"
    console.print(f"Written: {places}", highlight=False)
    return int(bool(verdict["missed"]))


def _show_first(figures: Mapping[str, Any], console: Console, started: float) -> None:
    """The retrievers' own rankings as soon as they are judged."""
    table = report.base(figures, 5)
    table.title = f"First answer after {time.perf_counter() - started:.0f} s: {table.title}"
    table.rows = [row for row in table.rows if row[0].startswith("measured")]
    console.print(_shown(table))


def _shown(table: Table) -> Any:
    """The table for a terminal: narrow columns of numbers give way before the row's name does."""
    shown = table.rich()
    for place, column in enumerate(shown.columns):
        column.no_wrap = False
        column.min_width = 7 if place else 24
    return shown


class _Ticker:
    """One line of progress for each thing that is done."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def __call__(self, stage: str, count: int) -> None:
        if stage == "judging of":
            if "judging" in self._tasks:
                self._progress.remove_task(self._tasks["judging"])
            self._tasks["judging"] = self._progress.add_task("judging", total=count)
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=None)
        self._progress.update(self._tasks[stage], advance=count)
