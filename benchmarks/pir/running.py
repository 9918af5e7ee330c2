"""One retriever on one task: every method's values, root by root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.pir.bias import label_shares
from benchmarks.pir.embedding import TaskVectors
from benchmarks.pir.methods import METHODS, PLAIN, Method
from benchmarks.pir.metrics import CUTS, gold_ranks, recall_at_k, root_values, tie_bounds
from benchmarks.pir.retrievers.lexical import LexicalRetriever
from benchmarks.pir.tasks import Task
from perspective_rag.extend import Matrix

DIFFERENCE_METHODS = frozenset({"cast", "cast+", "pap", "pap+"})
"""What the published code gives p = q - r where the perspective is the query."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The paper's definition, or, switch by switch, what the published code does instead.

    ``unmerged``: queries of equal text stay apart, each with its own gold. ``zero_single_roots``:
    a root with one query scores 0. ``extend_gold``: the first query of a root takes its siblings'
    gold too. ``pooler_output``: encoders give their pooler's output instead of the mean of their
    states. ``difference_perspective``: p = q - r where the perspective is the whole query.
    """

    unmerged: bool = False
    zero_single_roots: bool = False
    extend_gold: bool = False
    pooler_output: bool = False
    difference_perspective: bool = False

    @classmethod
    def as_published(cls) -> Reading:
        """All of it."""
        return cls(True, True, True, True, True)

    def task(self, task: Task) -> Task:
        """The task as it is scored under this reading."""
        if not self.unmerged:
            task = task.merged()
        return task.extended() if self.extend_gold else task

    @property
    def suffix(self) -> str:
        """What is added to the name of results: nothing for the paper's definition."""
        if self == Reading.as_published():
            return "-as-published"
        return "".join(f"-{name.replace('_', '-')}" for name, on in self.to_dict().items() if on)

    def to_dict(self) -> dict[str, bool]:
        """The switches by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """``values[method][k]`` are the root values of p-Recall@k, ``recall[method][k]`` the Recall@k
    of the queries, ``root_recall[k]`` that of the root queries with any of their gold, and
    ``shares[k]`` which perspectives the root queries found.
    """

    task: Task
    values: Mapping[str, Mapping[int, Sequence[float]]]
    recall: Mapping[str, Mapping[int, float]]
    root_recall: Mapping[int, float]
    shares: Mapping[int, Mapping[str, Any]]
    ties: Mapping[int, tuple[float, float]]
    root_scores: Matrix = field(repr=False)
    plain_scores: Matrix = field(repr=False)


def run_dense(
    task: Task,
    vectors: TaskVectors,
    reading: Reading,
    methods: Mapping[str, Method] | None = None,
) -> TaskOutcome:
    """Every method on a task whose vectors are known; ``task`` is as it is scored."""
    given = METHODS if methods is None else methods
    changed = vectors
    if reading.difference_perspective and perspectives_are_queries(task):
        changed = vectors.with_differences()
    scores = {}
    for name, method in given.items():
        use = changed if name in DIFFERENCE_METHODS else vectors
        scores[name] = method(use.queries, use.roots, use.perspectives, use.corpus)
    places = [at[0] for at in task.roots.values()]
    roots = vectors.roots[places]
    plain = METHODS[PLAIN]
    return _outcome(task, scores, plain(roots, roots, roots, vectors.corpus), reading)


def run_lexical(task: Task, retriever: LexicalRetriever, reading: Reading) -> TaskOutcome:
    """A retriever without vectors: plain scores only."""
    scores = {PLAIN: retriever.score(task.corpus, [query.text for query in task.queries])}
    return _outcome(task, scores, retriever.score(task.corpus, list(task.roots)), reading)


def perspectives_are_queries(task: Task) -> bool:
    """Whether the data names no perspective but the whole query, as AmbigQA's does."""
    return all(query.perspective == query.text for query in task.queries)


def _outcome(
    task: Task, scores: Mapping[str, Matrix], root_scores: Matrix, reading: Reading
) -> TaskOutcome:
    ranks = {name: gold_ranks(found, task) for name, found in scores.items()}
    zero = reading.zero_single_roots
    root_task = task.root_queries()
    root_ranks = gold_ranks(root_scores, root_task)
    return TaskOutcome(
        task,
        values={
            name: {k: root_values(each, task, k, zero_single_roots=zero) for k in CUTS}
            for name, each in ranks.items()
        },
        recall={name: {k: recall_at_k(each, k) for k in CUTS} for name, each in ranks.items()},
        root_recall={k: recall_at_k(root_ranks, k) for k in CUTS},
        shares={k: label_shares(root_scores, task, k) for k in (1, 5)},
        ties={k: tie_bounds(ranks[PLAIN], task, k, zero_single_roots=zero) for k in CUTS},
        root_scores=root_scores,
        plain_scores=np.asarray(scores[PLAIN]),
    )
