"""The rows of the table: ways to choose k passages of a pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.core.metrics import oracle_ranking
from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import SIDES, PoolQuestion
from benchmarks.sides.reading import Outcome, Shown
from benchmarks.sides.scoring import both_sides, listing
from benchmarks.sides.selectors import MMR, GreedyCoverage, JointCoverage, TopK, XQuAD
from perspective_rag.extend import PlainFirst, Selector
from perspective_rag.maths.ranking import coverage_greedy

PLAIN = "top-k"
GUARDED = "guarded (defaults)"
PERFECT = "perfect choice (by labels)"
PRECISION = 0.85
"""The share of listed supports true that a fitted listing threshold has to reach."""
LEAST = 20
"""Supports that must be listed for that share to be believed."""

WEIGHTS = (0.95, 0.75, 0.5)
"""The relevance weights that MMR, xQuAD and RxQuAD are fitted over; ties go to the first."""
THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The values of ``min_support`` that the fitted guard is fitted over."""

COVERAGE_WEIGHTS = (0.9, 0.5, 0.7, 0.8, 1.0)
"""The values of ``coverage_weight`` that the choice is fitted over."""
SELECTORS: Mapping[str, Selector] = {
    "top-k": TopK(),
    "MMR": MMR(),
    "xQuAD by cosine": XQuAD(),
    "RxQuAD by cosine": XQuAD(inferred=True),
    "greedy coverage": GreedyCoverage(),
    "joint coverage": JointCoverage(),
    "plain first": PlainFirst(),
}
"""The ways to choose from the same judged candidates, without the guard."""

Ask = Callable[[PoolBench, PoolQuestion, int], Outcome]
Score = Callable[[Sequence[Outcome], Sequence[PoolQuestion]], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row: what it does with a question, by the name of the setting.

    A row of one setting is not fitted. One of several is, by cross-fitting: each fold is answered
    with the setting of highest ``score`` on the questions of the other folds.
    """

    name: str
    settings: Mapping[str, Ask]
    judges: bool = False
    score: Score | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready values."""
        fitted = list(self.settings) if len(self.settings) > 1 else []
        return {"judges": self.judges, "fitted_over": fitted, "options": dict(self.options)}


def rows() -> list[Row]:
    """All rows, the baseline first, the ceiling last."""
    return [
        Row(PLAIN, {"": _searched()}),
        Row("MMR", {_named(w): _searched(relevance_weight=w) for w in WEIGHTS}, score=by_both),
        Row("xQuAD by cosine", {_named(w): _explicit(w) for w in WEIGHTS}, score=by_both),
        Row(
            "RxQuAD by cosine",
            {_named(w): _explicit(w, inferred=True) for w in WEIGHTS},
            score=by_both,
        ),
        Row("question + negation, RRF", {"": _fused("rrf")}),
        Row("question + negation, round robin", {"": _fused("round-robin")}),
        Row("question + negation, seats", {"": _fused("seats")}),
        *(
            Row(f"judged, {name}", {"": _guarded(selector, guard_searches=0)}, judges=True)
            for name, selector in SELECTORS.items()
        ),
        Row(
            "judged, plain first, weight fitted",
            {
                f"coverage {w:g}": _guarded(guard_searches=0, coverage_weight=w)
                for w in COVERAGE_WEIGHTS
            },
            judges=True,
            score=by_both,
        ),
        Row(
            "judged, plain first, RRF",
            {"": _guarded(guard_searches=0, fusion="rrf")},
            judges=True,
        ),
        Row(GUARDED, {"": _guarded()}, judges=True),
        Row(
            "guarded, threshold fitted",
            {f"{value:g}": _guarded(min_support=value) for value in THRESHOLDS},
            judges=True,
            score=by_precision,
            options={"precision": PRECISION, "least": LEAST},
        ),
        Row(PERFECT, {"": perfect}),
    ]


def by_both(outcomes: Sequence[Outcome], questions: Sequence[PoolQuestion]) -> tuple[float, ...]:
    """How many questions have both sides among the k."""
    return (float(sum(map(both_sides, outcomes, questions))),)


def by_precision(
    outcomes: Sequence[Outcome], questions: Sequence[PoolQuestion]
) -> tuple[float, ...]:
    """Most true supports listed among those that list at least ``PRECISION`` true; where none
    does, the most precise. Those that list fewer than ``LEAST`` come last.
    """
    counts = [listing(outcome, each) for outcome, each in zip(outcomes, questions, strict=True)]
    true = sum(each.true for each in counts)
    listed = sum(each.listed for each in counts)
    if listed < LEAST:
        return (-1.0, float(listed))
    return (1.0, float(true)) if true / listed >= PRECISION else (0.0, true / listed)


def perfect(bench: PoolBench, question: PoolQuestion, k: int) -> Outcome:
    """The choice that no other beats, and the listing without an error: both by the labels."""
    ranking = tuple(oracle_ranking(list(question.labels), question.gold, k))
    shown = tuple(
        Shown(side, passage, None, passage in question.gold[side])
        for side in SIDES
        for passage in ranking
    )
    outcome = Outcome(ranking, True, shown)
    covered = both_sides(outcome, question)
    nothing = not any(each.listed for each in shown)
    return Outcome(ranking, True, shown, claimed=covered, abstained=nothing)


def _named(weight: float) -> str:
    return f"relevance {weight:g}"


def _searched(**options: Any) -> Ask:
    """The pipeline's own search and order for the question alone, nothing judged."""

    def ask(bench: PoolBench, question: PoolQuestion, k: int) -> Outcome:
        pipeline = bench.pipeline(question)
        wanted = {"k": k, "coverage": "off", "max_queries": 1, **options}
        return bench.ask(pipeline, question, **wanted)[0]

    return ask


def _fused(fusion: str) -> Ask:
    """The searches by vector for the question and both statements, fused; nothing judged."""

    def ask(bench: PoolBench, question: PoolQuestion, k: int) -> Outcome:
        pipeline = bench.pipeline(question, dense=True)
        return bench.ask(pipeline, question, k=k, coverage="off", fusion=fusion)[0]

    return ask


def _guarded(selector: Selector | None = None, **options: Any) -> Ask:
    """The pipeline as it is, with the selector and options it has unless told otherwise."""

    def ask(bench: PoolBench, question: PoolQuestion, k: int) -> Outcome:
        pipeline = bench.pipeline(question, selector=selector)
        return bench.ask(pipeline, question, k=k, **options)[0]

    return ask


def _explicit(weight: float, *, inferred: bool = False) -> Ask:
    """xQuAD over the plain ranking, a statement's cosine to a passage in place of P(support).

    ``inferred``: RxQuAD as pyversity has it, where a statement weighs as much as the relevant
    passages are near to it (its release 0.2.0 has neither yet).
    """

    def ask(bench: PoolBench, question: PoolQuestion, k: int) -> Outcome:
        outcome, near = bench.nearness(question)
        started = time.perf_counter()
        relevance, sides = near[:, 0], near[:, 1:]
        weights = relevance @ sides if inferred else None
        picked = coverage_greedy(relevance, sides, k, relevance_weight=weight, weights=weights)
        return Outcome(
            tuple(outcome.ranking[i] for i in picked.indices),
            searches=outcome.searches,
            seconds=round(outcome.seconds + time.perf_counter() - started, 6),
            degradations=outcome.degradations,
        )

    return ask
