"""Judging a stream of pairs: a judge that is down is told from a pair that it cannot judge, and
what a log knows is passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from perspective_rag import Degradation, JudgeError, run
from perspective_rag.addons import Engine, Limits, LocalEngine, Pair, Recorder, judge_pairs
from perspective_rag.extend import Judge, Vector

# Loading a large model, or a batch of it on a CPU, takes longer than a request may.
UNTIMED = Limits(timeout=None)


class VerdictLog(Protocol):
    """Where verdicts stay, so that a run that was killed goes on where it stopped."""

    def knows(self, pair: Pair) -> bool:
        """Whether the pair was judged before: it is passed over. Asked once for each pair, in the
        order of the stream.
        """

    def add(self, pairs: Sequence[Pair], support: Vector) -> None:
        """Takes a batch in; it is on the disk when this returns."""

    def resume_hint(self) -> str:
        """How to go on after a JudgeError, such as "the same call goes on from the 12 lines"."""


@dataclass(frozen=True, slots=True)
class JudgedBatch:
    """Pairs with P(support), shape (n,), NaN where the judge gave no verdict; ``degradations`` say
    what went wrong.
    """

    pairs: Sequence[Pair]
    support: Vector
    degradations: Sequence[Degradation] = field(default=())

    @property
    def failed(self) -> list[Pair]:
        """The pairs without a verdict."""
        return [pair for pair, p in zip(self.pairs, self.support, strict=True) if np.isnan(p)]


def judge_stream(
    judge: Judge,
    batches: Iterable[Sequence[Pair]],
    *,
    outage: int,
    only_at_start: bool = False,
    log: VerdictLog | None = None,
    strict: bool = False,
    limits: Limits = UNTIMED,
    engine: Engine | None = None,
) -> Iterator[JudgedBatch]:
    """Judges batch after batch as the caller takes them, without the pairs that ``log`` knows;
    ``engine`` is where (None: in this process).

    A pair without a verdict is a bad pair: it is NaN, and the next is judged. When whole batches of
    at least ``outage`` pairs in a row have no verdict, the judge is down: JudgeError, and the last
    of them is not in the log, so that the same call goes on from there. ``only_at_start``: a judge
    that gave one verdict in this run is taken to work, and what follows are bad pairs.

    ``strict`` raises JudgeError for any degradation. A judge's ConfigError and MissingDependency
    are raised as they are: the next batch would fail in the same way.
    """
    failed_in_a_row, works = 0, False
    asked: deque[Sequence[Pair]] = deque()

    def unknown() -> Iterator[Sequence[Pair]]:
        for batch in batches:
            pairs = [pair for pair in batch if log is None or not log.knows(pair)]
            if pairs:
                asked.append(pairs)
                yield pairs

    worker = partial(_BatchJudge, judge, limits)
    for support, degradations in (engine or LocalEngine()).map(unknown(), worker):
        pairs = asked.popleft()
        judged = JudgedBatch(pairs, support, degradations)
        failed = len(judged.failed)
        if failed < len(pairs):
            failed_in_a_row, works = 0, True
        else:
            failed_in_a_row += failed
            if failed_in_a_row >= outage and not (works and only_at_start):
                problem = f"{judge.name} judged none of {failed_in_a_row} pairs"
                raise _error(problem, judged.degradations, log)
        if strict and judged.degradations:
            passage, perspective = (judged.failed or pairs)[0]
            about = f"{failed} of {len(pairs)} pairs, from {passage.id!r} / {perspective.id!r}"
            raise _error(f"{judge.name} did not judge {about}", judged.degradations, log)
        if log is not None:
            log.add(pairs, judged.support)
        yield judged


@dataclass(frozen=True, slots=True)
class _BatchJudge:
    """A judge of batches, in whichever process: P(support), and what went wrong."""

    judge: Judge
    limits: Limits

    def __call__(self, pairs: Sequence[Pair]) -> tuple[Vector, Sequence[Degradation]]:
        recorder = Recorder()
        asked = judge_pairs(self.judge, [p for _, p in pairs], [d for d, _ in pairs])
        support = run(asked, recorder, self.limits)
        failed = int(np.isnan(support).sum())
        if failed and not recorder.degradations:  # the judge did not say
            message = f"{failed} of {len(pairs)} pairs could not be judged"
            recorder.degrade("judge", message)
        told = [
            replace(each, message=f"{each.message}: {_cause(each.error)}") if each.error else each
            for each in recorder.degradations
        ]
        return support, told


def _error(problem: str, degradations: Sequence[Degradation], log: VerdictLog | None) -> JudgeError:
    cause = next((_cause(each.error) for each in degradations if each.error), None)
    hint = f"; {log.resume_hint()}" if log is not None else ""
    error = JudgeError(f"{problem}: {cause or 'it gave no reason'}{hint}")
    error.__cause__ = cause
    return error


def _cause(error: Exception) -> BaseException:
    """What the judge raised, without the JudgeError around it."""
    return error.__cause__ or error
