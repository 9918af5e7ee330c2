"""The rows of the table: settings of the one pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.coverage.perfect import PerfectJudge
from perspective_rag import NoExpansion, PerspectivePipeline, StatementExpander
from perspective_rag.extend import Embedder, Judge, Store

FETCH_K = 100
MMR_LAMBDAS = (0.5, 0.75, 0.9, 0.95)
CEILING_POOLS = (20, 50, 100)
BASELINE = "top-k"
GUARDED = "guarded (defaults)"
DISCOVERING = "guarded, discover 2"

Kind = Literal["search", "judged", "guarded", "ceiling"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A row: options of the pipeline, whether it expands, and what it needs.

    Kinds: "search" judges nothing, "judged" and "guarded" use the judge, the latter with further
    searches for what is missing, "ceiling" uses the gold labels.
    """

    name: str
    kind: Kind
    expands: bool
    options: Mapping[str, Any] = field(default_factory=dict)

    def pipeline(
        self, store: Store, embedder: Embedder, judge: Judge | None, perfect: PerfectJudge
    ) -> PerspectivePipeline:
        """The pipeline of this row."""
        judges = {"search": None, "ceiling": perfect}
        return PerspectivePipeline(
            store,
            embedder=embedder,
            judge=judges.get(self.kind, judge),
            expander=StatementExpander() if self.expands else NoExpansion(),
            **self.options,
        )

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready values."""
        return {"kind": self.kind, "expands": self.expands, "options": dict(self.options)}


def configurations() -> list[Configuration]:
    """All rows, the baseline first."""
    plain = {"fetch_k": FETCH_K, "coverage": "off"}
    rows = [Configuration(BASELINE, "search", False, plain)]
    rows += [
        Configuration(f"MMR {weight:g}", "search", False, {**plain, "mmr_lambda": weight})
        for weight in MMR_LAMBDAS
    ]
    rows += [
        Configuration(f"with negation, {fusion}", "search", True, {**plain, "fusion": fusion})
        for fusion in ("round-robin", "rrf")
    ]
    rows += [
        Configuration(
            "judged choice, no guard", "judged", True, {"fetch_k": FETCH_K, "guard_searches": 0}
        ),
        Configuration(GUARDED, "guarded", True, {"fetch_k": FETCH_K}),
    ]
    rows += [ceiling(pool) for pool in CEILING_POOLS]
    return rows


def topic_configurations() -> list[Configuration]:
    """The rows for bare topics, whose wording names no perspectives: the baseline first."""
    plain = {"fetch_k": FETCH_K, "coverage": "off"}
    return [
        Configuration(BASELINE, "search", False, plain),
        Configuration("MMR 0.75", "search", False, {**plain, "mmr_lambda": 0.75}),
        Configuration(DISCOVERING, "guarded", True, {"fetch_k": FETCH_K, "discover": 2}),
        Configuration("guarded, discover 4", "guarded", True, {"fetch_k": FETCH_K, "discover": 4}),
        ceiling(100),
    ]


def ablation_configurations() -> list[Configuration]:
    """The defaults without each of their stages, and with more or less to judge: what a stage is
    worth, and MRecall against judged pairs.
    """
    full = {"fetch_k": FETCH_K}
    return [
        Configuration(BASELINE, "search", False, {**full, "coverage": "off"}),
        Configuration(GUARDED, "guarded", True, full),
        Configuration("without the guard", "judged", True, {**full, "guard_searches": 0}),
        Configuration("without a query for each side", "guarded", False, full),
        Configuration("without the judge", "search", True, {**full, "coverage": "off"}),
        *(
            Configuration(f"judging at most {most}", "guarded", True, {**full, "judge_k": most})
            for most in (5, 10, 15, 50)
        ),
    ]


def ceiling(pool: int) -> Configuration:
    """A perfect judge that sees the first ``pool`` passages and chooses by their labels alone."""
    options = {
        "fetch_k": pool,
        "judge_k": pool,
        "coverage_weight": 1.0,
        "guard_searches": 0,
        "relevance_floor": -1.0,  # a perfect judge knows what is about the question
    }
    return Configuration(f"perfect judge, top {pool}", "ceiling", False, options)
