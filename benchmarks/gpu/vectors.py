"""FAISS's exact search for many queries at once."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.device import Device, Limits, not_measured, row

K = 10


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
