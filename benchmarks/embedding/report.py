"""The table of ``benchmarks.embedding``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def table(found: Mapping[str, Any]) -> Table:
    """Passages a second by the clock, and for each second of processor time."""
    shown = Table(
        f"all-MiniLM-L6-v2, {found['texts']:,} passages of {found['tokens']:.0f} tokens on average"
        f" (target: {found['target']:g} times sentence-transformers)",
        (
            *("encoder", "passages a second", "times as many", "from", "to"),
            *("for each second of processor time", "times as many", "cosine", "least"),
        ),
    )
    for name, each in found["encoders"].items():
        clock, processor = each["clock"], each["processor"]
        shown.add(
            name,
            f"{clock['rate']:.1f}",
            f"{clock['ratio']:.2f}",
            f"{min(clock['ratios']):.2f}",
            f"{max(clock['ratios']):.2f}",
            f"{processor['rate']:.1f}",
            f"{processor['ratio']:.2f}",
            f"{each['cosine']['mean']:.4f}",
            f"{each['cosine']['least']:.4f}",
        )
    return shown
