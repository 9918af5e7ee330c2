"""The table of ``benchmarks.load``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table

SERVED = "perspective-rag serve, users asking without a pause"


def table(
    found: Mapping[str, Any],
    *,
    title: str = "A served chain under load, users asking without a pause",
) -> Table:
    """One row for each step."""
    shown = Table(
        f"{title} (errors: {found['errors']})",
        (
            *("path", "users", "requests", "requests/s", "p50 ms", "p95 ms", "errors"),
            *("memory MB", "threads"),
        ),
    )
    for step in found["steps"]:
        shown.add(
            step["path"],
            str(step["users"]),
            str(step["requests"]),
            f"{step['per_second']:.1f}",
            f"{step['p50_ms']:.0f}",
            f"{step['p95_ms']:.0f}",
            str(step["errors"]),
            f"{step['memory_mb']:.0f}",
            str(step["threads"]),
        )
    return shown
