"""The passages that a reader is given: none, the gold ones, or the best of a method."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.pir.embedding import DenseRetriever, Progress, TaskVectors, Vectors
from benchmarks.pir.methods import ADAPTIVE, METHODS, PLAIN, Method, adaptive
from benchmarks.pir.retrievers import Retriever
from benchmarks.pir.running import DIFFERENCE_METHODS, perspectives_are_queries
from benchmarks.pir.tasks import Task
from perspective_rag import ConfigError
from perspective_rag.extend import Matrix
from perspective_rag.maths.adaptive import KINDS

Item = TypeVar("Item")
Ranker = Callable[[str, int], list[tuple[int, ...]]]

WITHOUT, GOLD = "no", "gold"
METHOD_OF = {"plain": PLAIN, "pap": "pap", "pap+": "pap+", "adaptive": ADAPTIVE}
CONDITIONS = (WITHOUT, GOLD, *METHOD_OF)
"""The rows of PIR Table 5, and the projection chosen for each query."""


def sample(items: Sequence[Item], count: int, *, seed: int) -> list[Item]:
    """``count`` items without replacement, in the order they had; all where there are fewer."""
    if count >= len(items):
        return list(items)
    chosen = sorted(random.Random(seed).sample(range(len(items)), count))
    return [items[place] for place in chosen]


def dense_ranker(
    task: Task, retriever: DenseRetriever, cache: Path, told: Progress | None = None
) -> Ranker:
    """Ranks by the vector methods of ``benchmarks.pir``.

    Where the perspective is the whole query, p is q - r for the methods that the published code
    gives that: with p = q they would leave nothing of the query.
    """
    store = Vectors(retriever, cache / "pir")
    try:
        vectors = store.of(task, told)
    finally:
        store.close()
    methods = {**METHODS, ADAPTIVE: adaptive(retriever.embedder.embed_queries(KINDS))}
    changed = vectors.with_differences() if perspectives_are_queries(task) else vectors

    def rank(condition: str, k: int) -> list[tuple[int, ...]]:
        name = METHOD_OF[condition]
        return best(
            task, _scored(methods[name], changed if name in DIFFERENCE_METHODS else vectors), k
        )

    return rank


def ranker(task: Task, retriever: Retriever, cache: Path, told: Progress | None = None) -> Ranker:
    """``dense_ranker``, or for a retriever without vectors one that knows "plain" alone."""
    if isinstance(retriever, DenseRetriever):
        return dense_ranker(task, retriever, cache, told)

    def rank(condition: str, k: int) -> list[tuple[int, ...]]:
        if condition != "plain":
            raise ConfigError(
                f"{retriever.name} has no vectors for {condition!r}: "
                "take an encoder, or --condition no --condition gold --condition plain"
            )
        return best(task, retriever.score(task.corpus, [query.text for query in task.queries]), k)

    return rank


def passages_for(task: Task, condition: str, k: int, rank: Ranker) -> list[tuple[int, ...]]:
    """For each query the positions of at most k passages, best first."""
    if condition == WITHOUT:
        return [() for _ in task.queries]
    if condition == GOLD:
        return [tuple(sorted(query.gold))[:k] for query in task.queries]
    return rank(condition, k)


def best(task: Task, scores: Matrix, k: int) -> list[tuple[int, ...]]:
    """The k best of each row; a text that the corpus repeats is shown once."""
    found = []
    for row in scores:
        first: dict[str, int] = {}
        for place in np.argsort(-row, kind="stable"):
            first.setdefault(task.corpus[place], int(place))
            if len(first) == k:
                break
        found.append(tuple(first.values()))
    return found


def hits(task: Task, passages: Sequence[tuple[int, ...]]) -> list[float]:
    """1.0 for each query that was given the text of a gold document, else 0.0."""
    return [
        float(any(task.corpus[place] in {task.corpus[g] for g in query.gold} for place in given))
        for query, given in zip(task.queries, passages, strict=True)
    ]


def sampled(task: Task, count: int, *, seed: int) -> Task:
    """The task with ``count`` of its queries and the whole corpus."""
    return replace(task, queries=tuple(sample(task.queries, count, seed=seed)))


def _scored(method: Method, vectors: TaskVectors) -> Matrix:
    return method(vectors.queries, vectors.roots, vectors.perspectives, vectors.corpus)
