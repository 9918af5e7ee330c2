"""The table of one results file, the published numbers beside its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table
from benchmarks.core.text import against, with_interval
from benchmarks.downstream.published import AMBIGQA

MEASURES: Mapping[str, str] = {
    "exact_match": "exact match",
    "f1": "token F1",
    "contains": "answer within",
}
SHARES: Mapping[str, str] = {"agreement": "as gold's (F1)", "hit": "gold given"}


def table(document: Mapping[str, Any]) -> Table:
    """Percent; the measures of answers with 95% intervals and, for token F1, or else for the
    agreement with the reply to the gold passage, the difference from plain with its p-value.
    """
    found = document["results"]
    rows = found["conditions"]
    measures = [each for each in MEASURES if all(each in row for row in rows.values())]
    shares = [each for each in SHARES if all(each in row for row in rows.values())]
    compared = next(each for each in ("f1", *shares) if each in (*measures, *shares))
    names = {**MEASURES, **SHARES}
    result = Table(
        f"{found['task']}: {found['queries']} of {found['queries_in_all']} questions on "
        f"{found['documents']} documents, read by {document['config']['llm']}",
        [
            "passage",
            *(names[each] for each in measures),
            *(names[each] for each in shares),
            f"{'F1' if compared == 'f1' else names[compared]} against plain (p)",
            *(["published exact match"] if "exact_match" in measures else []),
        ],
    )
    for name, row in rows.items():
        published = f"{AMBIGQA[name]:.1f}" if name in AMBIGQA else "-"
        result.add(
            name,
            *(with_interval(row[each]) for each in measures),
            *(f"{100 * row[each]['mean']:.1f}" for each in shares),
            against(row[compared]["against_plain"]),
            *([published] if "exact_match" in measures else []),
        )
    return result
