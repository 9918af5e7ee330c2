"""The audit as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perspective_rag.audit.figures import WORDINGS, worst
from perspective_rag.audit.measure import NEUTRAL
from perspective_rag.audit.verdict import (
    AuditLimits,
    AuditVerdict,
    bounds,
    error_range,
    number,
    problem_line,
    sentences,
)
from perspective_rag.reporting import charts, html
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
Figures = Mapping[str, Any]


_OUTCOMES = (
    ("both sides shown", "both", ("both",)),
    ("the supporting side alone", "support", ("support",)),
    ("the opposing side alone", "oppose", ("oppose",)),
    ("the judge cannot tell", "none", ("neither", "nothing")),
)


def audit_page(
    figures: Figures, *, about: Mapping[str, str], verdict: AuditVerdict | None = None
) -> str:
    """The page; ``about`` names what was audited and with what, ``verdict`` stands first.

    Raises MissingDependency without jinja2.
    """
    verdict = verdict or AuditLimits().verdict(figures)
    total = figures["total"]
    return html.render(
        _TEMPLATE,
        title="How many sides does this retriever show?",
        about=" · ".join(f"{name}: {value}" for name, value in about.items()),
        sentences=sentences(figures),
        verdict=verdict,
        outcomes=_outcomes(figures),
        total=total,
        k=figures["k"],
        sides=_sides(figures),
        leans=_leans(figures),
        follows=number(total["follows"]),
        lean=f"{number(total['lean'])}, by the judge's errors {error_range(figures, 'lean')}",
        one_sided=(
            f"{bounds(total['one_sided'])}, by the judge's errors "
            f"{error_range(figures, 'one_sided', percent=True)}"
        ),
        curve=_curve(figures),
        coverage=bounds(total["coverage"]),
        columns=_COLUMNS,
        rows=[_row(each) for each in figures["questions"]],
        worst=[_question(each) for each in worst(figures["questions"])],
        problems=[problem_line(each) for each in figures["degradations"]],
    )


def _outcomes(figures: Figures) -> charts.Svg:
    """One bar: how many questions show what."""
    outcomes = figures["total"]["outcomes"]
    shares = [Share(name, colour) for name, colour, _ in _OUTCOMES]
    counts = [sum(outcomes[each] for each in names) for _, _, names in _OUTCOMES]
    return charts.stacked_bars(shares, [("questions", counts)])


def _sides(figures: Figures) -> charts.Svg:
    rows = [row for row in figures["questions"] if not row["error"] and row["outcome"]]
    bars = [(row["question"], _counted(row["wordings"][NEUTRAL])) for row in rows]
    return charts.stacked_bars(_SHARES, bars)


def _counted(neutral: Mapping[str, Any]) -> list[int]:
    return [neutral[name] for name in ("support", "mixed", "oppose", "neither")]


def _leans(figures: Figures) -> charts.Svg:
    leans = figures["total"]["leans"]
    rows = [
        (_ASKED[wording], _COLOURS[wording], _point(leans[wording]))
        for wording in WORDINGS
        if leans[wording]
    ]
    return charts.intervals(rows, low=-1.0, high=1.0, ends=("all oppose", "all support"))


def _curve(figures: Figures) -> charts.Svg | None:
    points = [Point(p["k"], p["mean"], p["low"], p["high"]) for p in figures["total"]["curve"]]
    if not points:
        return None
    return charts.curve(
        [("questions", "support", points)],
        x_label="passages from the top",
        y_label="questions with every perspective taken, 95% interval",
    )


def _point(value: Mapping[str, float]) -> Point:
    return Point(0.0, value["mean"], value["low"], value["high"])


def _row(row: Mapping[str, Any]) -> Sequence[str | tuple[str, str]]:
    """A question in the table, in the order of the columns."""
    if row["error"]:
        return [row["question"], (row["error"], "bad"), "", "", "", ""]
    neutral = row["wordings"][NEUTRAL]
    sides = f"{neutral['support']} / {neutral['oppose']}" if row["outcome"] else "–"
    follows = "–" if row["follows"] is None else f"{row['follows']:+.2f}"
    covered = f"{len(row['covered'])} of {len(row['perspectives'])}"
    if row["says_nothing"]:
        covered += ", nothing said"
    needed = "–" if row["needed"] is None else str(row["needed"])
    return [row["question"], sides, covered, needed, follows, f"{row['seconds']:.3f}"]


def _question(row: Mapping[str, Any]) -> html.ShownQuestion:
    texts = {each["id"]: each["text"] for each in row["perspectives"]}
    css = {each["id"]: each.get("stance") or "" for each in row["perspectives"]}
    if row["outcome"] and not any(css.values()):
        css = dict(zip(texts, ("support", "oppose"), strict=True))
    shown = [
        html.ShownPassage(
            passage["title"] or passage["id"],
            passage["text"],
            _marks(passage["verdicts"], texts, css),
        )
        for passage in row["wordings"][NEUTRAL]["passages"]
    ]
    missing = [text for identity, text in texts.items() if identity not in row["covered"]]
    return html.ShownQuestion(row["question"], missing, shown)


def _marks(
    verdicts: Mapping[str, str], texts: Mapping[str, str], css: Mapping[str, str]
) -> list[tuple[str, str]]:
    """What is said of a passage: the sides it supports, else the best that can be said of it."""
    if "mixed" in verdicts.values():
        return [("mixed: argues for and against", "both")]
    clear = [each for each, verdict in verdicts.items() if verdict == "clear"]
    if clear:
        return [(f"supports: {texts[each]}", css[each]) for each in clear]
    silent = set(verdicts.values()) <= {"silent"}
    return [("takes no side" if silent else "not sorted: the judge cannot tell", "")]
