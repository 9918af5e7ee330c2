"""The sections of ``benchmarks/downstream/README.md``, made from both results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.ambigqa.report import table as ambigqa_table
from benchmarks.core.results import read
from benchmarks.core.table import Table
from benchmarks.essay.report import table as essay_table

TABLES = {"ambigqa": ambigqa_table, "essay": essay_table}


def sections(folder: Path) -> dict[str, str]:
    """Name -> Markdown of every section that there are results for."""
    found = {}
    runs = Table("Runs", ["results", "command", "date", "seconds", "tokens in / out"])
    for name, table in TABLES.items():
        texts = []
        for path in sorted(folder.glob(f"{name}-*.json")):
            values = read(path)
            texts.append(table(values).markdown())
            tokens = values["results"]["tokens"]
            runs.add(
                path.name,
                f"`{values['command']}`",
                values["date"][:10],
                f"{values['seconds']:.0f}",
                f"{tokens['in']:,} / {tokens['out']:,}",
            )
        if texts:
            found[f"downstream-{name}"] = "\n".join(texts)
    if runs.rows:
        found["downstream-commands"] = runs.markdown()
    return found
