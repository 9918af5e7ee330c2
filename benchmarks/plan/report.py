"""The plan as tables, its assumptions first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def tables(document: Mapping[str, Any]) -> list[Table]:
    """What is assumed, what a corpus takes whatever the machines, and what each set-up takes."""
    found, config = document["results"], document["config"]
    return [_assumed(found, config), _stored(found, config), _taken(found, config)]


def _assumed(found: Mapping[str, Any], config: Mapping[str, Any]) -> Table:
    table = Table("Assumed", ("set-up", "passages/s", "pairs/s", "machines", "price an hour each"))
    for each in config["set_ups"]:
        mark = "" if each["embedded"] is None else " (assumed)"
        table.add(
            each["name"],
            f"{found['speeds'][each['name']]['embedded']:,.0f}{mark}",
            f"{found['speeds'][each['name']]['judged']:,.0f}{mark}",
            f"{each['machines']}" + (f" of {each['cores']} cores" if each["cores"] else ""),
            f"{each['price']:.2f} (assumed)",
        )
    return table


def _stored(found: Mapping[str, Any], config: Mapping[str, Any]) -> Table:
    table = Table(
        f"Storage: float16 vectors of {found['rates']['dimensions']} numbers, "
        f"{found['rates']['passage_bytes']:.0f} bytes of text a passage",
        ("passages", "text GB", "vectors GB", f"memory GB at {config['compressed']} bytes each"),
    )
    for row in {row["passages"]: row for row in found["rows"]}.values():
        cells = (row["text_gb"], row["vectors_gb"], row["memory_gb"])
        table.add(f"{row['passages']:,}", *(f"{each:,.1f}" for each in cells))
    return table


def _taken(found: Mapping[str, Any], config: Mapping[str, Any]) -> Table:
    table = Table(
        f"Hours and money: embedding all passages, judging {config['pairs']:,} pairs",
        ("passages, set-up", "embedding h", "cost", "judging h", "cost"),
    )
    for row in found["rows"]:
        table.add(
            f"{row['passages']:,}, {row['set_up']}",
            f"{row['embedding_hours']:,.1f}",
            f"{row['embedding_cost']:,.0f}",
            f"{row['judging_hours']:,.1f}",
            f"{row['judging_cost']:,.0f}",
        )
    return table
