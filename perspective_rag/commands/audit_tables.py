"""An audit in a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perspective_rag.audit.figures import WORDINGS, AuditFigures
from perspective_rag.audit.measure import NEUTRAL
from perspective_rag.audit.verdict import (
    AuditVerdict,
    bounds,
    number,
    percents,
    problem_line,
    sentences,
    signed,
)

SHOWN = 20
_COLUMNS = ("support", "oppose", "mixed", "takes", "needed", "follows")


def show_audit(
    figures: AuditFigures, about: Mapping[str, str], verdict: AuditVerdict, screen: Console
) -> None:
    """The figures in total, question by question, and what they come to."""
    for name, value in about.items():
        screen.print(Text(f"{name}: {value}", style="dim"), highlight=False)
    screen.print(_totals(figures))
    screen.print(_questions(figures))
    for sentence in sentences(figures):
        screen.print(Text(f"• {sentence}"), highlight=False)
    for problem in figures.degradations[:5]:
        screen.print(Text(problem_line(problem), style="yellow"))
    if len(figures.degradations) > 5:
        screen.print(f"[yellow]{len(figures.degradations)} problems in all[/yellow]")
    for each in verdict.missed:
        screen.print(Text(f"missed: {each}", style="bold red"), highlight=False)
    style = {"missed": "bold red", "cannot tell": "bold yellow"}.get(verdict.outcome, "bold")
    screen.print(Text(verdict.sentence, style=style), highlight=False)


def _totals(figures: AuditFigures) -> Table:
    total, k = figures.total, figures.k
    table = Table(title=f"In total, first {k} passages", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("figure")
    table.add_column("value [95% interval]".replace("[", "\\["), justify="right")
    table.add_column("by the judge's errors", justify="right")
    asked = {NEUTRAL: "as it stands", "support": "as a supporter", "oppose": "as an opponent"}
    rows = [
        ("questions with every perspective taken", bounds(total.coverage)),
        ("the same, where anything is said", bounds(total.coverage_where_said)),
        ("one-sided questions", bounds(total.one_sided)),
        *((f"lean, asked {asked[w]}", number(total.leans[w])) for w in WORDINGS),
        ("follows the wording", number(total.follows)),
        *(
            (f"every perspective within {point.k}", bounds(point))
            for point in total.curve
            if point.k in (1, 3, 10, 20, figures.depth) and point.k != k
        ),
        ("seconds a search", f"{total.seconds.mean or 0:.3f}"),
        ("pairs judged", f"{figures.judged_pairs:,}"),
    ]
    error = figures.error
    errors = {
        "one-sided questions": percents(error.one_sided if error else None),
        f"lean, asked {asked[NEUTRAL]}": signed(error.lean if error else None),
    }
    for name, value in rows:
        table.add_row(Text(name), Text(value), errors.get(name, ""))
    return table


def _questions(figures: AuditFigures) -> Table:
    rows = figures.questions
    hidden = f", the first {SHOWN} of {len(rows)}" if len(rows) > SHOWN else ""
    table = Table(title=f"By question{hidden}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("question", ratio=1)
    for column in _COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows[:SHOWN]:
        if row.error:
            table.add_row(Text(row.question.text), *[Text("failed", style="red")] * len(_COLUMNS))
            continue
        sides = row.neutral.sides
        table.add_row(
            Text(row.question.text),
            *(map(str, (sides.support, sides.oppose, sides.mixed)) if sides else "–––"),
            "nothing"
            if row.says_nothing
            else f"{len(row.covered)}/{len(row.question.perspectives)}",
            "–" if row.needed is None else str(row.needed),
            "–" if row.follows is None else f"{row.follows:+.2f}",
        )
    return table
