"""``perspective-rag audit``: how many sides a retriever shows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perspective_rag.audit.figures import audit_figures
from perspective_rag.audit.intervals import PACKAGED_ERROR
from perspective_rag.audit.measure import Progress, check_cuts, measure
from perspective_rag.audit.page import audit_page
from perspective_rag.audit.questions import (
    AuditQuestion,
    read_audit_questions,
    with_perspectives,
    write_audit_questions,
)
from perspective_rag.audit.verdict import AuditLimits
from perspective_rag.commands.parts import (
    build_pipeline,
    calibration_option,
    console,
    corpus_options,
    encoder_of,
    extractor_of,
    judge_of,
    llm_options,
    packaged_encoder,
    read_corpus,
    whole,
)
from perspective_rag.commands.user_retriever import made_store
from perspective_rag.errors import ConfigError, CorpusError, count
from perspective_rag.local.callables import CallableStore
from perspective_rag.options import Calibration
from perspective_rag.perspectives.sides import GivenPerspectives
from perspective_rag.protocols import Embedder, Store
from perspective_rag.storage.files import replace_file

if TYPE_CHECKING:
    from rich.console import Console

MISSED, CANNOT_TELL = 1, 3
"""Exit codes; 2 is that of an error."""
_LIMITS = ("max_one_sided", "min_coverage", "max_lean", "max_follows")


def add_command(commands: Any) -> None:
    """Adds ``audit`` to the subparsers."""
    parser = commands.add_parser(
        "audit", help="how one-sided is a retriever, and which side does it favour?"
    )
    add = parser.add_argument
    add("questions", type=Path, metavar="QUESTIONS", help="a text file, one a line, or JSONL")
    add("--retriever", metavar="MODULE:FACTORY", help="what is audited; without it, the corpus")
    corpus_options(parser)
    add("--pipeline", action="store_true", help="audit the whole pipeline over the corpus")
    add("--perspectives", type=Path, metavar="FILE", help="perspectives.jsonl of a run, edited")
    add("--draft", action="store_true", help="write the perspectives to be edited, and stop")
    llm_options(parser, "that writes the perspectives (default: rules)")
    add("--judge", default="default", help="default, a preset[@URL], llm:MODEL[@URL], a model")
    calibration_option(parser)
    add("--min-support", type=float, help="probability that counts as support, in [0, 1]")
    add("-k", type=int, default=5, help="passages a model is shown (default: %(default)s)")
    add("--depth", type=int, default=30, help="passages looked through (default: %(default)s)")
    add(
        "--first",
        "--limit",
        dest="first",
        type=int,
        metavar="N",
        help="the first N questions only, for a first answer (--limit is its older name)",
    )
    add("--seed", type=whole, default=13, help="of the resampling")
    add("--strict", action="store_true", help="anything that fails is an error")
    add("--out", type=Path, default=Path("audit"), help="folder of the report (default: audit)")
    for name in _LIMITS:
        add(
            f"--{name.replace('_', '-')}",
            type=float,
            metavar="X",
            help="limit, in [0, 1]: exit code 1 where missed, 3 where the judge cannot tell",
        )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    screen = console()
    limits = AuditLimits(**{name: getattr(options, name) for name in _LIMITS})
    if options.pipeline and (options.retriever or not options.corpus):
        raise ConfigError("--pipeline audits the pipeline over a corpus: give --corpus alone")
    if not (options.retriever or options.corpus or options.draft):
        raise ConfigError("nothing to audit: give --retriever module:factory, or --corpus")
    # A pipeline chooses k passages together: what it would show at a greater depth is another set.
    depth = options.k if options.pipeline else max(options.depth, options.k)
    check_cuts(options.k, depth)
    calibration = Calibration.of(options.calibration) if options.calibration else None
    judge = judge_of(options.judge, options.cache)
    questions, problems = with_perspectives(_questions(options), extractor_of(options))
    written = options.out / "perspectives.jsonl"
    if (kept := _kept_aside(written, questions)) is not None:
        screen.print(f"The perspectives that were there are now in {kept}", markup=False)
    write_audit_questions(questions, written)
    if options.draft:
        _show_draft(questions, screen)
        screen.print(f"Written to be edited: {written}", markup=False, soft_wrap=True)
        return 0
    store, embedder, name = _retriever(options, screen)
    with _progress(screen) as progress:
        measured = measure(
            questions,
            store,
            embedder,
            judge,
            k=options.k,
            depth=depth,
            encoder=_encoder(options),
            calibration=calibration,
            min_support=options.min_support,
            strict=options.strict,
            on_progress=progress,
        )
    measured = replace(measured, degradations=[*problems, *measured.degradations])
    known = PACKAGED_ERROR if options.judge == "default" and not calibration else None
    figures = audit_figures(
        measured, k=options.k, depth=depth, seed=options.seed, listing_error=known
    )
    about = {"Retriever": name, "Questions": options.questions.name, "Judge": judge.name}
    if options.pipeline and options.judge == "default":
        about["Caution"] = "the judge that scores is the one that chose; give another --judge"
    verdict = limits.verdict(figures)
    document = {
        "about": about,
        "verdict": {"outcome": verdict.outcome, "sentence": verdict.sentence},
        **figures.to_dict(),
        "missed": list(verdict.missed),
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    replace_file(options.out / "audit.html", audit_page(figures, about=about, verdict=verdict))
    replace_file(options.out / "audit.json", text + "\n")
    from perspective_rag.commands.audit_tables import show_audit

    show_audit(figures, about, verdict, screen)
    screen.print(
        f"Written: {options.out / 'audit.html'}, {options.out / 'audit.json'}, {written}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return {"missed": MISSED, "cannot tell": CANNOT_TELL}.get(verdict.outcome, 0)


def _encoder(options: argparse.Namespace) -> Embedder | None:
    """What measures relevance for the packaged judge; the verdicts of another are its own, unless
    they were calibrated.
    """
    if options.judge != "default" and options.calibration is None:
        return None
    return encoder_of(options.encoder) or packaged_encoder()


def _questions(options: argparse.Namespace) -> list[AuditQuestion]:
    """The questions, with the perspectives of the file that was given for those it holds."""
    questions = read_audit_questions(options.questions)
    if options.first is not None:
        questions = questions[: count("--first", options.first)]
    if options.perspectives is None:
        return questions
    given = {each.text.casefold(): each for each in read_audit_questions(options.perspectives)}
    return [
        replace(each, perspectives=known.perspectives, wordings=known.wordings)
        if (known := given.get(each.text.casefold())) and known.perspectives
        else each
        for each in questions
    ]


def _kept_aside(path: Path, questions: Sequence[AuditQuestion]) -> Path | None:
    """Moves perspectives that differ out of the way, for they may have been edited by hand."""
    if not path.is_file():
        return None
    try:
        held = [each.to_dict() for each in read_audit_questions(path)]
        if held == [each.to_dict() for each in questions]:
            return None
    except CorpusError:
        pass  # half edited: worth keeping all the same
    number = 1
    while (aside := path.with_name(f"perspectives-{number}.jsonl")).exists():
        number += 1
    return path.rename(aside)


def _retriever(options: argparse.Namespace, screen: Console) -> tuple[Store, Embedder | None, str]:
    if options.retriever:
        passages = (lambda: list(read_corpus(options, screen).passages)) if options.corpus else None
        return *made_store(options.retriever, passages), options.retriever
    corpus = read_corpus(options, screen)
    # Without perspectives the pipeline is plain retrieval; the model of --llm writes those of the
    # audit, and the pipeline finds its own.
    plain = {} if options.pipeline else {"extractor": GivenPerspectives(())}
    pipeline = build_pipeline(
        options,
        corpus,
        screen,
        strict=options.strict,
        calibration=options.calibration,
        **plain,
    )

    def search(text: str, k: int) -> Sequence[Any]:
        return pipeline.retrieve(text, k=k, fetch_k=max(50, k)).passages

    kind = "vectors" if options.dense else "BM25, ordered by vectors"
    name = f"{'the pipeline' if options.pipeline else kind} over {options.corpus.name}"
    return CallableStore(search), None, name


def _show_draft(questions: Sequence[AuditQuestion], screen: Console) -> None:
    for each in questions:
        screen.print(each.text, style="bold", markup=False, highlight=False)
        for side in each.perspectives:
            screen.print(f"  {side.stance or side.id}: {side.text}", markup=False, highlight=False)
        if not each.perspectives:
            screen.print("  no perspectives were found: write them", style="yellow")


@contextmanager
def _progress(screen: Console) -> Iterator[Progress]:
    from perspective_rag.commands.showing import progress_bars

    with progress_bars(screen) as bars:
        tasks: dict[str, Any] = {}

        def tick(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done)

        yield tick
