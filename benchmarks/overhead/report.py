"""The table of ``benchmarks.overhead``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def table(found: Mapping[str, Any]) -> Table:
    """One row for each store and setting."""
    target = found["target"]
    full = [
        store["settings"]["PAP and MMR"]
        for store in found["stores"].values()
        if store["vectors"] >= target["at"]
    ]
    fast = sum(each["added_ms"] < target["ms"] for each in full)
    light = sum(each["ratio"] < 1.0 + target["share"] for each in full)
    goal = f"PAP and MMR at {target['at']:,} vectors add less than {target['ms']:g} ms"
    share = f"less than {target['share']:.0%}"
    said = (
        f"{goal}, met by {fast} of {len(full)}, and {share}, met by {light} of {len(full)}"
        if full
        else f"{goal} and {share}, not measured"
    )
    shown = Table(
        f"Wrapped store beside the same searches made bare (target: {said})",
        (
            *("store", "vectors", "on", "searches", "bare p50 ms", "wrapped p50 ms", "p95 ms"),
            *("added ms", "ratio", "added CPU ms", "CPU ratio", "to one bare question"),
        ),
    )
    for name, store in found["stores"].items():
        for setting, each in store["settings"].items():
            shown.add(
                name,
                f"{store['vectors']:,}",
                setting,
                str(each["searches"]),
                f"{each['same_searches']['p50_ms']:.2f}",
                f"{each['wrapped']['p50_ms']:.2f}",
                f"{each['wrapped']['p95_ms']:.2f}",
                f"{each['added_ms']:+.2f}",
                f"{each['ratio']:.2f}",
                f"{each['processor']['added_ms']:+.2f}",
                f"{each['processor']['ratio']:.2f}",
                f"{each['ratio_to_one_bare_question']:.2f}",
            )
    return shown
