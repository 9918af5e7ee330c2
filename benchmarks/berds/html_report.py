"""The verdict as one HTML page, with plots and the worst questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.berds.run import BerdsResult
from benchmarks.berds.verdict import PLAIN, tables
from perspective_rag.reporting import charts, html
from perspective_rag.reporting.charts import Point, Share

_TEMPLATE = Path(__file__).parent / "templates" / "verdict.html"
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
    return html.render(
        _TEMPLATE,
        title=f"Verdict on {verdict['approach']}",
        about=about,
        verdict=verdict,
        thresholds=_thresholds(verdict),
        tables=tables(verdict),
        charts=[*_intervals(verdict), _outcomes(result, verdict)],
        worst={name: [_question(row) for row in rows] for name, rows in verdict["worst"].items()},
        problems=result.degradations,
    )


def _intervals(verdict: Mapping[str, Any]) -> Iterator[tuple[str, charts.Svg]]:
    for name, title, low, high, ends in _INTERVALS:
        rows = [
            (_label(row), "none" if row["approach"] == PLAIN else "support", _point(row[name]))
            for row in verdict["rows"]
            if row[name] is not None
        ]
        if rows:
            yield title, charts.intervals(rows, low=low, high=high, ends=ends)


def _thresholds(verdict: Mapping[str, Any]) -> str:
    limits = verdict["thresholds"].items()
    return ", ".join(f"{name} = {value:g}" for name, value in limits) or "nothing could be run"


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['retriever']}: {'plain top 5' if row['approach'] == PLAIN else row['approach']}"


def _point(value: Mapping[str, float]) -> Point:
    return Point(0.0, value["mean"], value["low"], value["high"])


def _outcomes(result: BerdsResult, verdict: Mapping[str, Any]) -> tuple[str, charts.Svg]:
    shown = {(row["retriever"], row["approach"]) for row in verdict["rows"]}
    bars = [
        (_label(row), [row["outcomes"][n] for n in ("both", "supporting", "opposing", "neither")])
        for row in result.rows()
        if (row["retriever"], row["approach"]) in shown
    ]
    title = "Two-sided questions, by what their first 5 passages take"
    return title, charts.stacked_bars(_OUTCOMES, bars)


def _question(row: Mapping[str, Any]) -> html.ShownQuestion:
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
    return html.ShownQuestion(row["question"], row["missing"], shown)
