"""The table of ``benchmarks.embedding``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def table(found: Mapping[str, Any]) -> Table:
    """Passages a second by the clock, and for each second of processor time."""
    ratio, target = found["clock"]["ratio"], found["target"]
    met = "met" if ratio >= target else "missed"
    shown = Table(
        f"all-MiniLM-L6-v2, {found['texts']:,} passages of {found['tokens']:.0f} tokens on average"
        f" (target: {target:g} times as many a second, {met})",
        ("passages for each second", "ours", "sentence-transformers", "ratio", "from", "to"),
    )
    for name, label in (("clock", "by the clock"), ("processor", "of processor time")):
        each = found[name]
        shown.add(
            label,
            f"{each['ours']:.1f}",
            f"{each['theirs']:.1f}",
            f"{each['ratio']:.2f}",
            f"{min(each['ratios']):.2f}",
            f"{max(each['ratios']):.2f}",
        )
    return shown
