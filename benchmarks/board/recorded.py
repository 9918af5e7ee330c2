"""Rows that are read from the committed results of other benchmarks, with command and date."""

from __future__ import annotations

from typing import Any

from benchmarks.board.scoring import BEST, MMR, OURS, PLAIN, RXQUAD, XQUAD
from benchmarks.core import results

_COVERAGE = {
    PLAIN: "rows/top-k/metrics/mrecall@5",
    MMR: "rows/MMR 0.75/metrics/mrecall@5",
    OURS: "rows/guarded (defaults)/metrics/mrecall@5",
    BEST: "rows/perfect judge, top 100/metrics/mrecall@5",
}
_POOLS = {
    name: f"rows/{row}/at/5/both_sides"
    for name, row in (
        (PLAIN, "top-k"),
        (MMR, "MMR"),
        (XQUAD, "xQuAD by cosine"),
        (RXQUAD, "RxQuAD by cosine"),
        (OURS, "guarded (defaults)"),
        (BEST, "perfect choice (by labels)"),
    )
}
_LABELLED = {PLAIN: "rows/top-k/mrecall@5", OURS: "rows/guarded, fast judge/mrecall@5"}
_PIR = {PLAIN: "groups/pir_demo/rows/merged/none/mean"}
_LEFT_OUT = {OURS: "merged/left_out_1/all-MiniLM-L6-v2@7de245ceb623/mean"}
RECORDED: tuple[tuple[str, str, str, dict[str, str], str], ...] = (
    ("pools_dev", "both sides among 5", "sides", _POOLS, ""),
    ("gold coverage", "both sides among 5", "coverage", _COVERAGE, ""),
    ("BERDS by labels", "all perspectives among 5", "sides_labelled", _LABELLED, ""),
    ("question forms", "read rightly", "question_forms", {OURS: "passed"}, "questions"),
    ("PIR demo", "p-Recall@5", "pir_adaptive", _PIR, "percent"),
    ("PIR demo", "p-Recall@5", "pir_left_out", _LEFT_OUT, "percent"),
)
"""Set, measure, file, the place of each column in its results, and what a bare number is out of."""


def recorded_rows() -> list[dict[str, Any]]:
    """The rows; what several files say of one set and measure is one."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for name, measure, file, columns, out_of in RECORDED:
        document = results.read(results.RESULTS / f"{file}.json")
        empty: dict[str, Any] = {"set": name, "measure": measure, "columns": {}, "ahead": None}
        row = rows.setdefault((name, measure), empty)
        row["date"], row["from"] = document["date"][:10], document["command"]
        row["count"] = document["results"].get("questions", document["data"].get("questions"))
        for column, place in columns.items():
            value: Any = document["results"]
            for key in place.split("/"):
                value = value[key]
            if out_of:
                value = {"mean": value / (100 if out_of == "percent" else row["count"])}
            row["columns"][column] = value
    return list(rows.values())
