"""The audit as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perspective_rag.audit.figures import (
    WORDINGS,
    AuditedPassage,
    AuditFigures,
    QuestionFigures,
    worst,
)
from perspective_rag.audit.measure import NEUTRAL
from perspective_rag.audit.verdict import (
    AuditLimits,
    AuditVerdict,
    bounds,
    number,
    percents,
    problem_line,
    sentences,
    signed,
)
from perspective_rag.reporting import charts, html
from perspective_rag.reporting.bootstrap import Interval
from perspective_rag.reporting.charts import Point, Share

_SHARES = (
    Share("support", "support"),
    Share("mixed: argue both", "both"),
    Share("oppose", "oppose"),
    Share("not sorted, or no side", "none"),
)
_ASKED = {
    NEUTRAL: "the question as it stands",
    "support": "in a supporter's words",
    "oppose": "in an opponent's words",
}
_COLUMNS = (
    "Question",
    "Support / oppose",
    "Perspectives taken",
    "Passages needed",
    "Follows wording",
    "Seconds",
)
_TEMPLATE = Path(__file__).parent / "templates" / "audit.html"
_COLOURS = {NEUTRAL: "both", "support": "support", "oppose": "oppose"}
_OUTCOMES = (
    ("both sides shown", "both", ("both",)),
    ("the supporting side alone", "support", ("support",)),
    ("the opposing side alone", "oppose", ("oppose",)),
    ("the judge cannot tell", "none", ("neither", "nothing")),
)


def audit_page(
    figures: AuditFigures, *, about: Mapping[str, str], verdict: AuditVerdict | None = None
) -> str:
    """The page; ``about`` names what was audited and with what, ``verdict`` stands first.

    Raises MissingDependency without jinja2.
    """
    verdict = verdict or AuditLimits().verdict(figures)
    total, error = figures.total, figures.error
    return html.render(
        _TEMPLATE,
        title="How many sides does this retriever show?",
        about=" · ".join(f"{name}: {value}" for name, value in about.items()),
        sentences=sentences(figures),
        verdict=verdict,
        outcomes=_outcomes(figures),
        total=total,
        k=figures.k,
        sides=_sides(figures),
        leans=_leans(figures),
        follows=number(total.follows),
        lean=f"{number(total.lean)}, by the judge's errors {signed(error.lean if error else None)}",
        one_sided=(
            f"{bounds(total.one_sided)}, by the judge's errors "
            f"{percents(error.one_sided if error else None)}"
        ),
        curve=_curve(figures),
        coverage=bounds(total.coverage),
        columns=_COLUMNS,
        rows=[_row(each) for each in figures.questions],
        worst=[_question(each) for each in worst(figures.questions)],
        problems=[problem_line(each) for each in figures.degradations],
    )


def _outcomes(figures: AuditFigures) -> charts.Svg:
    """One bar: how many questions show what."""
    outcomes = figures.total.outcomes
    shares = [Share(name, colour) for name, colour, _ in _OUTCOMES]
    counts = [sum(getattr(outcomes, each) for each in names) for _, _, names in _OUTCOMES]
    return charts.stacked_bars(shares, [("questions", counts)])


def _sides(figures: AuditFigures) -> charts.Svg:
    bars = [
        (row.question.text, [sides.support, sides.mixed, sides.oppose, sides.neither])
        for row in figures.questions
        if not row.error and (sides := row.neutral.sides)
    ]
    return charts.stacked_bars(_SHARES, bars)


def _leans(figures: AuditFigures) -> charts.Svg:
    rows = [
        (_ASKED[wording], _COLOURS[wording], _point(lean))
        for wording in WORDINGS
        if (lean := figures.total.leans[wording])
    ]
    return charts.intervals(rows, low=-1.0, high=1.0, ends=("all oppose", "all support"))


def _curve(figures: AuditFigures) -> charts.Svg | None:
    points = [_point(each.share, each.k) for each in figures.total.curve]
    if not points:
        return None
    return charts.curve(
        [("questions", "support", points)],
        x_label="passages from the top",
        y_label="questions with every perspective taken, 95% interval",
    )


def _point(value: Interval, x: float = 0.0) -> Point:
    return Point(x, value.mean, value.low, value.high)


def _row(row: QuestionFigures) -> Sequence[str | tuple[str, str]]:
    """A question in the table, in the order of the columns."""
    text = row.question.text
    if row.error:
        return [text, (row.error, "bad"), "", "", "", ""]
    sides = f"{found.support} / {found.oppose}" if (found := row.neutral.sides) else "–"
    follows = "–" if row.follows is None else f"{row.follows:+.2f}"
    covered = f"{len(row.covered)} of {len(row.question.perspectives)}"
    if row.says_nothing:
        covered += ", nothing said"
    needed = "–" if row.needed is None else str(row.needed)
    return [text, sides, covered, needed, follows, f"{row.seconds:.3f}"]


def _question(row: QuestionFigures) -> html.ShownQuestion:
    texts = {each.id: each.text for each in row.question.perspectives}
    css: dict[str, str] = {each.id: each.stance or "" for each in row.question.perspectives}
    if row.outcome and not any(css.values()):
        css = dict(zip(texts, ("support", "oppose"), strict=True))
    shown = [
        html.ShownPassage(
            each.passage.title or each.passage.id,
            each.passage.text,
            _marks(each, texts, css),
        )
        for each in row.neutral.passages
    ]
    missing = [text for identity, text in texts.items() if identity not in row.covered]
    return html.ShownQuestion(row.question.text, missing, shown)


def _marks(
    passage: AuditedPassage, texts: Mapping[str, str], css: Mapping[str, str]
) -> list[tuple[str, str]]:
    """What is said of a passage: the sides it supports, else the best that can be said of it."""
    words = set(passage.verdicts.values())
    if "mixed" in words:
        return [("mixed: argues for and against", "both")]
    if supports := passage.supports:
        return [(f"supports: {texts[each]}", css[each]) for each in supports]
    return [("takes no side" if words <= {"silent"} else "not sorted: the judge cannot tell", "")]
