"""The same pairs judged and the same passages embedded by both engines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines.watching import Watch, cpu_seconds
from perspective_rag import OnnxMiniLM, Passage, Perspective
from perspective_rag.addons import Engine, Pair, file_sha256
from perspective_rag.extend import Flow, Judge, Matrix, Vector
from perspective_rag_scale import build_dense_index
from perspective_rag_train.many import judge_many

Pairs = Callable[[], Iterator[Pair]]


class TrivialJudge:
    """P from the length of the texts: what remains is the engine's own work."""

    name = "trivial"
    threshold = 0.5
    revision = "1"

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """Shape (n,)."""
        return np.array([_trivial(*pair) for pair in zip(perspectives, passages, strict=True)])
        yield

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Shape (len(passages), len(perspectives))."""
        return np.array([[_trivial(p, d) for p in perspectives] for d in passages])
        yield


def _trivial(perspective: Perspective, passage: Passage) -> float:
    return (len(perspective.text) * len(passage.text)) % 101 / 101


def counted_pairs(count: int) -> Iterator[Pair]:
    """Pairs that no file holds, each another."""
    perspective = Perspective("p", "Zoos should be closed.")
    for number in range(count):
        words = "zoos keep animals in cages " * (1 + number % 7)
        yield Passage(str(number), f"{words}and this is sentence {number}."), perspective


def judged(
    judge: Judge,
    pairs: Pairs,
    count: int,
    batch_size: int,
    engines: Sequence[Engine],
    folder: Path,
    told: Callable[[str], None],
) -> dict[str, Any]:
    """Seconds, rates and memory of each engine, and whether their files are the same. Of the
    workers of Ray one is killed when half is done.
    """
    found: dict[str, Any] = {}
    sums = []
    for engine in engines:
        out, done = folder / f"{judge.name}-{engine.name}.jsonl", [0]
        out.unlink(missing_ok=True)

        def progress(lines: int, done: list[int] = done, engine: Engine = engine) -> None:
            done[0] = lines
            told(f"{judge.name}, {engine.name}: {lines:,} of {count:,} pairs")

        half = (lambda done=done: done[0] >= count // 2) if engine.name == "ray" else None
        load, started, used = os.getloadavg()[0], time.perf_counter(), cpu_seconds()
        with Watch(half) as watch:
            result = judge_many(
                judge, pairs(), out, batch_size=batch_size, progress=progress, engine=engine
            )
        seconds = time.perf_counter() - started
        sums.append(file_sha256(out))
        found[engine.name] = {
            "seconds": round(seconds, 1),
            "pairs_per_second": round(result.judged / seconds, 1),
            "cpu_seconds_of_this_process": round(cpu_seconds() - used, 1),
            "load_before": round(load, 1),
            "judged": result.judged,
            "failed": result.failed,
            "sha256": sums[-1],
            **watch.figures(),
        }
        out.unlink()
    return {"pairs": count, "engines": found, "identical": len(set(sums)) == 1}


def embedded(
    passages: Sequence[Passage],
    engines: Sequence[Engine],
    folder: Path,
    told: Callable[[str], None],
) -> dict[str, Any]:
    """Passages a second of each engine, and whether the files are the same."""
    found: dict[str, Any] = {}
    sums = []
    embedder = OnnxMiniLM()
    for engine in engines:
        target = folder / f"dense-{engine.name}"
        for each in target.glob("*"):
            each.unlink()

        def progress(done: int, total: int, engine: Engine = engine) -> None:
            told(f"embedding, {engine.name}: {done:,} of {total:,} passages")

        started, used = time.perf_counter(), cpu_seconds()
        rows = build_dense_index(
            passages,
            embedder,
            target,
            model_name=embedder.name,
            on_progress=progress,
            engine=engine,
        )
        seconds = time.perf_counter() - started
        sums.append(file_sha256(target / "embeddings.npy"))
        found[engine.name] = {
            "seconds": round(seconds, 1),
            "passages_per_second": round(len(rows) / seconds, 1),
            "cpu_seconds_of_this_process": round(cpu_seconds() - used, 1),
            "sha256": sums[-1],
        }
    return {
        "passages": len(passages),
        "dimensions": int(rows.shape[1]),
        "engines": found,
        "identical": len(set(sums)) == 1,
    }
