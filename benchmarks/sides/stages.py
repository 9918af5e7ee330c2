"""Where sides are lost: in the pool, the search, the order, the judging or the choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.core.bootstrap import interval
from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import SIDES, PoolQuestion
from benchmarks.sides.reading import Outcome

DEPTHS = (100, 25)


@dataclass(frozen=True, slots=True)
class Passed:
    """For each stage the sides of a question that have a true support left after it."""

    question: str
    stages: dict[str, frozenset[str]]


def stage_names(k: int) -> list[str]:
    """The stages in their order; the last two are about what is returned."""
    return [
        "in the pool",
        *(f"among the first {depth} of the search order" for depth in DEPTHS),
        "among the judged",
        "judged true by the judge's threshold",
        f"among the {k} returned",
        "listed under its side",
    ]


def passed(bench: PoolBench, question: PoolQuestion, k: int) -> Passed:
    """The stages of one question, read from what the pipeline returns and asks its judge."""
    gold = question.gold
    names = stage_names(k)

    def left(passages: Sequence[str]) -> frozenset[str]:
        return frozenset(side for side in SIDES if gold[side].intersection(passages))

    pipeline = bench.pipeline(question)
    depth = max(DEPTHS)
    found, _ = bench.ask(pipeline, question, k=depth, fetch_k=depth, coverage="off")
    outcome, _ = bench.ask(pipeline, question, k=k)
    asked = dict(bench.judge.seen)
    text = dict(zip(SIDES, question.statements, strict=True))
    threshold = bench.judge.threshold
    stages = [left(list(question.labels)), *(left(found.ranking[:each]) for each in DEPTHS)]
    stages.append(left([passage for _, passage in asked]))
    stages.append(
        frozenset(
            side
            for side in SIDES
            if any(asked.get((text[side], each), -1.0) >= threshold for each in gold[side])
        )
    )
    stages += [left(outcome.ranking), _listed(outcome, question)]
    return Passed(question.id, dict(zip(names, stages, strict=True)))


def all_passed(bench: PoolBench, k: int, on_question: Callable[[], None]) -> list[Passed]:
    """The stages of every question."""
    found = []
    for question in bench.pools.questions:
        found.append(passed(bench, question, k))
        on_question()
    return found


def stage_figures(found: Sequence[Passed], k: int, *, seed: int) -> dict[str, Any]:
    """For each stage the share of questions with both sides, the sides left, and the sides lost.

    A side that is not among the returned is ``lost_here`` at the first stage that lacks it. One may
    be returned by its relevance although the judge did not see it; it is not lost.
    """
    names = stage_names(k)
    end = names[-2]
    lost = dict.fromkeys(names, 0)
    for each in found:
        for side in each.stages[names[0]] - each.stages[end]:
            lost[next(name for name in names if side not in each.stages[name])] += 1
        for side in each.stages[end] - each.stages[names[-1]]:
            lost[names[-1]] += side in each.stages[names[0]]
    return {
        "sides": len(SIDES) * len(found),
        "stages": {
            name: {
                "both_sides": interval(
                    [float(len(each.stages[name]) == len(SIDES)) for each in found], seed=seed
                ).to_dict(),
                "sides_left": sum(len(each.stages[name]) for each in found),
                "lost_here": lost[name],
            }
            for name in names
        },
    }


def _listed(outcome: Outcome, question: PoolQuestion) -> frozenset[str]:
    return frozenset(
        each.side
        for each in outcome.listed
        if each.side in SIDES and each.passage in question.gold[each.side]
    )
