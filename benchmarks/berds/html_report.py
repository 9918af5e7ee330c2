"""The verdict as one HTML page, with plots and the worst questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.berds.run import BerdsResult
from benchmarks.berds.verdict import PLAIN, tables
from perspective_rag.reporting import charts, html
from perspective_rag.reporting.charts import Point, Share

_OUTCOMES = (
    Share("both", "both"),
    Share("supporting only", "support"),
    Share("opposing only", "oppose"),
    Share("neither", "none"),
)
_INTERVALS = (
    ("coverage", "Coverage: MRecall@5", 0.0, 1.0, ("no question", "every question")),
    ("precision", "Precision@5", 0.0, 1.0, ("no passage", "every passage")),
    ("lean", "Balance: which side the passages take", -1.0, 1.0, ("all oppose", "all support")),
    ("sycophancy", "Sycophancy", -1.0, 1.0, ("against the wording", "follows the wording")),
)


def verdict_page(result: BerdsResult, verdict: Mapping[str, Any], *, about: str) -> str:
    """The page; ``about`` is the command that was run."""
    parts: list[html.Markup] = [html.element("p", about, "soft")]
    word = "Passed" if verdict["passed"] else "Missed"
    if verdict["thresholds"] or verdict["missed"]:
        parts.append(html.element("p", f"{word}: {_thresholds(verdict)}", "lead"))
    if verdict["degradations"]:
        warning = "degradations: the figures hold for what did not fail, see the end of this page"
        parts.append(html.element("p", f"{verdict['degradations']} {warning}", "lead"))
    if verdict["missed"]:
        listed = html.join(html.element("li", each) for each in verdict["missed"])
        parts.append(html.element("ul", listed))
    if verdict["options"]:
        named = ", ".join(f"{name} = {value}" for name, value in verdict["options"].items())
        parts.append(html.element("p", f"Options: {named}"))
    for table in tables(verdict):
        parts.append(html.section(table.title, html.table(table.columns, table.rows)))
    for name, title, low, high, ends in _INTERVALS:
        rows = [
            (_label(row), "none" if row["approach"] == PLAIN else "support", _point(row[name]))
            for row in verdict["rows"]
            if row[name] is not None
        ]
        if rows:
            chart = charts.intervals(rows, low=low, high=high, ends=ends)
            parts.append(html.section(title, chart))
    parts.append(_outcomes(result, verdict))
    for retriever, rows in verdict["worst"].items():
        parts.append(
            html.section(
                f"The {len(rows)} worst questions of {verdict['approach']} over {retriever}",
                *(_question(row, n < 3) for n, row in enumerate(rows)),
            )
        )
    if result.degradations:
        items = [html.element("li", each) for each in result.degradations[:20]]
        title = f"What went wrong ({len(result.degradations)})"
        parts.append(html.section(title, html.element("ul", html.join(items))))
    return html.page(f"Verdict on {verdict['approach']}", *parts)


def _thresholds(verdict: Mapping[str, Any]) -> str:
    limits = verdict["thresholds"].items()
    return ", ".join(f"{name} = {value:g}" for name, value in limits) or "nothing could be run"


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['retriever']}: {'plain top 5' if row['approach'] == PLAIN else row['approach']}"


def _point(value: Mapping[str, float]) -> Point:
    return Point(0.0, value["mean"], value["low"], value["high"])


def _outcomes(result: BerdsResult, verdict: Mapping[str, Any]) -> html.Markup:
    shown = {(row["retriever"], row["approach"]) for row in verdict["rows"]}
    bars = [
        (_label(row), [row["outcomes"][n] for n in ("both", "supporting", "opposing", "neither")])
        for row in result.rows()
        if (row["retriever"], row["approach"]) in shown
    ]
    return html.section(
        "Two-sided questions, by what their first 5 passages take",
        charts.stacked_bars(_OUTCOMES, bars),
    )


def _question(row: Mapping[str, Any], is_open: bool) -> html.Markup:
    css = {}
    if row["places"] is not None:
        css = dict(zip(row["places"], ("support", "oppose"), strict=True))
    shown = [
        html.ShownPassage(
            each["title"] or each["id"],
            each["text"],
            [
                (f"supports: {row['perspectives'][place]}", css.get(place, ""))
                for place in each["supports"]
            ],
        )
        for each in row["passages"]
    ]
    absent = [html.element("p", f"Nothing for: {text}", "soft") for text in row["missing"]]
    return html.details(row["question"], *absent, html.passages(shown), is_open=is_open)
