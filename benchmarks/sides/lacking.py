"""Questions over a corpus that says nothing about them: nothing may be claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.core.bootstrap import interval
from benchmarks.sides.asking import PoolBench
from benchmarks.sides.reading import Outcome
from perspective_rag import Corpus


def over_another(
    bench: PoolBench, corpus: Corpus, k: int, on_question: Callable[[], None]
) -> list[Outcome]:
    """The questions with their statements, asked over a corpus that is not theirs."""
    pipeline = bench.over(corpus)
    found = []
    for question in bench.pools.questions:
        found.append(bench.ask(pipeline, question, k=k)[0])
        on_question()
    return found


def over_own(bench: PoolBench, k: int, on_question: Callable[[], None]) -> list[Outcome]:
    """The same over their own pools."""
    found = []
    for question in bench.pools.questions:
        found.append(bench.ask(bench.pipeline(question), question, k=k)[0])
        on_question()
    return found


def claim_rates(outcomes: Sequence[Outcome], *, seed: int) -> dict[str, Any]:
    """How often coverage is claimed and nothing is listed, with what is listed in all."""
    return {
        "questions": len(outcomes),
        "claimed": interval([float(each.claimed) for each in outcomes], seed=seed).to_dict(),
        "abstained": interval([float(each.abstained) for each in outcomes], seed=seed).to_dict(),
        "listed": sum(len(each.listed) for each in outcomes),
        "returned": sum(len(each.ranking) for each in outcomes),
        "pairs": sum(each.pairs for each in outcomes) / len(outcomes),
        "degradations": sum(len(each.degradations) for each in outcomes),
    }
