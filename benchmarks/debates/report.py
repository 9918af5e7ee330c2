"""The tables of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table
from benchmarks.debates.experiment import LISTED_K

FIGURES = {
    "both_sides": "both sides in the first 3, the debates' own questions",
    "reworded_both_sides": "both sides in the first 3, in other words",
    "every_side_listed": "questions with every side listed",
    "right_listed": "listed under the right side",
    "reworded_right_listed": "listed under the right side, in other words",
    "agreement": "passages listed under exactly the sides of their label",
}


def tables(results: Mapping[str, Any]) -> list[Table]:
    """The figures with what is wanted, and a row for each question."""
    figures = Table(
        f"The packaged judge on the sample debates, {results['questions']} questions, in percent",
        ("figure", "measured", "limit", "target"),
    )
    for name, said in FIGURES.items():
        limits = (results["limits"].get(kind, {}).get(name) for kind in ("limits", "targets"))
        figures.add(said, _percent(results[name]), *map(_percent, limits))
    questions = Table(
        f"By question, first {LISTED_K} passages",
        ("question", "every side listed", "listed", "right", "agreed", "passages"),
    )
    for row in results["rows"]:
        counts = (row["listed"], row["right"], row["agreed"], row["shown"])
        questions.add(row["question"], "yes" if row["every_side"] else "no", *map(str, counts))
    return [figures, questions]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"
