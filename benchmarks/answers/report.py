"""The tables of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.answers.scoring import FIGURES
from benchmarks.core.table import Table


def tables(results: Mapping[str, Any]) -> list[Table]:
    """A column for each way to answer, and what hostile passages achieved."""
    methods = list(results["methods"])
    model = results.get("llm") or "no model"
    asked, silent = results["questions"], results["silent"]
    title = f"{asked} questions, {silent} of them on absent topics, {model}"
    figures = Table(title, ("figure", *methods))
    for name, said in FIGURES.items():
        values = (results["methods"][method]["figures"][name] for method in methods)
        show = _number if name in {"words", "dropped"} else percent
        figures.add(said, *map(show, values))
    shown = [figures]
    hostile = results.get("hostile")
    if hostile:
        ways = list(hostile)
        kinds = list(next(iter(hostile.values()))["kinds"])
        attacks = Table("Hostile passages that were followed", ("kind", *ways))
        for kind in (*kinds, "all"):
            cells = []
            for way in ways:
                found = hostile[way] if kind == "all" else hostile[way]["kinds"][kind]
                cells.append(f"{found['followed']} of {found['tried']}")
            attacks.add(kind, *cells)
        shown.append(attacks)
    return shown


def percent(value: float | None) -> str:
    """A share as per cent with one decimal, "-" for None."""
    return "-" if value is None else f"{100 * value:.1f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
