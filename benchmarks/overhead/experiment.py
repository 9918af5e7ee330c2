"""Every store in turn, filled and timed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.overhead import measure
from benchmarks.overhead.stores import STORES, rows_of


def measure_stores(
    names: Sequence[str],
    *,
    vectors: int,
    seed: int,
    seconds: float,
    told: Callable[[str], object] = lambda name: None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """(figures of each store that could be measured, why of each that is not installed)."""
    stores: dict[str, Any] = {}
    absent: dict[str, str] = {}
    rows = rows_of(vectors, seed)
    for name in names:
        build, most = STORES[name]
        count = min(vectors, most)
        told(f"filling {name} with {count:,} vectors")
        try:
            store = build(rows[:count])
        except ImportError as error:
            absent[name] = str(error)
            continue
        told(f"timing {name}")
        settings = {
            setting: measure.measure(store, setting, seconds=seconds)
            for setting in measure.SETTINGS
        }
        stores[name] = {"vectors": count, "settings": settings}
        del store
        gc.collect()
    return stores, absent
