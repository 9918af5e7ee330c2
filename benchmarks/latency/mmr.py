"""Our MMR beside LangChain's, on the same vectors in the same run."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.latency.timing import alternately, percentiles
from perspective_rag import MissingDependency
from perspective_rag.addons import cosine, normalised
from perspective_rag.maths.ranking import mmr

DIMENSIONS = 384
SIZES = (100, 1000)
CHOSEN = (5, 20)
MMR_LAMBDA = 0.5
TARGET_RATIO = 20.0


def measure(seed: int, *, seconds: float) -> dict[str, Any]:
    """Both implementations at every size, in both forms, with the ratio of their p50.

    The forms are what stores hand over: an array of shape (n, d), or a list of lists of floats.
    Ours is timed with what comes before it, reading the list and the cosines to the question, which
    theirs computes inside.
    """
    theirs = _langchain()
    generator = np.random.default_rng(seed)
    cases = []
    for size in SIZES:
        query = normalised(generator.standard_normal((1, DIMENSIONS)))[0].astype(np.float32)
        rows = normalised(generator.standard_normal((size, DIMENSIONS))).astype(np.float32)
        for form, vectors in (("array", rows), ("list", rows.tolist())):
            for k in CHOSEN:
                found = _compare(theirs, query, vectors, k, seconds)
                cases.append({"n": size, "k": k, "form": form, **found})
    return {
        "cases": cases,
        "d": DIMENSIONS,
        "mmr_lambda": MMR_LAMBDA,
        "target_ratio": TARGET_RATIO,
        "met": all(case["ratio"] >= TARGET_RATIO for case in cases),
        "simsimd": importlib.util.find_spec("simsimd") is not None,
    }


def ours(query: Any, vectors: Any, k: int) -> list[int]:
    """Indices of k of the vectors, as a caller of the library gets them."""
    rows = np.asarray(vectors, dtype=np.float32)
    relevance = cosine(rows, query[None, :])[:, 0]
    chosen = mmr(relevance, rows, k, mmr_lambda=MMR_LAMBDA)
    return list(chosen.indices)


def _compare(
    theirs: Callable[..., list[int]], query: Any, vectors: Any, k: int, seconds: float
) -> dict[str, Any]:
    def own() -> list[int]:
        return ours(query, vectors, k)

    def other() -> list[int]:
        return list(theirs(query, vectors, lambda_mult=MMR_LAMBDA, k=k))

    own_times, other_times = alternately([own, other], seconds=seconds)
    mine, their = percentiles(own_times), percentiles(other_times)
    return {
        "ours": mine,
        "langchain": their,
        "ratio": round(their["p50_ms"] / mine["p50_ms"], 2),
        "ratio_of_fastest": round(their["min_ms"] / mine["min_ms"], 2),
        "same_choice": own() == other(),
    }


def _langchain() -> Callable[..., list[int]]:
    try:
        from langchain_core.vectorstores.utils import maximal_marginal_relevance
    except ImportError as error:
        raise MissingDependency("bench", "comparing with LangChain's MMR") from error
    return maximal_marginal_relevance
