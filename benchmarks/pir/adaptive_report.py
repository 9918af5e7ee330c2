"""The sections of ``benchmarks/pir/ADAPTIVE.md``, made from ``benchmarks/results/pir_*.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.core.results import read
from benchmarks.core.table import Table
from benchmarks.pir.adaptive import FIXED, JUDGED, KNOWN, RERANKED
from benchmarks.pir.data import DEMO, FULL
from benchmarks.pir.methods import PLAIN
from benchmarks.pir.tables import heading, ordered

Documents = Mapping[str, Mapping[str, Any]]
"""encoder -> its results of ``benchmarks.pir.adaptive``."""

ADAPTIVE = "adaptive"
READINGS = {"merged": "queries of equal text merged", "apart": "queries apart"}
STANCES = "perspectrum"
"""The task whose queries ask for a side."""


def sections(folder: Path) -> dict[str, str]:
    """Name -> Markdown of every section that there are results for."""
    paths = sorted(folder.glob("pir_adaptive*.json"), key=lambda path: len(path.name))
    documents = {_encoder(each["embedder"]): each for each in map(read, paths)}
    others = {
        name: read(path)
        for name in ("left_out", "cost")
        if (path := folder / f"pir_{name}.json").is_file()
    }
    found = {
        "adaptive-demo": _demo(documents, others.get("left_out")),
        "adaptive-full": _full(documents),
        "adaptive-stance": _stance(documents),
        "adaptive-parts": _parts(documents),
        "adaptive-reworded": _reworded(documents),
        "adaptive-cost": _cost(others.get("cost")),
        "adaptive-commands": _commands([*documents.values(), *others.values()]),
    }
    return {name: text for name, text in found.items() if text}


def _demo(documents: Documents, together: Mapping[str, Any] | None) -> str:
    tables = []
    for reading, words in READINGS.items():
        for name, document in documents.items():
            group = document["results"]["groups"].get(DEMO)
            if group is None:
                continue
            rows = group["rows"][reading]
            table = _table(f"{name}, {words}", rows)
            for method in (*FIXED, ADAPTIVE, RERANKED):
                if method in rows:
                    _add(table, method, rows[method])
            _add(table, "adaptive, constants left one task out", group["left_out_one"][reading])
            if together is not None:
                for embedder, row in together["results"][reading]["left_out_1"].items():
                    if _encoder(embedder) == name:
                        _add(table, "the same, encoders together", row)
            tables.append(table.markdown())
    return "\n".join(tables)


def _full(documents: Documents) -> str:
    tables = []
    for name, document in documents.items():
        group = document["results"]["groups"].get(FULL)
        if group is not None:
            rows = group["rows"]["merged"]
            table = _table(f"{name}, the rebuilt tasks, {READINGS['merged']}", rows)
            for method in (*FIXED, ADAPTIVE, RERANKED):
                if method in rows:
                    _add(table, method, rows[method])
            tables.append(table.markdown())
    return "\n".join(tables)


def _stance(documents: Documents) -> str:
    """What the judge's order is worth at each cut, what could be had at most, and which sides the
    first five take.
    """
    tables = []
    for name, document in documents.items():
        for group, words in ((DEMO, "demo"), (FULL, "in full")):
            found = document["results"]["groups"].get(group)
            if found is None or RERANKED not in found.get("sides", {}).get(STANCES, {}):
                continue
            rows = found["rows"]["merged"]
            cuts = ("1", "5", "10", str(JUDGED))
            columns = ["", *(f"@{k}" for k in cuts), "of the first 5: asked / other / neither"]
            table = Table(f"Perspectrum, {words}, {name}", columns)
            for method in (PLAIN, ADAPTIVE, RERANKED, KNOWN):
                row = rows[method]
                at = {**row["cuts"], "5": row["tasks"]}
                sides = found["sides"][STANCES].get(method)
                shares = (
                    " / ".join(f"{100 * share:.1f}" for share in sides.values()) if sides else ""
                )
                table.add(_shown(method), *(f"{at[k][STANCES]:.1f}" for k in cuts), shares)
            tables.append(table.markdown())
    return "\n".join(tables)


def _parts(documents: Documents) -> str:
    columns = [
        (f"{name}, {words}", document["results"]["groups"][group]["rows"]["merged"], task)
        for group, words, task in ((DEMO, "demo", None), (FULL, "Perspectrum in full", STANCES))
        for name, document in documents.items()
        if group in document["results"]["groups"]
    ]
    if not columns:
        return ""
    table = Table("What each part is worth", ["", *(name for name, _, _ in columns)])
    methods = [name for name in columns[0][1] if name.startswith(ADAPTIVE)]
    for method in methods:
        if method not in (RERANKED, KNOWN):
            values = [
                rows[method]["tasks"][t] if t else rows[method]["mean"] for _, rows, t in columns
            ]
            table.add(method, *(f"{value:.1f}" for value in values))
    return table.markdown()


def _reworded(documents: Documents) -> str:
    tables = []
    for name, document in documents.items():
        for group, words in ((DEMO, "the demo"), (FULL, "the rebuilt tasks")):
            rows = document["results"]["groups"].get(group, {}).get("reworded")
            if rows:
                table = _table(f"{name}, {words} in other words", rows)
                for method, row in rows.items():
                    _add(table, method, row)
                tables.append(table.markdown())
    return "\n".join(tables)


def _cost(document: Mapping[str, Any] | None) -> str:
    if document is None:
        return ""
    columns = ["vectors", "plain", "PAP", "adaptive", "PAP / plain", "adaptive / plain"]
    table = Table("Median processor milliseconds a search", columns)
    for vectors, row in document["results"]["by_vectors"].items():
        times = [f"{row[name]:.2f}" for name in ("plain_ms", "pap_ms", "adaptive_ms")]
        ratios = [f"{row[name]:.2f}" for name in ("pap_times_plain", "adaptive_times_plain")]
        table.add(f"{int(vectors):,}", *times, *ratios)
    return table.markdown()


def _commands(documents: list[Mapping[str, Any]]) -> str:
    if not documents:
        return ""
    table = Table("Runs", ["command", "date", "seconds", "judge"])
    for each in documents:
        judge = (each["judge"] or {}).get("name", "-")
        table.add(f"`{each['command']}`", each["date"][:10], f"{each['seconds']:.0f}", judge)
    return table.markdown()


def _table(title: str, rows: Mapping[str, Any]) -> Table:
    names = ordered(rows[PLAIN]["tasks"])
    return Table(title, ["", *map(heading, names), "average", "against plain (p)"])


def _add(table: Table, method: str, row: Mapping[str, Any]) -> None:
    if not row:
        return
    values = [f"{row['tasks'][name]:.1f}" for name in ordered(row["tasks"])]
    gain = "=" if method == PLAIN else f"{row['over_plain']:+.1f}"
    if method != PLAIN and "p" in row:
        gain += f" ({row['p']:.4f})"
    table.add(_shown(method), *values, f"{row['mean']:.1f}", gain)


def _shown(method: str) -> str:
    return "plain cosine" if method == PLAIN else method


def _encoder(name: str) -> str:
    return name.partition("@")[0]
