"""A wrapped store beside the searches it makes, in turns, so that a busy moment falls on both."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.latency.timing import percentiles
from benchmarks.overhead.stores import Wrapped, vector_of
from perspective_rag import Passage, Perspective
from perspective_rag.extend import Flow, Matrix

K = 5
FETCH_K = 50
QUESTIONS = [f"Should number {number} be closed?" for number in range(50)]
SIDES = ("yes, it should", "no, it should not")
TARGET_MS, TARGET_SHARE = 10.0, 0.1


class Doubtful:
    """A judge that costs nothing and finds nothing, so that the guard spends its whole budget."""

    name = "doubtful"
    threshold = 0.5

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """0.1 for every pair."""
        return np.full((len(passages), len(perspectives)), 0.1)
        yield  # a flow that needs no step


SETTINGS: dict[str, dict[str, Any]] = {
    "nothing": {"perspectives": [], "judge": None, "fetch_k": K},
    "PAP and MMR": {
        "perspectives": list(SIDES),
        "judge": None,
        "projection": "pap",
        "mmr_lambda": 0.75,
        "fetch_k": FETCH_K,
    },
    "and judge, guard off": {
        "perspectives": list(SIDES),
        "judge": Doubtful(),
        "projection": "pap",
        "mmr_lambda": 0.75,
        "fetch_k": FETCH_K,
        "guard_searches": 0,
    },
    "and judge, guard on": {
        "perspectives": list(SIDES),
        "judge": Doubtful(),
        "projection": "pap",
        "mmr_lambda": 0.75,
        "fetch_k": FETCH_K,
        "guard_searches": 2,
    },
}
"""What is on, from nothing to everything; the judge is free, so that the wrapper is timed."""


def in_turns(
    functions: Sequence[Callable[[], Any]], *, seconds: float, least: int = 11
) -> tuple[Matrix, Matrix]:
    """Milliseconds by the clock and of processor time, each of shape (n_functions, n_turns).

    Processor time counts this process alone, all its threads: other work on the machine, which
    delays every thread that is started, does not show in it.
    """
    for function in functions:
        function()
    wall: list[list[float]] = []
    processor: list[list[float]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(wall) < least:
        wall.append([])
        processor.append([])
        for function in functions:
            started, used = time.perf_counter(), time.process_time()
            function()
            processor[-1].append(1000 * (time.process_time() - used))
            wall[-1].append(1000 * (time.perf_counter() - started))
    return np.array(wall).T, np.array(processor).T


def measure(store: Wrapped, setting: str, *, seconds: float) -> dict[str, Any]:
    """Times of the wrapped store, of its searches alone, and of one bare question, in ms.

    ``added_ms`` is the median of what each wrapped call took longer than the bare searches beside
    it; ``ratio`` the medians' ratio. The searches are made one after the other with the same
    number of passages; the wrapper makes them side by side.
    """
    options = dict(SETTINGS[setting])
    fetch_k = options["fetch_k"]
    invoke, report = store.wrap(k=K, **options)
    trace = report(QUESTIONS[0]).trace
    searches, degraded = trace.calls["search"], len(trace.degradations)
    vectors = [list(vector_of(f"bare {number}")) for number in range(searches)]
    questions, bare = cycle(QUESTIONS), cycle(QUESTIONS)

    def only_search() -> None:
        for vector in vectors:
            store.search(vector, fetch_k)

    wall, processor = in_turns(
        [only_search, lambda: invoke(next(questions)), lambda: store.ask(next(bare), K)],
        seconds=seconds,
    )
    same, ours, one = wall
    cpu_same, cpu_ours, cpu_one = np.median(processor, axis=1)
    added = float(np.median(ours - same))
    ratio = float(np.median(ours) / np.median(same))
    return {
        "searches": searches,
        "fetch_k": fetch_k,
        "wrapped": percentiles(ours.tolist()),
        "same_searches": percentiles(same.tolist()),
        "one_bare_question": percentiles(one.tolist()),
        "processor": {
            "wrapped_ms": round(float(cpu_ours), 4),
            "same_searches_ms": round(float(cpu_same), 4),
            "one_bare_question_ms": round(float(cpu_one), 4),
            "added_ms": round(float(np.median(processor[1] - processor[0])), 4),
            "ratio": round(float(cpu_ours / cpu_same), 4),
        },
        "added_ms": round(added, 4),
        "ratio": round(ratio, 4),
        "ratio_to_one_bare_question": round(float(np.median(ours) / np.median(one)), 4),
        "degradations": degraded,
    }
