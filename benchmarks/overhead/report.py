"""The table of ``benchmarks.overhead``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def table(found: Mapping[str, Any]) -> Table:
    """One row for each store and setting."""
    target, met = found["target"], found["met"]
    said = "not measured" if met is None else "met" if met else "missed"
    shown = Table(
        "Wrapped store beside the same searches made bare (target: PAP and MMR at "
        f"{target['at']:,} vectors add less than {target['ms']:g} ms and "
        f"{target['share']:.0%}, {said})",
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
