"""The tables of ``benchmarks.scale``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.core.table import Table

WAYS = ("plain", "PAP", "PAP+", "PAP+ precomputed", "adaptive", "guarded")
NAMES = {"flat": "flat", "hnsw": "HNSW", "ivfpq": "IVF-PQ on disk"}


def tables(found: Sequence[Mapping[str, Any]]) -> list[Table]:
    """What an index costs, what each way of searching costs and finds, and what the guard adds."""
    return [_builds(found), _searches(found), _guarded(found)]


def _builds(found: Sequence[Mapping[str, Any]]) -> Table:
    shown = Table(
        "Building, and what a million vectors take (a projected collection: as much again)",
        (
            *("index", "vectors", "s", "CPU s a million", "MB in memory", "MB on disk"),
            *("projected: CPU s a million", "MB in memory", "MB on disk"),
        ),
    )
    for each in found:
        first = next(iter(each["precomputed"]), None)
        shown.add(
            NAMES[each["kind"]],
            f"{each['size']:,}",
            f"{each['build']['seconds']:,.1f}",
            *_cost(each["build"], each["size"]),
            *(_cost(first, each["size"]) if first else ("-", "-", "-")),
        )
    return shown


def _cost(cost: Mapping[str, Any], size: int) -> tuple[str, str, str]:
    # Of less, the memory of the process says little.
    memory = f"{cost['memory_mb_per_million']:,.0f}" if size >= 100_000 else "-"
    disk = f"{cost['disk_mb_per_million']:,.0f}" if cost["disk_mb_per_million"] else "-"
    return f"{cost['cpu_seconds_per_million']:,.0f}", memory, disk


def _searches(found: Sequence[Mapping[str, Any]]) -> Table:
    shown = Table(
        "Searching for ten (one thread), beside an exact search of all vectors",
        ("index", "vectors", "way", "recall@10", "p50 ms", "p95 ms", "CPU ms", "CPU to plain"),
    )
    for each in found:
        plain = each["ways"]["plain"]["cpu_p50_ms"]
        for way in WAYS:
            row = each["ways"].get(way)
            if row is None:
                continue
            shown.add(
                NAMES[each["kind"]],
                f"{each['size']:,}",
                way,
                f"{row['recall']:.3f}" if "recall" in row else "-",
                f"{row['p50_ms']:.2f}",
                f"{row['p95_ms']:.2f}",
                f"{row['cpu_p50_ms']:.2f}",
                f"{row['cpu_p50_ms'] / plain:.2f}",
            )
    return shown


def _guarded(found: Sequence[Mapping[str, Any]]) -> Table:
    shown = Table(
        "The guarded pipeline: processor time of its searches, and of all else (extra)",
        (
            *("index", "vectors", "searches", "judged pairs", "searches CPU ms", "extra CPU ms"),
            "extra p95",
        ),
    )
    for each in found:
        guarded = each["guarded"]
        shown.add(
            NAMES[each["kind"]],
            f"{each['size']:,}",
            f"{guarded['searches']:.1f}",
            f"{guarded['judged_pairs']:.1f}",
            f"{guarded['searches_cpu_p50_ms']:.2f}",
            f"{guarded['extra_cpu_p50_ms']:.2f}",
            f"{guarded['extra_cpu_p95_ms']:.2f}",
        )
    return shown
