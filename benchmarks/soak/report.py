"""The table of ``benchmarks.soak``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def table(found: Mapping[str, Any]) -> Table:
    """One row for the time before, during and after the outage."""
    recovery, memory = found["recovery_seconds"], found["memory_mb"]
    first = "none" if recovery is None else f"after {recovery:.1f} s"
    shown = Table(
        f"A database that is killed and comes back: {found['wrong_answers']} wrong answers; "
        f"first right one since its return: {first}; memory {memory['early']:.0f} MB in the first "
        f"third, {memory['late']:.0f} MB in the last",
        ("database", "seconds", "right", "partial", "refused", "wrong", "p50 ms", "p95 ms"),
    )
    for each in found["phases"]:
        shown.add(
            each["phase"],
            f"{each['seconds']:.0f}",
            *(str(each[kind]) for kind in ("right", "partial", "refused", "wrong")),
            f"{each['p50_ms']:.0f}",
            f"{each['p95_ms']:.0f}",
        )
    return shown
