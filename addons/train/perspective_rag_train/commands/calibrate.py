"""``perspective-rag calibrate``: floor and thresholds for an encoder and a corpus of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perspective_rag import (
    CachedEmbedder,
    Calibration,
    ConfigError,
    MissingDependency,
    RuleExtractor,
)
from perspective_rag.addons import read_audit_questions, with_perspectives
from perspective_rag.commands import (
    build_pipeline,
    console,
    corpus_options,
    judge_of,
    packaged_encoder,
    progress_bars,
    read_corpus,
    whole,
)
from perspective_rag_train.calibrate.asking import TwoSided
from perspective_rag_train.calibrate.calibrate import Calibrator, sides_of
from perspective_rag_train.calibrate.marks import MARKS, Row, read_rows, write_rows

if TYPE_CHECKING:
    from rich.console import Console


def add_command(commands: Any) -> None:
    """Adds ``calibrate`` to the subparsers."""
    parser = commands.add_parser(
        "calibrate", help="set the relevance floor and the thresholds for your encoder and corpus"
    )
    corpus_options(parser, required=True)
    add = parser.add_argument
    add("--judge", default="default", help="as for audit (default: the packaged one)")
    add("--questions", type=Path, metavar="FILE", help="questions people ask: as for audit")
    add("--marks", type=Path, metavar="FILE", help="passages to mark: written, then read back")
    add("--pairs", type=whole, default=100, metavar="N", help="to mark (default: %(default)s)")
    add("--seed", type=whole, default=13, help="seed of the samples")
    add(
        "--out",
        type=Path,
        default=Path("calibration.json"),
        metavar="FILE",
        help="the file for --calibration (default: %(default)s)",
    )
    parser.set_defaults(run=_run, llm=None, base_url=None, calibration=None)


def _run(options: argparse.Namespace) -> None:
    screen = console()
    if options.dense:
        raise ConfigError("calibrate searches by words and measures cosines itself: omit --dense")
    packaged = packaged_encoder()
    if packaged is None:
        raise MissingDependency("local", "comparing with the packaged encoder")
    questions = _questions(options, screen)
    corpus = read_corpus(options, screen)
    judge = judge_of(options.judge, options.cache)
    pipeline = build_pipeline(options, corpus, screen, judge=judge)
    name = str(getattr(pipeline.embedder, "name", ""))
    # Many probes find the same passages.
    calibrator = Calibrator(pipeline, name, CachedEmbedder(packaged), options.seed)
    scale = calibrator.scale(corpus.passages, [each.text for each in questions])
    rows: list[Row] = []
    if options.marks is not None and options.marks.exists():
        rows = read_rows(options.marks)
    elif options.marks is not None:
        if not questions:
            raise ConfigError("--marks needs --questions: those that people ask of this corpus")
        with progress_bars(screen) as bars:
            task = bars.add_task("judging", total=len(questions))
            rows = calibrator.to_mark(
                questions,
                scale.floor,
                options.pairs,
                lambda stage, done, total: bars.update(task, completed=done),
            )
        write_rows(rows, options.marks)
    about = {"corpus": corpus.fingerprint[:16], "passages": len(corpus)}
    calibration = calibrator.calibration(scale, rows, about)
    calibration.save(options.out)
    show_calibration(calibration, screen)
    for line in _next(options, rows):
        screen.print(line, markup=False, highlight=False, soft_wrap=True)


def _questions(options: argparse.Namespace, screen: Console) -> list[TwoSided]:
    """The questions with two sides; those without are named."""
    if options.questions is None:
        return []
    read, _ = with_perspectives(read_audit_questions(options.questions), RuleExtractor())
    for each in read:
        if each.sides is None:
            screen.print(f"left out, not two sides: {each.text}", style="yellow", markup=False)
    return [
        TwoSided(each.text, sides_of((each.sides[0].text, each.sides[1].text)))
        for each in read
        if each.sides is not None
    ]


def show_calibration(calibration: Calibration, screen: Console) -> None:
    """What was set, and how sure it is."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = calibration.provenance
    screen.print(f"Encoder: {calibration.encoder}", style="dim", markup=False, highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("set", "value", "95% interval", "from"):
        table.add_column(column, justify="right" if column in ("value",) else "left")
    marks = made["marks"]
    of_marks = f"{marks['marked']} marks, {marks['with_a_side']} with a side"
    of_floor = of_marks if marks["with_a_side"] else "the packaged encoder's floor"
    rows = [
        ("cosine from which a passage is about the question", made["floor"]["passage"], of_floor),
        ("cosine that the best passage must reach", made["floor"]["topic"], of_floor),
    ]
    if made["listing"] is not None:
        rows.append(("P(support) from which it is listed", made["listing"]["threshold"], of_marks))
        if made["listing"]["true"] is not None:
            listed = f"{made['listing']['listed']} marked passages above it"
            rows.append(("share of what is listed that is true", made["listing"]["true"], listed))
    for name, value, source in rows:
        low, high = value["low"], value["high"]
        sure = f"{low:.3f} to {high:.3f}" if low < high else "as shipped"
        table.add_row(Text(name), f"{value['mean']:.3f}", sure, Text(source))
    screen.print(table)
    for line in remarks(calibration):
        screen.print(line, style="yellow", markup=False, highlight=False)


def remarks(calibration: Calibration) -> list[str]:
    """What these figures do not say."""
    made = calibration.provenance
    result = []
    if made["listing"] is None:
        result.append(
            "Listing thresholds are the judge's own: they were set on other text, and nothing here "
            f"measures them. Mark at least {made['wanted']['least_marks']} passages with a side."
        )
    elif made["listing"]["true"] is None or made["listing"]["listed"] < 10:
        result.append("Few marked passages are listed: the share that is true is hardly known.")
    if made["scale"]["correlation"] < 0.5:
        result.append(
            "This encoder and the packaged one order passages differently (correlation "
            f"{made['scale']['correlation']:.2f}): the floor is a guess until passages are marked."
        )
    return result


def _next(options: argparse.Namespace, rows: list[Row]) -> list[str]:
    open_rows = sum(not row.mark for row in rows)
    lines = [f"Written: {options.out}. Use it with --calibration {options.out}"]
    if open_rows:
        lines.append(
            f"To mark: {open_rows} of {len(rows)} lines in {options.marks}: write "
            f'{", ".join(MARKS)} as "mark" and run the same command again; part of them will do.'
        )
    return lines
