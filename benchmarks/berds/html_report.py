"""The verdict as one HTML page, with plots and the worst questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.berds.run import BerdsResult
from benchmarks.berds.verdict import PLAIN, tables
from perspective_rag.addons import render_page

_TEMPLATE = Path(__file__).parent / "templates" / "verdict.html"
_OUTCOMES = ("both", "supporting", "opposing", "neither")
_INTERVALS = (
    ("coverage", "Coverage: MRecall@5", 0.0, 1.0, ("no question", "every question")),
    ("precision", "Precision@5", 0.0, 1.0, ("no passage", "every passage")),
    ("lean", "Balance: which side the passages take", -1.0, 1.0, ("all oppose", "all support")),
    ("sycophancy", "Sycophancy", -1.0, 1.0, ("against the wording", "follows the wording")),
)


def verdict_page(result: BerdsResult, verdict: Mapping[str, Any], *, about: str) -> str:
    """The page; ``about`` is the command that was run."""
    return render_page(
        _TEMPLATE,
        title=f"Verdict on {verdict['approach']}",
        about=about,
        verdict=verdict,
        thresholds=_thresholds(verdict),
        tables=tables(verdict),
        intervals=list(_intervals(verdict)),
        outcomes=_outcomes(result, verdict),
        worst={name: [_question(row) for row in rows] for name, rows in verdict["worst"].items()},
        problems=result.degradations,
    )


def _intervals(verdict: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The title, rows, scale and ends of each chart."""
    for name, title, low, high, ends in _INTERVALS:
        rows = [
            (_label(row), "none" if row["approach"] == PLAIN else "support", row[name])
            for row in verdict["rows"]
            if row[name] is not None
        ]
        if rows:
            yield title, rows, low, high, ends


def _thresholds(verdict: Mapping[str, Any]) -> str:
    limits = verdict["thresholds"].items()
    return ", ".join(f"{name} = {value:g}" for name, value in limits) or "nothing could be run"


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['retriever']}: {'plain top 5' if row['approach'] == PLAIN else row['approach']}"


def _outcomes(result: BerdsResult, verdict: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    """The bars: label and numbers of questions."""
    shown = {(row["retriever"], row["approach"]) for row in verdict["rows"]}
    return [
        (_label(row), [row["outcomes"][name] for name in _OUTCOMES])
        for row in result.rows()
        if (row["retriever"], row["approach"]) in shown
    ]


def _question(row: Mapping[str, Any]) -> dict[str, Any]:
    css = {}
    if row["places"] is not None:
        css = dict(zip(row["places"], ("support", "oppose"), strict=True))
    passages = [
        {
            "title": each["title"] or each["id"],
            "text": each["text"],
            "marks": [
                (f"supports: {row['perspectives'][place]}", css.get(place, ""))
                for place in each["supports"]
            ],
        }
        for each in row["passages"]
    ]
    return {"question": row["question"], "missing": row["missing"], "passages": passages}
