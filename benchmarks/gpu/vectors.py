"""Search, projection and MMR over many vectors for many queries at once."""

from __future__ import annotations

import time
from typing import Any, get_args

import numpy as np

from benchmarks.gpu.device import HALVES, Device, Limits, not_measured, row
from perspective_rag.project.batched import BatchMethod, BatchSearch
from perspective_rag.project.table import projected_scores
from perspective_rag.select.mmr import mmr_from_embeddings
from perspective_rag.select.mmr_batch import mmr_batch

K = 10
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def projection(device: Device, limits: Limits) -> list[dict[str, Any]]:
    """``BatchSearch`` with each method and number format, checked against numpy."""
    sizes, rows = device.sizes, []
    n, d, b = sizes.vectors, sizes.dimensions, sizes.queries
    passages = device.random(n, d)
    queries, sides = device.random(b, d, seed=1), device.random(b, d, seed=2)
    exact = _numpy_best(passages, queries, sides, sizes.checked)
    for dtype in ("float32", *HALVES):
        search = BatchSearch(passages, dtype=dtype)
        for method in get_args(BatchMethod):
            seconds = device.seconds_of(lambda s=search, m=method: s.search(m, queries, sides, K))  # type: ignore[misc]
            found = search.search(method, queries[: sizes.checked], sides[: sizes.checked], K)
            products = 2 if method == "pap+" else 1
            least = limits.seconds(
                moved=n * d * BYTES[dtype], flops=2.0 * products * n * d * b, dtype=dtype
            )
            rows.append(
                row(
                    f"search, {method}",
                    f"{n:,} x {d}, {b:,} queries, {dtype}",
                    b,
                    "queries/s",
                    seconds,
                    least,
                    same_as_numpy=_shared(found.indices.cpu().numpy(), exact["best"][method]),
                )
            )
        del search
        device.free()
    for method, seconds in exact["seconds"].items():
        rows.append(
            row(
                f"search, {method}, numpy", f"{n:,} x {d}, one query", 1, "queries/s", seconds, None
            )
        )
    return rows


def _numpy_best(passages: Any, queries: Any, sides: Any, checked: int) -> dict[str, Any]:
    vectors = passages.cpu().numpy()
    best: dict[str, list[Any]] = {}
    seconds: dict[str, float] = {}
    for method in get_args(BatchMethod):
        started = time.perf_counter()
        best[method] = []
        for q, p in zip(
            queries[:checked].cpu().numpy(), sides[:checked].cpu().numpy(), strict=True
        ):
            scores = projected_scores(method, vectors, q, q, p)
            best[method].append(np.argsort(-scores, kind="stable")[:K])
        seconds[method] = (time.perf_counter() - started) / checked
    return {"best": best, "seconds": seconds}


def _shared(found: Any, expected: list[Any]) -> float:
    """The share of the expected places that were found."""
    hits = [len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), expected, strict=True)]
    return float(np.mean(hits))


def mmr(device: Device, limits: Limits) -> list[dict[str, Any]]:
    """``mmr_batch`` for all queries, checked against numpy, which takes one after the other."""
    sizes = device.sizes
    b, n, d = sizes.queries, sizes.candidates, sizes.dimensions
    embeddings = device.random(b, n, d)
    relevance = device.random(b, n, seed=3)
    setting = f"{b:,} queries, {n} candidates x {d}, k {K}"
    seconds = device.seconds_of(lambda: mmr_batch(relevance, embeddings, K, mmr_lambda=0.5))
    found = mmr_batch(relevance, embeddings, K, mmr_lambda=0.5).indices.cpu().numpy()
    values, vectors = relevance.cpu().numpy(), embeddings[: sizes.queries].cpu().numpy()
    started = time.perf_counter()
    checked = min(b, 256)
    expected = [
        mmr_from_embeddings(values[i], vectors[i], K, mmr_lambda=0.5).indices
        for i in range(checked)
    ]
    alone = (time.perf_counter() - started) / checked
    same = float(np.mean([list(e) == f for e, f in zip(expected, found.tolist(), strict=False)]))
    least = limits.seconds(moved=b * n * d * 4.0, flops=2.0 * K * b * n * d)
    return [
        row("MMR", setting, b, "queries/s", seconds, least, same_as_numpy=same),
        row("MMR, numpy", f"one query, {n} candidates x {d}", 1, "queries/s", alone, None),
    ]


def faiss_search(device: Device, limits: Limits) -> list[dict[str, Any]]:
    """The exact FAISS index on the CPU and, where the build has one, on the GPU."""
    sizes = device.sizes
    n, d, b = sizes.vectors, sizes.dimensions, min(sizes.queries, 1024)
    setting = f"IndexFlatIP, {n:,} x {d}, {b:,} queries, float32"
    try:
        import faiss
    except ImportError:
        return [not_measured("FAISS", setting, "faiss is not installed")]
    vectors = device.random(n, d).cpu().numpy()
    queries = device.random(b, d, seed=1).cpu().numpy()
    index = faiss.IndexFlatIP(d)
    index.add(vectors)
    least = limits.seconds(moved=n * d * 4.0, flops=2.0 * n * d * b)
    rows = [
        row(
            f"FAISS, CPU, {faiss.omp_get_max_threads()} threads",
            setting,
            b,
            "queries/s",
            device.seconds_of(lambda: index.search(queries, K), repeats=1),
            None,
        )
    ]
    if not device.is_gpu or not hasattr(faiss, "StandardGpuResources"):
        why = "no GPU" if not device.is_gpu else "this build of faiss has no GPU part"
        return [*rows, not_measured("FAISS, GPU", setting, why)]
    there = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
    seconds = device.seconds_of(lambda: there.search(queries, K))
    return [*rows, row("FAISS, GPU", setting, b, "queries/s", seconds, least)]
