"""Indexes of FAISS over rows that may be larger than memory; ``build`` is all that others use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.scale.vectors import CHUNK, blocks
from perspective_rag.types import Matrix, Vector
from perspective_rag.vectors import normalised

KINDS = ("flat", "hnsw", "ivfpq")
MOST = {"flat": 1_000_000, "hnsw": 1_000_000, "ivfpq": 100_000_000}
"""How many vectors a kind is built for: the first two keep them in memory as float32."""

LINKS, EF_CONSTRUCTION, EF_SEARCH = 16, 80, 128
CODE_BYTES, PROBES, REFINED = 96, 64, 4
"""IVF-PQ: bytes of a code, lists that a search reads, and how many times k are compared exactly."""

MOST_LISTS, TRAINED_ON, LEAST_TRAINED_ON, BLOCK = 2048, 40, 20_000, 20 * CHUNK
MEGABYTE = 1024 * 1024

Turn = Callable[[Matrix], Matrix]
"""Changes a block of rows before it is indexed, as a projected collection does."""


@dataclass(frozen=True, slots=True)
class Built:
    """An index and what it took: seconds by the clock and of processor time, bytes in memory and on
    disk, without the vectors.
    """

    index: Any
    kind: str
    seconds: float
    cpu: float
    memory: int
    disk: int
    settings: dict[str, Any]

    def search(self, vector: Vector, k: int) -> tuple[Vector, Any]:
        """Scores and positions of the k best, best first; those of IVF-PQ are estimates."""
        unit = np.ascontiguousarray(normalised(vector)[None, :], dtype=np.float32)
        scores, positions = self.index.search(unit, k)
        there = positions[0] >= 0
        return scores[0][there], positions[0][there]


def build(
    kind: str,
    rows: Matrix,
    folder: Path,
    *,
    name: str,
    threads: int = 1,
    turn: Turn = lambda block: block,
    told: Callable[[str], object] = lambda said: None,
) -> Built:
    """An index of a kind over rows (n, d); files of it go to ``folder`` under ``name``.

    ``threads`` are for building; a search has one.
    """
    import faiss

    faiss.omp_set_num_threads(threads)
    before, started, used = _own_memory(), time.perf_counter(), time.process_time()
    size, d = rows.shape
    settings: dict[str, Any] = {}
    disk = 0
    if kind == "ivfpq":
        index, disk, settings = _ivfpq(faiss, rows, folder, name, turn, told)
    else:
        if kind == "flat":
            index = faiss.IndexFlatIP(d)
        else:
            index = faiss.IndexHNSWFlat(d, LINKS, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction, index.hnsw.efSearch = EF_CONSTRUCTION, EF_SEARCH
            settings = {"M": LINKS, "efConstruction": EF_CONSTRUCTION, "efSearch": EF_SEARCH}
        for start, block in blocks(rows):
            told(f"{name}: {start:,} of {size:,}")
            index.add(turn(block))
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    faiss.omp_set_num_threads(1)
    memory = max(0, _own_memory() - before)
    return Built(index, kind, seconds, cpu, memory, disk, settings)


def _ivfpq(
    faiss: Any, rows: Matrix, folder: Path, name: str, turn: Turn, told: Callable[[str], object]
) -> tuple[Any, int, dict[str, Any]]:
    """Trained on a sample, filled a million at a time, merged into lists on disk.

    A block that is there from a run that was cut off is not made again.
    """
    from faiss.contrib.ondisk import merge_ondisk

    size, d = rows.shape
    lists = min(MOST_LISTS, 2 ** round(np.log2(np.sqrt(size))))
    folder.mkdir(parents=True, exist_ok=True)
    trained, data = folder / f"{name}.trained", folder / f"{name}.lists"
    if not trained.exists():
        told(f"{name}: training {lists} lists")
        enough = min(size, max(TRAINED_ON * lists, LEAST_TRAINED_ON))
        sample = np.random.default_rng(0).choice(size, enough, replace=False)
        sample.sort()
        empty = faiss.IndexIVFPQ(
            faiss.IndexFlatIP(d), d, lists, CODE_BYTES, 8, faiss.METRIC_INNER_PRODUCT
        )
        empty.cp.niter = 10
        empty.train(turn(normalised(rows[sample].astype(np.float32))))
        _kept(faiss, empty, trained)
    files = []
    for start in range(0, size, BLOCK):
        path = folder / f"{name}.{start}.block"
        files.append(path)
        if path.exists():
            continue
        index = faiss.read_index(str(trained))
        for offset, block in blocks(rows[start : start + BLOCK]):
            told(f"{name}: {start + offset:,} of {size:,}")
            ids = np.arange(start + offset, start + offset + len(block))
            index.add_with_ids(turn(block), ids)
        _kept(faiss, index, path)
    index = faiss.read_index(str(trained))
    merge_ondisk(index, [str(path) for path in files], str(data))
    index.nprobe = PROBES
    for path in files:
        path.unlink()
    trained.unlink()
    settings = {"lists": lists, "code_bytes": CODE_BYTES, "nprobe": PROBES, "refined": REFINED}
    return index, data.stat().st_size, settings


def _own_memory() -> int:
    """Bytes of this process, without pages of files that are mapped."""
    found = psutil.Process().memory_info()
    own: int = found.rss - getattr(found, "shared", 0)
    return own


def _kept(faiss: Any, index: Any, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    faiss.write_index(index, str(part))
    os.replace(part, path)
