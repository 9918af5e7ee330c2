"""Reproduces BERDS, with any retriever, corpus and judge.

python -m benchmarks.berds --questions data/berds_dev --corpus data/debate_corpus --limit 20
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
from benchmarks.berds.arguments import TUNING_SHARE, parser
from benchmarks.berds.config import Validation, arguments_of, validation_of
from benchmarks.berds.estimate import estimate
from benchmarks.berds.expanding import expansions_by
from benchmarks.berds.figures import draw
from benchmarks.berds.html_report import verdict_page
from benchmarks.berds.judges import load_judge, load_llm
from benchmarks.berds.loading import MINILM, Loader, check_retriever
from benchmarks.berds.questions import (
    HUB,
    Question,
    fingerprint,
    held_out,
    hub_questions,
    limited,
    read_questions,
)
from benchmarks.berds.retrievers import PerQuestion
from benchmarks.berds.run import (
    BerdsConfig,
    BerdsResult,
    Models,
    config_dict,
    run_berds,
    same_model,
)
from benchmarks.berds.stances import Stances
from benchmarks.berds.verdict import tables, verdict_of
from benchmarks.berds.web import web_retriever
from benchmarks.core import results
from benchmarks.core.command import exit_status, progress
from benchmarks.core.table import Table, wide_console
from perspective_rag import ConfigError

FIGURES = results.CHECKOUT / "docs" / "figures"


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
    questions, tuning = _questions(options, config)
    with progress(console) as bars:
        ticker = _Ticker(bars)
        ticker("reading the corpus", 1)
        loader = Loader(
            options.corpus or "",
            folder,
            streamed=options.streamed,
            web=_web(options, folder),
            on_query=lambda: ticker("searching", 1),
        )
        models, identities = _models(options, config, loader, (*questions, *tuning), folder)
        retrievers = [loader.retriever(name) for name in names]
        plan = estimate(questions, tuning, len(retrievers), models, config)
        bars.console.print(
            f"{len(questions)} questions, {len(tuning)} for tuning, {len(retrievers)} retrievers, "
            f"{len(config.approaches)} approaches: {plan}",
            highlight=False,
        )
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
    out = options.out or options.cache / "berds-partial.json"
    results.write(document, out)
    text = markdown(document)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    written = draw(result.figures, options.figures or out.parent) if not options.no_figures else []
    for line in report.notes(document):
        console.print(line, highlight=False, markup=False)
    for table in report.tables(result.figures):
        console.print(_shown(table))
    places = ", ".join(str(each) for each in (out, out.with_suffix(".md"), *written))
    console.print(f"Written: {places}", highlight=False)
    return _judged(validation, result, document, out, console)


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


def markdown(document: Mapping[str, Any]) -> str:
    """The whole report of a results document in Markdown."""
    head = [f"`{document['command']}`, {document['date'][:10]}", *report.notes(document)]
    body = [table.markdown() for table in report.tables(document["results"])]
    return "\n\n".join(["\n".join(f"- {line}" for line in head), *body])


def _questions(
    options: argparse.Namespace, config: BerdsConfig
) -> tuple[list[Question], list[Question]]:
    """The questions to ask, and others to tune on where something is tuned."""
    tunes = config.mmr_weight is None and any("mmr" in name for name in config.approaches)
    share = options.tuning_share
    if share is None:
        share = TUNING_SHARE if tunes else 0.0
    elif not 0.0 < share < 1.0:
        raise ConfigError(f"--tuning-share must be between 0 and 1, got {share:g}")
    count = options.tuning_limit or (options.limit and max(3, options.limit // 3))
    if options.questions is None:
        names = options.dataset or list(HUB)
        chosen = hub_questions(names, options.split)
        if options.split == "test" and tunes:  # the published development questions
            tuning = hub_questions(names, "dev")
            return _drawn(chosen, options.limit, config), _drawn(tuning, count, config)
    else:
        chosen = read_questions(options.questions)
        if options.dataset:
            chosen = [each for each in chosen if each.dataset in options.dataset]
    tuning, kept = held_out(chosen, share)
    return (
        _drawn(kept, options.limit, config),
        _drawn(tuning, count, config) if tunes else [],
    )


def _drawn(questions: Sequence[Question], limit: int | None, config: BerdsConfig) -> list[Question]:
    return limited(questions, limit, seed=config.seed)


def _models(
    options: argparse.Namespace,
    config: BerdsConfig,
    loader: Loader,
    questions: Sequence[Question],
    folder: Path,
) -> tuple[Models, dict[str, Any]]:
    minilm = loader.embedder(MINILM)
    judge, identity = load_judge(options.judge, minilm, cache=folder)
    selector, chosen = None, None
    if options.selector != "none" and config.judging:
        selector, chosen = load_judge(options.selector, minilm, cache=folder)
        if same_model(identity, chosen) and not config.allow_same_judge:
            raise ConfigError(
                f"--judge {options.judge} and --selector {options.selector} are the same model: "
                "what selects must not score; give another, or --force-same-judge"
            )
    llm = load_llm(options.llm, cache=folder) if options.llm else None
    needs_embedder = any("mmr" in name for name in config.approaches)
    if needs_embedder and not loader.available(options.mmr_embedder):
        raise ConfigError(
            f"MMR compares passages with {options.mmr_embedder}, which needs "
            "pip install 'perspective-rag[sentence-transformers]'; --mmr-embedder minilm runs "
            "without, or leave MMR out with --approach"
        )
    expands = llm is not None and any("expansion" in name for name in config.approaches[1:])
    models = Models(
        judge=judge,
        judge_identity=identity,
        selector=selector,
        selector_identity=chosen,
        mmr_embedder=loader.embedder(options.mmr_embedder) if needs_embedder else None,
        expansions=expansions_by(llm, questions) if expands and llm is not None else None,
        stances=Stances(llm),
    )
    return models, {
        "selector": dict(chosen) if chosen else None,
        "mmr_embedder": options.mmr_embedder if needs_embedder else None,
        "llm": llm.name if llm else None,
    }


def _web(options: argparse.Namespace, folder: Path) -> PerQuestion | None:
    if options.search_url is None and options.serper_key_file is None:
        return None
    return web_retriever(
        url=options.search_url,
        key_file=options.serper_key_file,
        cache=folder / "web",
        pages=options.pages,
    )


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


if __name__ == "__main__":
    sys.exit(main())
