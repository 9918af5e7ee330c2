"""Every way of searching one index, in turns, and how much of the exact result each finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.latency.timing import percentiles
from benchmarks.scale.exact import Exact, K, Positions, Triple, recall, rows_at
from benchmarks.scale.store import FixedCost, LookUp, Noted
from perspective_rag import PerspectivePipeline
from perspective_rag.extend import Matrix, Vector
from perspective_rag.maths.adaptive import CANDIDATES, choose, parts
from perspective_rag.maths.projection import project_query, projected_scores

FETCH_K = 100
"""Candidates that PAP+ and the adaptive choice re-order."""

GUARDED: Mapping[str, Any] = {
    "k": K,
    "fetch_k": 50,
    "projection": "pap",
    "mmr_lambda": 0.75,
    "guard_searches": 2,
}

Way = Callable[[int], Any]


def measure(
    rows: Matrix,
    store: Noted,
    collections: Mapping[int, Noted],
    triples: Sequence[Triple],
    kinds: Matrix,
    true: Exact,
    *,
    seconds: float,
    least: int = 11,
) -> dict[str, Any]:
    """Milliseconds by the clock and of processor time, and recall of the exact first K, by way.

    ``collections`` are projected ahead, by the number of the perspective; none: that way is left
    out. The ways take turns within each query, so that what else the machine does strikes all
    alike. ``extra`` is the processor time of a guarded question without that of its searches.
    """
    ways = _ways(rows, store, collections, triples, kinds)
    found = {name: [way(i) for i in range(len(triples))] for name, way in ways.items()}
    recalls = {name: recall(each, true.by_way[name]) for name, each in found.items()}
    pipeline, judge, questions = _pipeline(store, triples, kinds)
    searches, pairs, spent = [], [], []

    def guarded(i: int) -> None:
        store.spent.clear()
        judge.pairs = 0
        result = pipeline.retrieve(questions[i], perspectives=_sides(questions[i]))
        assert not result.trace.degradations, result.trace.degradations
        searches.append(len(store.spent))
        spent.append(sum(store.spent))
        pairs.append(judge.pairs)

    guarded(0)
    for each in (searches, spent, pairs):
        each.clear()
    wall, cpu = _in_turns({**ways, "guarded": guarded}, len(triples), seconds, least)
    told = {
        name: {**percentiles(wall[name]), "cpu_p50_ms": round(float(np.median(cpu[name])), 4)}
        for name in wall
    }
    for name, value in recalls.items():
        told[name]["recall"] = round(value, 4)
    extra = np.array(cpu["guarded"]) - np.array(spent)
    return {
        "ways": told,
        "guarded": {
            "searches": round(float(np.mean(searches)), 2),
            "judged_pairs": round(float(np.mean(pairs)), 2),
            "searches_cpu_p50_ms": round(float(np.median(spent)), 4),
            "extra_cpu_p50_ms": round(float(np.median(extra)), 4),
            "extra_cpu_p95_ms": round(float(np.percentile(extra, 95)), 4),
        },
    }


def _ways(
    rows: Matrix,
    store: Noted,
    collections: Mapping[int, Noted],
    triples: Sequence[Triple],
    kinds: Matrix,
) -> dict[str, Way]:
    def plain(i: int) -> Positions:
        return store.nearest(triples[i][0], K)

    def pap(i: int) -> Positions:
        return store.nearest(project_query("pap", *triples[i])[0], K)

    def plus(i: int) -> Positions:
        vector, _ = project_query("pap+", *triples[i])
        positions = store.nearest(vector, FETCH_K)
        scores = projected_scores("pap+", rows_at(rows, positions), *triples[i])
        return positions[np.argsort(-scores, kind="stable")[:K]]

    def adaptive(i: int) -> Positions:
        projected = parts(*triples[i], kinds=kinds)
        positions = store.nearest(projected.search, CANDIDATES)
        near = rows_at(rows, positions)
        return positions[np.argsort(-choose(projected, near).scores(near), kind="stable")[:K]]

    def precomputed(i: int) -> Positions:
        vector, _ = project_query("pap", *triples[i])
        return collections[i % len(collections)].nearest(vector, K)

    ways: dict[str, Way] = {"plain": plain, "PAP": pap, "PAP+": plus, "adaptive": adaptive}
    return {**ways, "PAP+ precomputed": precomputed} if collections else ways


def _pipeline(
    store: Noted, triples: Sequence[Triple], others: Matrix
) -> tuple[PerspectivePipeline, FixedCost, list[str]]:
    questions = [f"Should number {i} be closed?" for i in range(len(triples))]
    vectors: dict[str, Vector] = {}
    for question, (query, root, _) in zip(questions, triples, strict=True):
        yes, no = _sides(question)
        vectors |= {question: root, yes: query, no: 2.0 * root - query}
    judge = FixedCost()
    embedder = LookUp(vectors, others)
    pipeline = PerspectivePipeline(store, embedder=embedder, judge=judge, **GUARDED)
    return pipeline, judge, questions


def _sides(question: str) -> list[str]:
    about = question.removeprefix("Should ").removesuffix(" be closed?")
    return [f"{about} should be closed", f"{about} should not be closed"]


def _in_turns(
    ways: Mapping[str, Way], queries: int, seconds: float, least: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    end, turn = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or turn < least:
        for name, way in ways.items():
            started, used = time.perf_counter(), time.process_time()
            way(turn % queries)
            cpu[name].append(1000 * (time.process_time() - used))
            wall[name].append(1000 * (time.perf_counter() - started))
        turn += 1
    return wall, cpu
