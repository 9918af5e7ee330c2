"""All parts of the benchmark in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.latency import end_to_end, mmr, pure
from perspective_rag import Corpus
from perspective_rag.extend import Embedder, Judge


def measure_steps(
    *, seed: int, seconds: float, told: Callable[[str], object] = lambda name: None
) -> dict[str, Any]:
    """The pure steps, and MMR beside LangChain's, on random vectors."""
    told("pure steps")
    found = {"pure": pure.measure(seed, seconds=seconds)}
    told("MMR beside LangChain's")
    return {**found, "mmr": mmr.measure(seed, seconds=seconds)}


def measure_questions(
    corpus: Corpus,
    embedder: Embedder,
    judge: Judge,
    *,
    questions: int | None,
    strict: bool,
    told: Callable[[str], object] = lambda name: None,
) -> dict[str, Any]:
    """The judge alone, and the first ``questions`` whole questions over the corpus."""
    told("judge")
    found = {"judge": end_to_end.judge_speed(corpus, judge)}
    told("whole questions")
    asked = end_to_end.QUESTIONS[:questions]
    whole = end_to_end.measure(corpus, asked, embedder, judge, strict=strict)
    return {**found, "end_to_end": whole}
