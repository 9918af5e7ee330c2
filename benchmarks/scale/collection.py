"""Drawn passages in the folder that ``perspective-rag index --to faiss:FOLDER`` makes, and an index
of each kind over them, built by the same code.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from benchmarks.scale.vectors import CHUNK, DIMENSIONS, Space
from perspective_rag import Passage
from perspective_rag.addons import normalised
from perspective_rag.extend import Matrix
from perspective_rag_scale.faiss_folder import (
    PASSAGES,
    ROWS,
    FolderManifest,
    mapped_rows,
    part_file,
    read_manifest,
)
from perspective_rag_scale.faiss_kinds import Kind, faiss_module
from perspective_rag_scale.sinks.faiss import FaissSink

KINDS: tuple[Kind, ...] = ("flat", "hnsw", "ivfpq")
MOST = {"flat": 1_000_000, "hnsw": 1_000_000, "ivfpq": 100_000_000}
"""How many vectors a kind is built for: the first two keep them as float32."""

MEGABYTE = 1024 * 1024

Turn = Callable[[Matrix], Matrix]
"""Changes a block of rows before it is kept, as a projected collection does."""

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """What building took: seconds by the clock and of processor time, bytes of memory at the most,
    and bytes of the index on disk, without the vectors.
    """

    seconds: float
    cpu: float
    memory: int
    disk: int
    manifest: FolderManifest


def written(folder: Path, space: Space, size: int, *, turn: Turn | None, told: Tell) -> Any:
    """The first ``size`` rows, shape (size, d), float16, memory-mapped from a folder that holds
    them with their passages; where it does not, they are written first, from where a run was cut
    off.
    """
    sink = FaissSink(folder, model_name="drawn")
    try:
        sink.open(DIMENSIONS)
        there = sink.count()
        # A block that was cut off is written again.
        first = size if there == size else there - there % CHUNK
        for start in range(first, size, CHUNK):
            told(f"{folder.name}: drawing {start:,} of {size:,}")
            rows = normalised(space.chunk(start // CHUNK)[: size - start].astype(np.float32))
            passages = [Passage(str(at), f"passage {at}") for at in range(start, start + len(rows))]
            sink.write(passages, rows if turn is None else turn(rows), start)
    finally:
        sink.close()
    return mapped_rows(folder, size, DIMENSIONS)


def build(folder: Path, kind: Kind, *, threads: int, told: Tell) -> Cost:
    """An index of a kind over what a folder holds, in the place of any other.

    ``threads`` are for building.
    """
    for each in folder.iterdir():
        if not each.name.startswith((PASSAGES, ROWS)):
            each.unlink()
    sink = FaissSink(folder, model_name="drawn", kind=kind)
    sink.open(DIMENSIONS)
    faiss_module()  # loaded before its threads are set

    def tell(said: str) -> None:
        told(f"{folder.name}: {said}")

    try:
        with threadpool_limits(threads), _Watch() as watch:
            sink.finish(tell)
    finally:
        sink.close()
    manifest = read_manifest(folder)
    disk = sum(part_file(folder, number).stat().st_size for number in range(manifest.parts))
    return Cost(watch.seconds, watch.cpu, watch.memory, disk, manifest)


class _Watch:
    """Time and the most memory of what is done within it."""

    seconds = cpu = 0.0
    memory = 0

    def __enter__(self) -> _Watch:
        self._done = threading.Event()
        self._before = _own_memory()
        self._started, self._used = time.perf_counter(), time.process_time()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.seconds = time.perf_counter() - self._started
        self.cpu = time.process_time() - self._used
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.memory = max(self.memory, _own_memory() - self._before)
            if self._done.wait(0.05):
                return


def _own_memory() -> int:
    """Bytes of this process, without pages of files that are mapped."""
    found = psutil.Process().memory_info()
    own: int = found.rss - getattr(found, "shared", 0)
    return own
