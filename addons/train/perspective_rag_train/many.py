"""Judging millions of pairs into a file, and going on after an interruption."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from perspective_rag.addons import (
    Engine,
    Limits,
    OrderedLog,
    Pair,
    count,
    fingerprint,
    revision_of,
)
from perspective_rag.extend import Judge, Vector
from perspective_rag_train.stream import judge_stream

OUTAGE = 8
"""At least this many pairs in a row without a verdict: the judge is down."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run did: pairs judged now, found done already, and left without a verdict."""

    judged: int
    resumed: int
    failed: int


def judge_many(
    judge: Judge,
    pairs: Iterable[Pair],
    out: str | Path,
    *,
    batch_size: int = 256,
    strict: bool = False,
    limits: Limits | None = None,
    progress: Callable[[int], None] | None = None,
    engine: Engine | None = None,
) -> Judged:
    """Judges a stream of pairs into ``out``, one JSON line a pair, in the order of the stream.

    A line holds ``passage`` and ``perspective`` (their ids), ``support`` (P, or null for a pair
    that could not be judged) and ``key``, a hash of judge and pair. Memory holds one batch, however
    long the stream. A file that is there already is continued: its pairs are passed over, a last
    line that was cut off is judged anew, and a line that is not this stream's and this judge's
    raises ConfigError. A batch is on the disk before the next is judged, so that a process that
    is killed loses no finished batch and repeats none. ``progress`` is told how many pairs are
    done. ``engine`` is where batches are judged: None is this process, ``RayEngine`` the processes
    of a Ray cluster, to which the judge is sent. The file is written here, and is the same.

    Batches of at least 8 pairs in a row without a single verdict raise JudgeError, and the last of
    them is not written: the judge is down, and the same call goes on from there. ``strict`` raises
    for any pair without one. Raises ConfigError when another process is writing the file, the
    judge has no ``revision`` or cannot be sent to the engine's processes.
    """
    size = count("batch_size", batch_size)
    revision = revision_of(judge)
    judged = failed = 0
    with OrderedLog(Path(out), "the verdict of this judge on this pair") as file:
        log = _Lines(file, revision)
        for batch in judge_stream(
            judge,
            _batches(pairs, size),
            outage=OUTAGE,
            log=log,
            strict=strict,
            limits=limits or Limits(timeout=None),
            engine=engine,
        ):
            judged, failed = judged + len(batch.pairs), failed + len(batch.failed)
            if progress is not None:
                progress(file.lines)
        file.check_all_passed()
        return Judged(judged, file.lines - judged, failed)


def _batches(pairs: Iterable[Pair], size: int) -> Iterable[Sequence[Pair]]:
    stream = iter(pairs)
    return iter(lambda: list(islice(stream, size)), [])


@dataclass(frozen=True, slots=True)
class _Lines:
    """The verdicts of one judge as lines of a file."""

    file: OrderedLog
    revision: str

    def knows(self, pair: Pair) -> bool:
        return self.file.passes(self._key(pair))

    def add(self, pairs: Sequence[Pair], support: Vector) -> None:
        self.file.add(
            {
                "passage": pair[0].id,
                "perspective": pair[1].id,
                "support": None if math.isnan(p) else float(p),
                "key": self._key(pair),
            }
            for pair, p in zip(pairs, support, strict=True)
        )

    def resume_hint(self) -> str:
        kept = f"{self.file.lines} pairs are in {self.file.path}"
        return f"{kept}: the same call goes on from there"

    def _key(self, pair: Pair) -> str:
        passage, perspective = pair
        return fingerprint(
            self.revision,
            (passage.id, passage.title, passage.text),
            (perspective.id, perspective.text, perspective.stance, perspective.claim),
        )
