"""The results of ``benchmarks.engines`` as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table

PAPER_MINUTES = 15.0
"""A data set of BERDS, about 11,000 pairs, judged by vLLM on an A40 (BERDS, appendix)."""


def tables(found: Mapping[str, Any]) -> list[Table]:
    """A table of each part that was run."""
    shown = []
    for name in ("packaged", "trivial"):
        if name in found:
            shown.append(_judged(name, found[name]))
    if "embedding" in found:
        shown.append(_embedded(found["embedding"]))
    return shown


def _judged(name: str, part: Mapping[str, Any]) -> Table:
    same = "the same file" if part["identical"] else "FILES THAT DIFFER"
    table = Table(
        f"{part['pairs']:,} pairs, {name} judge: {same}",
        ("engine", "seconds", "pairs/s", "killed", "driver MB by quarter", "workers MB by quarter"),
    )
    for engine, figures in part["engines"].items():
        table.add(
            engine,
            f"{figures['seconds']:,.0f}",
            f"{figures['pairs_per_second']:,.1f}",
            str(figures["killed"]),
            ", ".join(map(str, figures["driver_mb"])),
            ", ".join(map(str, figures["workers_mb"])),
        )
    return table


def _embedded(part: Mapping[str, Any]) -> Table:
    same = "the same file" if part["identical"] else "FILES THAT DIFFER"
    table = Table(
        f"{part['passages']:,} passages embedded: {same}", ("engine", "seconds", "passages/s")
    )
    for engine, figures in part["engines"].items():
        table.add(engine, f"{figures['seconds']:,.0f}", f"{figures['passages_per_second']:,.1f}")
    return table
