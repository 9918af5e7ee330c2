"""What each way to choose and each reading is worth on a set: one value a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.board.sets import BoardSet
from benchmarks.core.bootstrap import LEVEL, RESAMPLES, paired_difference, ratio_interval
from benchmarks.list_judge.recording import the_judge
from benchmarks.list_judge.report import Read
from benchmarks.list_judge.tasks import HUMAN, Task
from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import SIDES, PoolQuestion
from benchmarks.sides.reading import Outcome
from benchmarks.sides.rows import GUARDED, PERFECT, Row, rows
from benchmarks.sides.running import answers
from benchmarks.sides.scoring import both_sides
from perspective_rag import Passage, Perspective, run
from perspective_rag.types import Matrix, Vector
from perspective_rag_train.metrics import auc

PLAIN, MMR, XQUAD, RXQUAD = "top-k", "MMR", "xQuAD", "RxQuAD"
POINTWISE, OURS, LLM, BEST = "cross-encoder", "packaged", "language model", "perfect"
COLUMNS = (PLAIN, MMR, XQUAD, RXQUAD, POINTWISE, OURS, LLM, BEST)
PEERS, MINE = (PLAIN, MMR, XQUAD, RXQUAD, POINTWISE), (OURS, LLM)
DEPTH = 25
"""So many of the plain ranking the cross-encoder orders anew: as many as the pipeline judges."""
OPPOSING = "opposing of listed"
LISTED: Mapping[str, tuple[tuple[bool, str], tuple[bool, str]]] = {
    "true of listed": ((True, "true"), (True, "")),
    OPPOSING: ((True, "opposing"), (True, "")),
    "listed of all support": ((True, "true"), (False, "true")),
}
"""Part and whole: (only what is listed, with this verdict or any)."""
LOWER = (OPPOSING,)
"""Measures of which less is better."""

Parts = list[tuple[float, float]]
"""A part and its whole for each question; a column's value is sum over sum."""
Pair = tuple[str, int]
"""A passage's id and the number of a side."""


class RecordedVerdicts:
    """A judge that says of (statement, passage) what a language model said of whole pools."""

    def __init__(self, model: str, found: Sequence[Read]) -> None:
        self.name = f"recorded:{model}"
        asked = the_judge()
        self.threshold, self.listing = asked.threshold, asked.listing
        self.sides_listing = asked.sides_listing
        self._said: dict[tuple[str, str], float] = {}
        for each in found:
            assert each.result.coverage.judged
            for passage, row in zip(each.task.passages, each.result.coverage.support, strict=True):
                for side, value in zip(each.task.sides, row, strict=True):
                    self._said[side, passage.id] = float(value)

    def judge(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Matrix:
        """P(support), shape (n_passages, n_perspectives), NaN for what was not recorded."""
        unknown = float("nan")
        said = [[self._said.get((a.text, b.id), unknown) for a in perspectives] for b in passages]
        return np.array(said, dtype=float).reshape(len(passages), len(perspectives))

    def judge_sides(
        self, sides: tuple[Perspective, Perspective], passages: Sequence[Passage], _: Vector
    ) -> Matrix:
        """The same."""
        return self.judge(sides, passages)


def pointwise(bench: PoolBench, question: PoolQuestion, names: Sequence[str]) -> Matrix:
    """The packaged cross-encoder's P(support) of each passage and statement, each pair alone."""
    sides = [Perspective(f"p{n}", text) for n, text in enumerate(question.statements, start=1)]
    passages = [bench.pools.passages[name] for name in names]
    table: Matrix = np.asarray(run(bench.judge.judge(sides, passages)), dtype=float)
    return np.where(np.isnan(table), 0.0, table)


def _reranked(bench: PoolBench, question: PoolQuestion, k: int) -> Outcome:
    """The first of the plain ranking, those that most surely support either side first."""
    names = bench.nearness(question)[0].ranking[:DEPTH]
    order = np.argsort(-pointwise(bench, question, names).max(axis=1), kind="stable")
    return Outcome(tuple(names[i] for i in order[:k]))


def choices(
    found: BoardSet, bench: PoolBench, llm: PoolBench | None, tick: Callable[[], None]
) -> dict[str, Parts]:
    """Whether both sides are among the k that each column chooses; weights are cross-fitted."""
    known = {row.name.removesuffix(" by cosine"): row for row in rows()}
    chosen = {name: (known[name], bench) for name in (PLAIN, MMR, XQUAD, RXQUAD)}
    chosen[POINTWISE] = (Row(POINTWISE, {"": _reranked}), bench)
    chosen[OURS] = (known[GUARDED], bench)
    if llm is not None:
        chosen[LLM] = (known[GUARDED], llm)
    chosen[BEST] = (known[PERFECT], bench)
    asked, result = found.pools.questions, {}
    for name, (row, own) in chosen.items():
        outcomes = answers(row, own, found.k, tick).outcomes
        both = [both_sides(o, q) for o, q in zip(outcomes, asked, strict=True)]
        result[name] = [(float(each), 1.0) for each in both]
    return result


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole pool as it was read: P(support) of every passage, from where it leans, and what the
    pipeline lists, which passes over what is not about the question.
    """

    support: Mapping[Pair, float]
    threshold: float
    listed: frozenset[Pair]


def read_whole(bench: PoolBench, question: PoolQuestion) -> Whole:
    """All passages of a pool, judged and listed by the pipeline."""
    size = len(question.labels)
    everything = {"k": size, "fetch_k": max(size, 50), "judge_k": size, "guard_searches": 0}
    pipeline = bench.pipeline(question)
    all_read, result = bench.ask(pipeline, question, relevance_floor=-1.0, **everything)
    listed = bench.ask(pipeline, question, **everything)[0].listed
    return Whole(
        {
            (each.passage, SIDES.index(each.side)): each.probability
            for each in all_read.shown
            if each.probability is not None
        },
        result.coverage.threshold if result.coverage.judged else 1.0,
        frozenset((each.passage, SIDES.index(each.side)) for each in listed),
    )


def readings(
    found: BoardSet, bench: PoolBench, llm: PoolBench | None
) -> dict[str, dict[str, Parts]]:
    """By measure and column what is read of whole pools, by the labels that there are."""
    tasks, asked, people = found.tasks, bench.pools.questions, found.name == HUMAN
    whole = {OURS: [read_whole(bench, each) for each in asked]}
    if llm is not None:
        whole[LLM] = [read_whole(llm, each) for each in asked]
    near = [bench.nearness(each) for each in asked]
    scores: dict[str, list[Mapping[Pair, float]]] = {
        XQUAD: [_by_pair(outcome.ranking, table[:, 1:]) for outcome, table in near],
        POINTWISE: [_by_pair(q.labels, pointwise(bench, q, list(q.labels))) for q in asked],
        **{name: [each.support for each in read] for name, read in whole.items()},
        BEST: [{pair: float(v == "true") for pair, v in t.labels.items()} for t in tasks],
    }
    measures = {
        "support told from the rest (AUC)" if people else "sides told apart (AUC)": {
            name: [
                _told(t, s, "silent" if people else "opposing")
                for t, s in zip(tasks, own, strict=True)
            ]
            for name, own in scores.items()
        }
    }
    if people:
        measures["F1 of pairs"] = {
            name: [_f1(t, w) for t, w in zip(tasks, read, strict=True)]
            for name, read in whole.items()
        }
        return measures
    for measure, (part, all_) in LISTED.items():
        measures[measure] = {
            name: [
                (_count(t, w, *part), _count(t, w, *all_)) for t, w in zip(tasks, read, strict=True)
            ]
            for name, read in whole.items()
        }
    return measures


def _by_pair(names: Any, table: Matrix) -> dict[Pair, float]:
    rows_of = zip(names, table, strict=True)
    return {(name, side): float(row[side]) for name, row in rows_of for side in (0, 1)}


def _told(task: Task, scores: Mapping[Pair, float], against: str) -> tuple[float, float]:
    """Of a question's true verdicts, each beside each of the other kind, the share that is scored
    higher.
    """
    values: dict[str, list[float]] = {"true": [], against: []}
    for pair, verdict in task.labels.items():
        if verdict in values:
            values[verdict].append(scores.get(pair, 0.0))
    if not all(values.values()):
        return 0.0, 0.0
    return float(auc(np.array(values["true"]), np.array(values[against]))), 1.0


def _count(task: Task, read: Whole, only_listed: bool, verdict: str) -> float:
    labels = task.labels.items()
    listed = (said for pair, said in labels if pair in read.listed or not only_listed)
    return float(sum(said.startswith(verdict) for said in listed))


def _f1(task: Task, read: Whole) -> tuple[float, float]:
    """Twice the hits, and what is said plus what is true: F1 as a share."""
    said = {pair for pair in task.labels if read.support.get(pair, 0.0) >= read.threshold}
    true = {pair for pair, verdict in task.labels.items() if verdict == "true"}
    return 2.0 * len(said & true), float(len(said) + len(true))


def figures(columns: Mapping[str, Parts], *, seed: int) -> dict[str, Any]:
    """A row's columns with 95% intervals over questions, and how far the packaged is ahead of the
    best peer, where there is one.
    """
    found: dict[str, Any] = {"columns": {}, "ahead": None}
    for name, parts in columns.items():
        some, wholes = zip(*parts, strict=True)
        bounds = ratio_interval(some, wholes, seed=seed).to_dict() if sum(wholes) else {}
        kept = {"parts": some, "wholes": wholes}
        texts = {key: " ".join(f"{v:.4g}" for v in values) for key, values in kept.items()}
        found["columns"][name] = {**bounds, **texts}
    if peers := [name for name in PEERS if name in columns]:
        best = max(peers, key=lambda name: sum(part for part, _ in columns[name]))
        own, theirs = ([part for part, whole in columns[name] if whole] for name in (OURS, best))
        found["ahead"] = {"of": best, **paired_difference(own, theirs, seed=seed).to_dict()}
    return found


def fall(new: Mapping[str, str], old: Mapping[str, str], *, lower: bool, seed: int) -> float:
    """By how much a column fell at least (95%) from the first questions of an old one, or 0; both
    are resampled over the same questions. ``lower``: less is better.
    """
    texts = (new["parts"], new["wholes"], old["parts"], old["wholes"])
    count = len(new["parts"].split())
    a, b, c, d = (np.array(text.split()[:count], dtype=float) for text in texts)
    draws = np.random.default_rng(seed).integers(count, size=(RESAMPLES, count))
    with np.errstate(invalid="ignore", divide="ignore"):
        gains = a[draws].sum(1) / b[draws].sum(1) - c[draws].sum(1) / d[draws].sum(1)
    gains = gains[np.isfinite(gains)] * (-1 if lower else 1)
    return max(0.0, -float(np.quantile(gains, (1 + LEVEL) / 2))) if len(gains) else 0.0
