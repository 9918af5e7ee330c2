"""Every size and kind of index in turn; what was measured of one is kept before the next begins."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.core.results import hash_of_files
from benchmarks.scale.collection import KINDS, MEGABYTE, MOST, Cost, Tell, build, written
from benchmarks.scale.exact import Exact, exact
from benchmarks.scale.measure import measure
from benchmarks.scale.precomputed import project_collection
from benchmarks.scale.store import Noted
from benchmarks.scale.vectors import DIMENSIONS, PERSPECTIVES, Space
from perspective_rag.addons import replace_file
from perspective_rag.extend import Matrix
from perspective_rag_scale import sinks
from perspective_rag_scale.faiss_folder import PASSAGES
from perspective_rag_scale.faiss_kinds import Kind

PRECOMPUTED_MOST = {"flat": 100_000, "hnsw": 0, "ivfpq": 1_000_000}
"""Up to how many vectors the projected collections are built too."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the figures depend on besides the size."""

    queries: int
    seconds: float
    seed: int
    threads: int


def measured(
    sizes: Sequence[int],
    kinds: Sequence[Kind],
    settings: Settings,
    work: Path,
    *,
    resume: bool,
    kept_alone: bool = False,
    told: Tell = lambda said: None,
) -> Iterator[dict[str, Any]]:
    """The figures of each size and kind, one after the other, from the smallest on.

    They are kept in ``work``, the vectors only until all kinds of a size were measured. With
    ``resume`` what is kept, by the same settings and code, is not measured again; with
    ``kept_alone`` nothing else is measured either.
    """
    space = Space.of(settings.seed)
    for size in sorted(sizes):
        wanted = [kind for kind in KINDS if kind in kinds and size <= MOST[kind]]
        rows, true = None, None
        for kind in wanted:
            kept = work / f"{size}-{kind}.json"
            if resume and (found := _kept(kept, settings)) is not None:
                yield found
                continue
            if kept_alone:
                continue
            if rows is None or true is None:
                rows = written(_folder(work, size, settings), space, size, turn=None, told=told)
                true = exact(rows, space.triples(settings.queries), space.kinds(), told)
            found = _one(kind, rows, space, true, settings, work, told)
            replace_file(kept, json.dumps({"made_by": _identity(settings), "found": found}))
            yield found
        del rows
        gc.collect()  # closes what is mapped
        shutil.rmtree(_folder(work, size, settings), ignore_errors=True)


def _one(
    kind: Kind,
    rows: Matrix,
    space: Space,
    true: Exact,
    settings: Settings,
    work: Path,
    told: Tell,
) -> dict[str, Any]:
    size, triples = len(rows), space.triples(settings.queries)
    folder = _folder(work, size, settings)
    cost = build(folder, kind, threads=settings.threads, told=told)
    collections, further = {}, []
    if size <= PRECOMPUTED_MOST[kind]:
        for number in range(PERSPECTIVES):
            along = _folder(work, size, settings, number)
            turn = partial(project_collection, perspective=triples[number][2])
            written(along, space, size, turn=turn, told=told)
            further.append(build(along, kind, threads=settings.threads, told=told))
            collections[number] = Noted(along)
    told(f"timing {kind} of {size:,}")
    load = os.getloadavg()[0]
    found = measure(
        *(rows, Noted(folder), collections, triples, space.kinds(), true),
        seconds=settings.seconds,
    )
    for each in collections.values():
        each.folder.close()
        shutil.rmtree(each.folder.folder)
    return {
        "size": size,
        "kind": kind,
        "build": _told(cost, size),
        "precomputed": [_told(each, size) for each in further],
        "vectors_mb": round(size * DIMENSIONS * 2 / MEGABYTE, 1),
        "passages_mb": round((folder / PASSAGES).stat().st_size / MEGABYTE, 1),
        "load_average": [round(load, 2), round(os.getloadavg()[0], 2)],
        **found,
    }


def _folder(work: Path, size: int, settings: Settings, number: int | None = None) -> Path:
    """Where passages and vectors lie, or those projected by a perspective."""
    ending = "" if number is None else f"-projected-{number}"
    return work / f"seed-{settings.seed}-{size}{ending}"


def _told(cost: Cost, size: int) -> dict[str, Any]:
    millions = size / 1_000_000
    return {
        "seconds": round(cost.seconds, 3),
        "cpu_seconds": round(cost.cpu, 3),
        "cpu_seconds_per_million": round(cost.cpu / millions, 2),
        "memory_mb_per_million": round(cost.memory / MEGABYTE / millions, 1),
        "disk_mb_per_million": round(cost.disk / MEGABYTE / millions, 1),
        "files": cost.manifest.parts,
    }


def _identity(settings: Settings) -> dict[str, Any]:
    own, indexes = Path(__file__).parent, Path(sinks.__file__).parents[1]
    code = [own / f"{name}.py" for name in ("vectors", "collection", "exact", "measure", "store")]
    code += [indexes / each for each in ("faiss_kinds.py", "faiss_folder.py", "sinks/faiss.py")]
    return {**asdict(settings), "code": hash_of_files(own.parents[1], code)}


def _kept(path: Path, settings: Settings) -> dict[str, Any] | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = values["found"]
        return found if values["made_by"] == _identity(settings) else None
    except (OSError, ValueError, KeyError):
        return None
