"""Every size and kind of index in turn; what was measured of one is kept before the next begins."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.core.results import hash_of_files
from benchmarks.scale.exact import Exact, Triple, exact
from benchmarks.scale.indexes import KINDS, MEGABYTE, MOST, Built, build
from benchmarks.scale.measure import measure
from benchmarks.scale.store import ScaledStore
from benchmarks.scale.vectors import DIMENSIONS, PERSPECTIVES, Space, rows_of
from perspective_rag.project.precomputed import project_collection
from perspective_rag.storage.whole_file import replace_file
from perspective_rag.types import Matrix

PRECOMPUTED_MOST = {"flat": 100_000, "hnsw": 0, "ivfpq": 1_000_000}
"""Up to how many vectors the projected collections are built too."""

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the figures depend on besides the size."""

    queries: int
    seconds: float
    seed: int
    threads: int


def measured(
    sizes: Sequence[int],
    kinds: Sequence[str],
    settings: Settings,
    work: Path,
    *,
    resume: bool,
    kept_alone: bool = False,
    told: Tell = lambda said: None,
) -> Iterator[dict[str, Any]]:
    """The figures of each size and kind, one after the other, from the smallest on.

    They are kept in ``work``; with ``resume`` what is kept there, by the same settings and code, is
    not measured again. With ``kept_alone`` nothing else is measured either.
    """
    space = Space.of(settings.seed)
    triples, others = space.triples(settings.queries), space.kinds()
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
                rows = rows_of(space, size, work, told)
                true = exact(rows, triples, others, told)
            found = _one(kind, rows, triples, others, true, settings, work, told)
            replace_file(kept, json.dumps({"made_by": _identity(settings), "found": found}))
            yield found
        del rows
        gc.collect()


def _one(
    kind: str,
    rows: Matrix,
    triples: Sequence[Triple],
    others: Matrix,
    true: Exact,
    settings: Settings,
    work: Path,
    told: Tell,
) -> dict[str, Any]:
    size = len(rows)
    name = f"{kind}-{settings.seed}-{size}"
    built = build(kind, rows, work, name=name, threads=settings.threads, told=told)
    collections, further = {}, []
    if size <= PRECOMPUTED_MOST[kind]:
        for number in range(PERSPECTIVES):
            along = triples[number][2]
            one = build(
                kind,
                rows,
                work,
                name=f"{name}-{number}",
                threads=settings.threads,
                turn=partial(project_collection, perspective=along),
                told=told,
            )
            further.append(one)
            collections[number] = ScaledStore(one, rows, along)
    told(f"timing {name}")
    load = os.getloadavg()[0]
    store = ScaledStore(built, rows)
    found = measure(store, collections, triples, others, true, seconds=settings.seconds)
    result = {
        "size": size,
        "kind": kind,
        "build": _cost(built, size),
        "precomputed": [_cost(each, size) for each in further],
        "vectors_mb": round(size * DIMENSIONS * 2 / MEGABYTE, 1),
        "load_average": [round(load, 2), round(os.getloadavg()[0], 2)],
        **found,
    }
    for path in work.glob(f"{name}*.lists"):
        path.unlink()
    return result


def _cost(built: Built, size: int) -> dict[str, Any]:
    millions = size / 1_000_000
    return {
        "seconds": round(built.seconds, 3),
        "cpu_seconds": round(built.cpu, 3),
        "cpu_seconds_per_million": round(built.cpu / millions, 2),
        "memory_mb_per_million": round(built.memory / MEGABYTE / millions, 1),
        "disk_mb_per_million": round(built.disk / MEGABYTE / millions, 1),
        "settings": built.settings,
    }


def _identity(settings: Settings) -> dict[str, Any]:
    root = Path(__file__).parent
    code = [root / f"{name}.py" for name in ("vectors", "indexes", "exact", "measure", "store")]
    return {**asdict(settings), "code": hash_of_files(root, code)}


def _kept(path: Path, settings: Settings) -> dict[str, Any] | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = values["found"]
        return found if values["made_by"] == _identity(settings) else None
    except (OSError, ValueError, KeyError):
        return None
