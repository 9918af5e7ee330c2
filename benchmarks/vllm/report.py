"""The tables of ``benchmarks.vllm``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def table(found: Mapping[str, Any], *, pairs: int) -> Table:
    """One row for each way."""
    load = f"load average {min(found['load']):.0f} to {max(found['load']):.0f}"
    shown = Table(
        f"One model on CPU cores, asked in several ways about {pairs} pairs ({load})",
        (
            *("way", "pairs/s", "rounds", "11,000 pairs, min"),
            *("from the cache", "largest difference", "other verdicts"),
        ),
    )
    for row in found["ways"]:
        rates = [row["pairs_per_second"] * _median(row["seconds"]) / s for s in row["seconds"]]
        cached = f"{100 * row['cached_tokens'] / row['prompt_tokens']:.0f}%"
        shown.add(
            row["way"],
            f"{row['pairs_per_second']:.2f}",
            f"{min(rates):.2f} to {max(rates):.2f}",
            f"{row['data_set_minutes']:.0f}",
            cached if row["reuses"] and row["cached_tokens"] else "-",
            f"{row['largest_difference']:.1e}" if not row["other_prompts"] else "-",
            str(row["other_verdicts"]) if not row["other_prompts"] else "-",
        )
    return shown


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
