"""The table of one results file, the published numbers beside its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table
from benchmarks.core.text import against, with_interval
from benchmarks.downstream.published import ESSAY


def table(document: Mapping[str, Any]) -> Table:
    """r times 100 with its p-value, as in PIR Table 5; the other measures in percent."""
    found = document["results"]
    result = Table(
        f"{found['task']}: {found['essays']} of {found['essays_in_all']} topics with a stance, "
        f"{document['config']['passages']} passages, written by {document['config']['llm']}",
        [
            "passages",
            "polarity r (p)",
            "P(stance)",
            "against plain (p)",
            "sentences",
            "gold given",
            "published r",
        ],
    )
    for name, row in found["conditions"].items():
        r, p = row["polarity"]["r"], row["polarity"]["p"]
        published, marked = ESSAY.get(name, (None, False))
        result.add(
            name,
            "-" if r is None else f"{100 * r:+.1f} ({p:.4f})",
            with_interval(row["judge"]),
            against(row["judge"]["against_plain"]),
            with_interval(row["sentences"]),
            f"{100 * row['gold']['mean']:.1f}",
            "-" if published is None else f"{published:+.1f}{' (p < 0.05)' if marked else ''}",
        )
    return result
