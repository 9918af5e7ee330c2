"""Kinds of FAISS index, from exact search in memory to compressed rows on disk."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from perspective_rag import ConfigError, CorpusError, MissingDependency
from perspective_rag.addons import count as checked_count
from perspective_rag.addons import make_private, normalised
from perspective_rag.extend import Matrix

Kind = Literal["flat", "hnsw", "ivfpq"]
"""``flat`` compares with every row: exact. ``hnsw`` follows a graph of neighbours: fast, and the
largest in memory. ``ivfpq`` keeps rows in cells and compressed: the smallest, the least exact.
"""

FLAT_MOST = 100_000
"""Rows up to which an exact search takes some milliseconds."""

HNSW_MOST = 5_000_000
"""Rows up to which a graph is built within hours."""

BATCH = 65_536
_LINKS = 32  # of a row in the graph, in each direction; the bottom layer has twice as many
_BUILD_DEPTH = 200
_LEAST_DEPTH = 256
_MOST_CELLS = 16_384
_ROWS_A_CELL = 40  # of the training sample: FAISS warns below 39
_BYTES_A_ROW = {"flat": 0, "hnsw": 2 * _LINKS * 4 + 16}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind of index, and why it was taken."""

    kind: Kind
    reason: str


def choose_kind(count: int, dimensions: int, *, memory: int | None = None) -> Choice:
    """The kind for ``count`` rows: ``flat`` up to 100,000, ``hnsw`` up to 5,000,000, else
    ``ivfpq``, which also stands in where the others would take more than half of the memory.

    ``memory`` is what is free, in bytes (default: what the system says). Raises ConfigError for
    numbers below 1.
    """
    checked_count("count", count)
    checked_count("dimensions", dimensions)
    free = free_memory() if memory is None else checked_count("memory", memory)
    room = f"{_size(free // 2)} of memory, half of what is free"
    kinds: tuple[Kind, ...] = ("flat",) if count <= FLAT_MOST else ()
    kinds += ("hnsw",) if FLAT_MOST < count <= HNSW_MOST else ()
    for kind in kinds:
        need = count * (4 * dimensions + _BYTES_A_ROW[kind])
        if need <= free // 2:
            return Choice(kind, f"{count:,} rows take {_size(need)}, within {room}")
        return Choice("ivfpq", f"{kind} would take {_size(need)}, more than {room}")
    return Choice("ivfpq", f"{count:,} rows are more than {HNSW_MOST:,}")


def build_faiss(
    kind: Kind, rows: Any, *, batch: int = BATCH, seed: int = 13, gpu: bool = True
) -> Any:
    """A FAISS index of a kind over ``rows``, shape (n, d), of any floating type and maybe
    memory-mapped; it compares by cosine (inner product of unit rows).

    ``batch`` rows are read at a time. ``seed`` draws the rows that ``ivfpq`` is trained on. With
    ``gpu`` a GPU builds it where FAISS has one. Raises MissingDependency without FAISS and
    ConfigError for rows that cannot be indexed.
    """
    index = empty_index(kind, rows, seed=seed, gpu=gpu)
    checked_count("batch", batch)
    with_gpu = on_gpu(index) if gpu else index
    for piece in unit_pieces(rows, batch):
        with_gpu.add(piece)
    return from_gpu(with_gpu) if with_gpu is not index else index


def empty_index(kind: Kind, rows: Any, *, seed: int = 13, gpu: bool = True) -> Any:
    """An index of a kind that is ready to take ``rows``, trained on a sample of them."""
    faiss = faiss_module()
    if kind not in get_args(Kind):
        raise ConfigError(f"kind must be one of {get_args(Kind)}; got {kind!r}")
    if getattr(rows, "ndim", 0) != 2 or 0 in rows.shape:
        raise ConfigError(f"rows must have shape (n, d), got {getattr(rows, 'shape', rows)!r:.80}")
    total, dimensions = rows.shape
    if kind == "flat":
        return faiss.IndexFlatIP(dimensions)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimensions, _LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _BUILD_DEPTH
        return index
    cells = cells_for(total)
    parts = _parts(dimensions)
    bits = max(1, min(8, int(math.log2(total))))
    coarse = faiss.IndexFlatIP(dimensions)
    index = faiss.IndexIVFPQ(coarse, dimensions, cells, parts, bits, faiss.METRIC_INNER_PRODUCT)
    coarse.this.disown()
    index.own_fields = True
    index.cp.seed = index.pq.cp.seed = seed
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
    sample = _sample(rows, max(_ROWS_A_CELL * cells, 256 * _ROWS_A_CELL), seed)
    trained = on_gpu(index) if gpu else index
    trained.train(sample)
    return from_gpu(trained) if trained is not index else index


def cells_for(count: int) -> int:
    """How many cells ``ivfpq`` has for so many rows: four times the root, at most 16,384."""
    return max(1, min(int(4 * math.sqrt(count)), count // _ROWS_A_CELL, _MOST_CELLS))


def search_depth(index: Any, count: int) -> Any:
    """How thoroughly an index is searched for ``count`` rows, as FAISS takes it: a graph four times
    as deep, at least 256 rows; as many cells as hold four times as many, were all alike, but at
    least an eighth of them (64 to 512); never less than the index says itself. None where a search
    is exact anyway.
    """
    faiss = faiss_module()
    if isinstance(index, faiss.IndexHNSW):
        depth = max(_LEAST_DEPTH, 4 * count, index.hnsw.efSearch)
        return faiss.SearchParametersHNSW(efSearch=depth)
    if isinstance(index, faiss.IndexIVF):
        holding = -(-4 * count * index.nlist // max(1, index.ntotal))
        cells = max(64, min(512, index.nlist // 8), holding, index.nprobe)
        return faiss.SearchParametersIVF(nprobe=min(index.nlist, cells))
    if isinstance(index, faiss.IndexPreTransform):  # rows that are rotated first
        inner = search_depth(faiss.downcast_index(index.index), count)
        return None if inner is None else faiss.SearchParametersPreTransform(index_params=inner)
    return None


def unit_pieces(rows: Any, batch: int = BATCH, start: int = 0) -> Iterator[Matrix]:
    """Unit rows in float32 from row ``start`` on, ``batch`` at a time."""
    for first in range(start, len(rows), batch):
        piece: Matrix = np.asarray(rows[first : first + batch], dtype=np.float32)
        if not np.isfinite(piece).all():
            raise ConfigError(f"rows hold NaN or infinity between {first} and {first + batch}")
        yield np.ascontiguousarray(normalised(piece), dtype=np.float32)


def write_faiss(index: Any, path: Path) -> None:
    """Writes an index whole, under another name first; raises CorpusError where it cannot."""
    new = path.with_name(f"{path.name}.new")
    try:
        make_private(new)
        faiss_module().write_index(index, str(new))
        with new.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(new, path)
    except (OSError, RuntimeError) as error:
        raise CorpusError(f"the index cannot be written to {path}: {error}") from error


def read_faiss(path: Path) -> Any:
    """An index from a file, memory-mapped: the system reads what a search touches.

    Raises CorpusError when the file is no index or cannot be read.
    """
    faiss = faiss_module()
    if not path.is_file():  # FAISS would say so in C++
        raise CorpusError(f"there is no index at {path}")
    # Lists of cells are mapped by other flags than flat rows and graphs, and refuse theirs.
    with path.open("rb") as stream:
        cells = stream.read(2) == b"Iw"
    flags = getattr(faiss, "IO_FLAG_MMAP" if cells else "IO_FLAG_MMAP_IFC", 0)
    try:
        index = faiss.read_index(str(path), flags)
    except RuntimeError as error:
        raise CorpusError(f"{path} cannot be read as a FAISS index: {error}") from error
    return index


def on_gpu(index: Any) -> Any:
    """The index on the first GPU where FAISS has one and it takes this kind; else the index."""
    faiss = faiss_module()
    if getattr(faiss, "get_num_gpus", int)() < 1 or isinstance(index, faiss.IndexHNSW):
        return index
    try:
        moved = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
    except RuntimeError as error:
        _log.warning("the index is built on the CPU, as the GPU does not take it: %s", error)
        return index
    return moved


def from_gpu(index: Any) -> Any:
    """An index of ``on_gpu`` back in main memory."""
    return faiss_module().index_gpu_to_cpu(index)


def faiss_module() -> Any:
    """FAISS; raises MissingDependency without it."""
    try:
        import faiss
    except ImportError as error:
        raise MissingDependency("local", "an index of FAISS") from error
    return faiss


def free_memory() -> int:
    """Bytes that a process may still take: what the system says is free, within the limit of a
    container; 1 GB where nothing says so.
    """
    found = []
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(int(fields["MemAvailable"].split()[0]) * 1024)
    except (OSError, ValueError, KeyError):
        names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
        if all(name in getattr(os, "sysconf_names", {}) for name in names):
            found.append(os.sysconf(names[0]) * os.sysconf(names[1]) // 2)
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        found.append(limit - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError):  # "max", or no such group
        pass
    return max(1, min(found, default=1_000_000_000))


def _sample(rows: Any, most: int, seed: int) -> Matrix:
    if len(rows) <= most:
        chosen = np.arange(len(rows))
    else:
        chosen = np.random.default_rng(seed).choice(len(rows), most, replace=False, shuffle=False)
        chosen.sort()  # a file is read from front to back
    [sample] = unit_pieces(np.asarray(rows[chosen]), len(chosen))
    return np.repeat(sample, 2, axis=0) if len(sample) == 1 else sample  # a code needs two


def _parts(dimensions: int) -> int:
    """How many codes a row has: one for each 8 numbers, where that divides evenly."""
    return max(each for each in range(1, max(1, dimensions // 8) + 1) if dimensions % each == 0)


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.1f} MB"
