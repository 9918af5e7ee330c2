"""The tables of ``benchmarks.gpu``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table

NOT_MEASURED = "not measured"


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The measured limits, and a row for each figure; of a rehearsal no figure is shown."""
    is_gpu = found["is_gpu"]
    said = "" if is_gpu else ": a rehearsal on CPU tensors, GPU not measured"
    limits = Table(f"{found['device']}, measured limits{said}", ("limit", "value"))
    each = found["limits"]
    limits.add("copy, read and written", _figure(is_gpu, each["bytes_per_second"] / 1e12, "TB/s"))
    for dtype, flops in each["flops"].items():
        limits.add(f"matrix product, {dtype}", _figure(is_gpu, flops / 1e12, "TFLOP/s"))
    columns = ("what", "setting", "rate", "limit", "share of it", "as numpy", "goal")
    shown = Table(f"{found['device']}{said}", columns)
    for name, part in found["parts"].items():
        if "failed" in part:
            shown.add(name, part["failed"], "failed", "-", "-", "-", "-")
        for row in part.get("rows", ()):
            shown.add(row["what"], row["setting"], *_cells(row, is_gpu))
    return [limits, shown]


def _cells(row: Mapping[str, Any], is_gpu: bool) -> tuple[str, ...]:
    same = row.get("same_as_numpy")
    checked = "-" if same is None else f"{100 * same:.1f}%"
    goal = f"{row['goal']:,}" if row.get("goal") else "-"
    if "not_measured" in row or not is_gpu:
        why = row.get("not_measured")
        return (f"{NOT_MEASURED}: {why}" if why else NOT_MEASURED, "-", "-", checked, goal)
    limit, share = row["limit"], row["share_of_limit"]
    return (
        f"{row['rate']:,.0f} {row['unit']}",
        f"{limit:,.0f}" if limit else "-",
        f"{100 * share:.0f}%" if share else "-",
        checked,
        goal,
    )


def _figure(is_gpu: bool, value: float, unit: str) -> str:
    return f"{value:,.2f} {unit}" if is_gpu else NOT_MEASURED
