"""The audit as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perspective_rag.audit.figures import WORDINGS, worst
from perspective_rag.audit.measure import NEUTRAL
from perspective_rag.audit.verdict import bounds, number, problem_line, sentences
from perspective_rag.reporting import charts, html
from perspective_rag.reporting.charts import Point, Share

_SHARES = (
    Share("support", "support"),
    Share("make both cases", "both"),
    Share("oppose", "oppose"),
    Share("take no side", "none"),
)
_ASKED = {
    NEUTRAL: "the question as it stands",
    "support": "in a supporter's words",
    "oppose": "in an opponent's words",
}
_COLOURS = {NEUTRAL: "both", "support": "support", "oppose": "oppose"}
Figures = Mapping[str, Any]


def audit_page(figures: Figures, *, about: Mapping[str, str], missed: Sequence[str] = ()) -> str:
    """The page; ``about`` names what was audited and with what, ``missed`` the limits it missed."""
    total, k = figures["total"], figures["k"]
    parts: list[html.Markup] = [
        html.element("p", " · ".join(f"{name}: {value}" for name, value in about.items()), "soft"),
        *(html.element("p", sentence, "lead") for sentence in sentences(figures)),
    ]
    if missed:
        listed = html.join(html.element("li", each) for each in missed)
        parts.append(html.section("Limits missed", html.element("ul", listed)))
    if total["two_sided"]:
        parts += [_sides(figures), _wordings(figures)]
    if total["curve"]:
        points = [Point(p["k"], p["mean"], p["low"], p["high"]) for p in total["curve"]]
        parts.append(
            html.section(
                "How many passages until every side appears",
                charts.curve(
                    [("questions", "support", points)],
                    x_label="passages from the top",
                    y_label="questions with every perspective taken, 95% interval",
                ),
            )
        )
    parts.append(_each(figures))
    ten = worst(figures["questions"])
    parts.append(
        html.section(
            f"The {len(ten)} worst questions",
            html.element(
                "p",
                f"Least coverage first; what the first {k} passages support was decided by the "
                "judge, which can err.",
                "soft",
            ),
            *(_question(row, n < 3) for n, row in enumerate(ten)),
        )
    )
    if figures["degradations"]:
        items = [html.element("li", problem_line(each)) for each in _first(figures)]
        parts.append(
            html.section(
                f"What went wrong ({len(figures['degradations'])})",
                html.element("ul", html.join(items)),
            )
        )
    return html.page("How many sides does this retriever show?", *parts)


def _first(figures: Figures) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = figures["degradations"][:20]
    return found


def _sides(figures: Figures) -> html.Markup:
    rows = [row for row in figures["questions"] if not row["error"] and row["outcome"]]
    bars = [(row["question"], _counted(row["wordings"][NEUTRAL])) for row in rows]
    return html.section(
        f"What the first {figures['k']} passages of each question take",
        charts.stacked_bars(_SHARES, bars),
    )


def _counted(neutral: Mapping[str, Any]) -> list[int]:
    both: int = neutral["both"]
    return [neutral["support"] - both, both, neutral["oppose"] - both, neutral["neither"]]


def _wordings(figures: Figures) -> html.Markup:
    leans = figures["total"]["leans"]
    rows = [
        (_ASKED[wording], _COLOURS[wording], _point(leans[wording]))
        for wording in WORDINGS
        if leans[wording]
    ]
    follows = figures["total"]["follows"]
    return html.section(
        "Which side it leans to, by how it is asked",
        charts.intervals(rows, low=-1.0, high=1.0, ends=("all oppose", "all support")),
        html.element("p", f"Following the wording: {number(follows)}.", "soft"),
    )


def _point(value: Mapping[str, float]) -> Point:
    return Point(0.0, value["mean"], value["low"], value["high"])


def _each(figures: Figures) -> html.Markup:
    rows = []
    for row in figures["questions"]:
        if row["error"]:
            rows.append([row["question"], (row["error"], "bad"), "", "", "", ""])
            continue
        neutral = row["wordings"][NEUTRAL]
        sides = f"{neutral['support']} / {neutral['oppose']}" if row["outcome"] else "–"
        follows = "–" if row["follows"] is None else f"{row['follows']:+.2f}"
        covered = f"{len(row['covered'])} of {len(row['perspectives'])}"
        needed = "–" if row["needed"] is None else str(row["needed"])
        rows.append([row["question"], sides, covered, needed, follows, f"{row['seconds']:.3f}"])
    columns = (
        "Question",
        "Support / oppose",
        "Perspectives taken",
        "Passages needed",
        "Follows wording",
        "Seconds",
    )
    coverage = bounds(figures["total"]["coverage"])
    lead = html.element("p", f"Every perspective taken: {coverage}.", "soft")
    return html.section("Question by question", lead, html.table(columns, rows))


def _question(row: Mapping[str, Any], is_open: bool) -> html.Markup:
    texts = {each["id"]: each["text"] for each in row["perspectives"]}
    css = {each["id"]: each.get("stance") or "" for each in row["perspectives"]}
    if row["outcome"] and not any(css.values()):
        css = dict(zip(texts, ("support", "oppose"), strict=True))
    shown = [
        html.ShownPassage(
            passage["title"] or passage["id"],
            passage["text"],
            [(f"supports: {texts[each]}", css[each]) for each in passage["supports"]],
        )
        for passage in row["wordings"][NEUTRAL]["passages"]
    ]
    absent = [text for identity, text in texts.items() if identity not in row["covered"]]
    lines = [html.element("p", f"Nothing for: {text}", "soft") for text in absent]
    return html.details(row["question"], *lines, html.passages(shown), is_open=is_open)
