"""Tables of PIR results, measured rows and published ones beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table
from benchmarks.pir.methods import PLAIN
from benchmarks.pir.published import (
    TABLE_2,
    TABLE_6,
    TABLE_8,
    TABLE_9,
    TABLES_3_AND_10,
    TASKS,
    TITLES,
)

Document = Mapping[str, Any]


def group_table(group: Mapping[str, Any], title: str, k: int = 5) -> Table:
    """Methods by tasks: p-Recall@k, the average with its interval, and its gain over plain."""
    names = ordered(group["tasks"])
    table = Table(title, ["method", *map(heading, names), "average", "against plain (p)"])
    for method, average in group["average"].items():
        cells = [
            percent(group["tasks"][name]["methods"][method]["p_recall"][str(k)]["mean"])
            for name in names
        ]
        table.add(method, *cells, _bounded(average["p_recall"][str(k)]), _gain(average, k))
    return table


def published_methods() -> Table:
    """PIR Table 8."""
    title = "Published: p-Recall@5, SimCSE-sup, full data (PIR Table 8)"
    table = Table(title, ["method", *map(heading, TASKS), "average", "against plain"])
    for method, values in TABLE_8.items():
        gain = "=" if method == PLAIN else f"{values[-1] - TABLE_8[PLAIN][-1]:+.1f}"
        table.add(method, *(f"{value:.1f}" for value in values), gain)
    return table


def retrievers_table(documents: Mapping[str, Document], group: str, k: int = 5) -> Table:
    """Retrievers by tasks with plain scores, above the rows of PIR Table 2."""
    title = f"p-Recall@{k} of retrievers; published rows: full data (PIR Table 2)"
    table = Table(title, ["retriever", *map(heading, TASKS), "average"])
    for name, document in documents.items():
        found = document["results"]["groups"][group]
        row = [
            percent(found["tasks"][task]["methods"][PLAIN]["p_recall"][str(k)]["mean"])
            for task in TASKS
        ]
        table.add(name, *row, _bounded(found["average"][PLAIN]["p_recall"][str(k)]))
    for name, values in TABLE_2.items():
        table.add(f"published: {name}", *(f"{value:.1f}" for value in values))
    return table


def cuts_table(group: Mapping[str, Any], title: str) -> Table:
    """Average p-Recall@1, 5 and 10 of the methods, with the gain over plain and its p."""
    cuts = list(next(iter(group["average"].values()))["p_recall"])
    columns = [f"@{k}{suffix}" for k in cuts for suffix in ("", " against plain (p)")]
    table = Table(title, ["method", *columns])
    for method, average in group["average"].items():
        cells = []
        for k in cuts:
            cells += [percent(average["p_recall"][k]["mean"]), _gain(average, int(k))]
        table.add(method, *cells)
    return table


def recall_table(documents: Mapping[str, Document], group: str) -> Table:
    """Recall@5 and @10 of queries with their perspective and of their roots (Figures 2 and 4)."""
    title = "Recall@5 / @10 with the perspective in the query, and of the root query alone"
    table = Table(title, ["retriever", *map(heading, TASKS)])
    for name, document in documents.items():
        tasks = document["results"]["groups"][group]["tasks"]
        found = {
            "with": [tasks[task]["methods"][PLAIN]["recall"] for task in TASKS],
            "root": [tasks[task]["root_recall"] for task in TASKS],
        }
        for label, recalls in found.items():
            cells = [f"{percent(each['5'])} / {percent(each['10'])}" for each in recalls]
            table.add(f"{name}, {label}", *cells)
    return table


def ties_table(documents: Mapping[str, Document], group: str, k: str = "5") -> Table:
    """Plain p-Recall@k were gold to lose every tie, as it is scored, and were gold to win each."""
    title = f"Plain p-Recall@{k}: gold loses every tie / expected / gold wins every tie"
    table = Table(title, ["results", *map(heading, TASKS), "average"])
    for name, document in documents.items():
        tasks = document["results"]["groups"][group]["tasks"]
        rows = [
            (
                tasks[task]["ties"][k]["lost"],
                tasks[task]["methods"][PLAIN]["p_recall"][k]["mean"],
                tasks[task]["ties"][k]["won"],
            )
            for task in TASKS
        ]
        rows.append(tuple(sum(column) / len(rows) for column in zip(*rows, strict=True)))
        table.add(name, *(" / ".join(map(percent, row)) for row in rows))
    return table


def shares_table(documents: Mapping[str, Document], group: str, k: str = "5") -> Table:
    """Which perspective's gold the root queries find (Tables 3 and 10)."""
    title = f"Perspectives of the gold found among the first {k} of root queries, percent"
    sides = [("perspectrum", "support"), ("perspectrum", "undermine")]
    sides += [("allsides", label) for label in ("left", "right", "center")]
    table = Table(title, ["retriever", *(label for _, label in sides)])
    expected = None
    for name, document in documents.items():
        tasks = document["results"]["groups"][group]["tasks"]
        found = {task: tasks[task]["label_shares"][k] for task in ("perspectrum", "allsides")}
        table.add(name, *(percent(found[task]["shares"][label]) for task, label in sides))
        expected = [percent(found[task]["expected"][label]) for task, label in sides]
    if expected:
        table.add("what there is to find", *expected)
    for name, values in TABLES_3_AND_10.items():
        table.add(f"published: {name}", *(f"{value:.1f}" for value in values))
    return table


def extraction_table(documents: Mapping[str, Document], group: str) -> Table:
    """The paper's Jaccard index and the token F1 of extractors (Table 6)."""
    title = "Extraction of the perspective, 50 queries a task: Jaccard index / token F1"
    table = Table(title, ["extractor", *map(heading, TASKS)])
    for document in documents.values():
        found = document["results"]["extraction"][group]
        cells = [
            f"{percent(found[task]['jaccard'])} / {percent(found[task]['token_f1'])}"
            for task in TASKS
        ]
        table.add(document["config"]["extractor"], *cells)
    table.add("published: GPT-3.5-Turbo", *(f"{TABLE_6[task]:.1f} / -" for task in TASKS))
    return table


def extraction_scores_table(tasks: Mapping[str, Mapping[str, float]], title: str) -> Table:
    """One extractor's scores task by task, with the replies that could not be used."""
    columns = ["task", "queries", "Jaccard index", "token F1", "found any", "unusable replies"]
    table = Table(title, columns)
    for name in ordered(tasks):
        found = tasks[name]
        shares = [percent(found[each]) for each in ("jaccard", "token_f1", "found")]
        table.add(heading(name), f"{found['queries']:.0f}", *shares, f"{found['degradations']:.0f}")
    return table


def backbones_table(documents: Mapping[str, Document], group: str) -> Table:
    """PAP and PAP+ by encoder, average p-Recall@5 and the gain over none (Table 9)."""
    title = "PAP and PAP+ by encoder: average p-Recall@5 (gain over plain)"
    table = Table(title, ["encoder", "PAP", "PAP+"])
    for name, document in documents.items():
        average = document["results"]["groups"][group]["average"]
        if "pap" in average and "pap+" in average:
            cells = [
                f"{percent(average[each]['p_recall']['5']['mean'])} "
                f"({100 * average[each]['against_plain']['5']['mean']:+.1f})"
                for each in ("pap", "pap+")
            ]
            table.add(name, *cells)
    for name, (pap, gain, plus, plus_gain) in TABLE_9.items():
        table.add(
            f"published: {name}", f"{pap:.1f} ({gain:+.1f})", f"{plus:.1f} ({plus_gain:+.1f})"
        )
    return table


def ordered(tasks: Mapping[str, Any]) -> list[str]:
    """Task names in the paper's order, others after them."""
    return [name for name in TASKS if name in tasks] + [name for name in tasks if name not in TASKS]


def heading(task: str) -> str:
    """A task's name as the paper writes it."""
    return TITLES.get(task, task)


def percent(value: float) -> str:
    """A share in percent, one place."""
    return f"{100 * value:.1f}"


def _bounded(bounds: Mapping[str, float]) -> str:
    return f"{percent(bounds['mean'])} [{percent(bounds['low'])}, {percent(bounds['high'])}]"


def _gain(average: Mapping[str, Any], k: int) -> str:
    if average["against_plain"] is None:
        return "="
    found = average["against_plain"][str(k)]
    return f"{100 * found['mean']:+.1f} ({found['p']:.4f})"
