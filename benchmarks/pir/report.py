"""The sections of ``benchmarks/pir/*.md`` and the README, made from ``results/pir-*.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.core.results import read
from benchmarks.core.table import Table
from benchmarks.pir.data import DEMO, FULL
from benchmarks.pir.published import TASKS
from benchmarks.pir.tables import (
    backbones_table,
    cuts_table,
    extraction_table,
    group_table,
    percent,
    published_methods,
    recall_table,
    retrievers_table,
    shares_table,
    ties_table,
)

Documents = Mapping[str, Mapping[str, Any]]


def sections(folder: Path) -> dict[str, str]:
    """Name -> Markdown of every section that there are results for."""
    documents = {
        path.stem.removeprefix("pir-"): read(path) for path in sorted(folder.glob("pir-*.json"))
    }
    extracted = {name: d for name, d in documents.items() if "extraction" in d["results"]}
    measured = {
        name: d
        for name, d in documents.items()
        if "groups" in d["results"] and d["config"].get("limit") is None
    }
    published = {n: d for n, d in measured.items() if any(d["config"]["reading"].values())}
    own = {name: d for name, d in measured.items() if name not in published}
    demo = _with(own, DEMO)
    dense = {name: d for name, d in demo.items() if len(d["config"]["methods"]) > 1}
    found = {
        "pir-retrievers": _text(retrievers_table(demo, DEMO)),
        "pir-methods": "\n".join(
            [*_methods(dense, DEMO, "the demo's six tasks"), _text(published_methods())]
        ),
        "pir-cuts": "\n".join(
            _text(cuts_table(d["results"]["groups"][DEMO], f"Average p-Recall@k, {name}"))
            for name, d in dense.items()
        ),
        "pir-recall": _text(recall_table(demo, DEMO)),
        "pir-shares": _text(shares_table(demo, DEMO)),
        "pir-ties": _text(ties_table(_with_ties(_with(measured, DEMO)), DEMO)),
        "pir-backbones": _text(backbones_table(dense, DEMO)),
        "pir-full": "\n".join(_methods(_with(own, FULL), FULL, "the rebuilt tasks")),
        "pir-as-published": "\n".join(
            _methods(_with(published, DEMO), DEMO, "the demo's six tasks")
        ),
        "pir-extraction": _text(extraction_table(_extractions(extracted), DEMO)),
        "pir-commands": _commands(documents),
        "pir": "\n".join([*_run_by(dense), "", _text(_overview(dense))]) if dense else "",
    }
    return {name: text for name, text in found.items() if documents and text}


def _methods(documents: Documents, group: str, tasks: str) -> list[str]:
    return [
        _text(group_table(d["results"]["groups"][group], f"p-Recall@5 on {tasks}, {name}"))
        for name, d in documents.items()
    ]


def _run_by(documents: Documents) -> list[str]:
    """A line for each run: its command and date."""
    return [f"- `{d['command']}`, {d['date'][:10]}" for d in documents.values()]


def _overview(dense: Documents) -> Table:
    """Every method's average on the demo by encoder, with its gain over plain cosine."""
    names = list(dense)
    table = Table(
        "PIR demo, six tasks: average p-Recall@5 (gain over plain; p)", ["method", *names]
    )
    averages = {name: d["results"]["groups"][DEMO]["average"] for name, d in dense.items()}
    methods = list(dict.fromkeys(m for average in averages.values() for m in average))
    for method in methods:
        table.add(method, *(_cell(averages[name].get(method)) for name in names))
    return table


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    mean = percent(row["p_recall"]["5"]["mean"])
    if row["against_plain"] is None:
        return mean
    gain = row["against_plain"]["5"]
    return f"{mean} ({100 * gain['mean']:+.1f}; {gain['p']:.4f})"


def _commands(documents: Documents) -> str:
    table = Table("Runs", ["results", "command", "date", "seconds"])
    for name, d in documents.items():
        table.add(f"pir-{name}.json", f"`{d['command']}`", d["date"][:10], f"{d['seconds']:.0f}")
    return _text(table)


def _with(documents: Documents, group: str) -> Documents:
    """Those that hold a group; of the demo only whole ones, which an average can be had of."""
    wanted = set(TASKS) if group == DEMO else set()
    found = {
        n: d["results"]["groups"][group]
        for n, d in documents.items()
        if group in d["results"]["groups"]
    }
    return {name: documents[name] for name, each in found.items() if wanted <= set(each["tasks"])}


def _with_ties(documents: Documents) -> Documents:
    """Those that say what ties are worth."""
    return {
        name: d
        for name, d in documents.items()
        if all("ties" in task for task in d["results"]["groups"][DEMO]["tasks"].values())
    }


def _extractions(documents: Documents) -> Documents:
    return {name: d for name, d in documents.items() if DEMO in d["results"]["extraction"]}


def _text(table: Table) -> str:
    return table.markdown()
