"""Judging millions of pairs into a file, and going on after an interruption."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from perspective_rag.checks import count
from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow import Limits, Recorder, run
from perspective_rag.judge.pairs import judge_pairs
from perspective_rag.judge.revisions import digest, revision_of
from perspective_rag.ledger import hold
from perspective_rag.protocols import Judge
from perspective_rag.types import Passage, Perspective

Pair = tuple[Passage, Perspective]

# So many failures with nothing between them are the judge's, not the pairs'.
_OUTAGE = 8


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
) -> Judged:
    """Judges a stream of pairs into ``out``, one JSON line a pair, in the order of the stream.

    A line holds ``passage`` and ``perspective`` (their ids), ``support`` (P, or null for a pair
    that could not be judged) and ``key``, a hash of judge and pair. Memory holds one batch, however
    long the stream. A file that is there already is continued: its pairs are passed over, a last
    line that was cut off is judged anew, and a line that is not this stream's and this judge's
    raises ConfigError. A batch is on the disk before the next is judged, so that a process that
    is killed loses no finished batch and repeats none. ``progress`` is told how many pairs are
    done.

    A batch of at least 8 pairs without a single verdict raises JudgeError and is not written: the
    judge is down, and the same call goes on from there. ``strict`` raises for any pair without one.
    Raises ConfigError when another process is writing the file or the judge has no ``revision``.
    """
    size = count("batch_size", batch_size)
    revision = revision_of(judge)
    stream = iter(pairs)
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        hold(file, path)
        done = resumed(file, path, (_key(revision, *pair) for pair in stream))
        judged = failed = 0
        while batch := list(islice(stream, size)):
            book = Recorder(strict=strict)
            flow = judge_pairs(judge, [p for _, p in batch], [d for d, _ in batch])
            support = run(flow, book, limits or Limits(timeout=None))
            missing = sum(map(math.isnan, support))
            if missing == len(batch) >= _OUTAGE or (strict and missing):
                cause = book.degradations[0].error if book.degradations else None
                raise JudgeError(
                    f"judge {judge.name!r} judged {len(batch) - missing} of {len(batch)} pairs; "
                    f"{done + judged} pairs are in {path}: the same call goes on from there"
                ) from cause
            lines = (
                _line(revision, *pair, None if math.isnan(p) else float(p))
                for pair, p in zip(batch, support, strict=True)
            )
            file.write("".join(lines).encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
            judged, failed = judged + len(batch), failed + missing
            if progress is not None:
                progress(done + judged)
    return Judged(judged, done, failed)


def _line(revision: str, passage: Passage, perspective: Perspective, p: float | None) -> str:
    row = {
        "passage": passage.id,
        "perspective": perspective.id,
        "support": p,
        "key": _key(revision, passage, perspective),
    }
    return json.dumps(row) + "\n"


def _key(revision: str, passage: Passage, perspective: Perspective) -> str:
    return digest(
        revision,
        passage.id,
        passage.title,
        passage.text,
        perspective.id,
        perspective.text,
        str(perspective.stance),
        str(perspective.claim),
    )


def resumed(file: IO[bytes], path: Path, keys: Iterator[str]) -> int:
    """How many lines the file holds, whose ``key``s are the first of ``keys``; a torn last line is
    cut off.

    Takes no more of ``keys`` than there are lines. Raises ConfigError for a line with another key.
    """
    file.seek(0)
    done = end = 0
    for line in iter(file.readline, b""):
        if not line.endswith(b"\n"):
            break
        key = next(keys, None)
        try:
            known = json.loads(line)["key"]
        except (ValueError, KeyError, TypeError):
            known = None
        if key is None or known != key:
            raise ConfigError(
                f"{path}, line {done + 1}, is not the verdict of this judge on this pair: give the "
                "same pairs in the same order and the same judge, or another file"
            )
        done, end = done + 1, end + len(line)
    file.truncate(end)
    file.seek(end)
    return done
