"""Asks a retriever every question in every wording and has what it returns judged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.checks import between
from perspective_rag.errors import (
    CapabilityError,
    ConfigError,
    JudgeError,
    MissingDependency,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.flow import Limits, Recorder, run
from perspective_rag.judging import in_range
from perspective_rag.protocols import Embedder, Judge, Store
from perspective_rag.types import Degradation, Matrix, Passage, Perspective, Vector

BATCH = 16
OUTAGE = 32
"""So many failures before the first verdict are the judge's, not the pairs'."""

# Loading a large model, or a batch of it on a CPU, takes longer than a request may.
_UNTIMED = Limits(timeout=None)

NEUTRAL = "neutral"

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the retriever returned for one wording of a question, best first.

    ``support`` has shape (n_passages, n_perspectives): P(support), NaN where it was not judged.
    """

    asked: str
    passages: tuple[Passage, ...]
    seconds: float
    support: Matrix = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, slots=True)
class Audited:
    """A question with its rankings by wording; ``error`` tells why a search failed."""

    question: AuditQuestion
    rankings: Mapping[str, Ranking]
    error: str = ""


@dataclass(slots=True)
class Measured:
    """Everything an audit saw."""

    audited: list[Audited]
    threshold: float
    judged_pairs: int = 0
    degradations: list[Degradation] = field(default_factory=list)


def measure(
    questions: Sequence[AuditQuestion],
    store: Store,
    embedder: Embedder | None,
    judge: Judge,
    *,
    k: int,
    depth: int,
    min_support: float | None = None,
    strict: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> Measured:
    """Searches ``depth`` passages for the question as it stands and ``k`` for its two other
    wordings, and judges each passage once against each perspective of its question.

    A search that fails leaves its question out, a batch that cannot be judged supports nothing;
    both are in ``degradations``, and in strict mode raise. Raises ConfigError unless 1 <= k <=
    depth and 0 <= min_support <= 1, CapabilityError for a store that needs an embedder and has
    none, RetrievalError when every search failed, and JudgeError when the first ``OUTAGE`` pairs
    (or all there are) could not be judged.
    """
    check_cuts(k, depth)
    if min_support is not None:
        between("min_support", min_support)
    if store.takes_vector and embedder is None:
        raise CapabilityError("this store searches by vector: an embedder is needed")
    threshold = judge.threshold if min_support is None else min_support
    measured = Measured([], threshold)
    recorder = Recorder(strict=strict)
    failure: Exception | None = None
    for number, question in enumerate(questions):
        on_progress("asking", number, len(questions))
        rankings: dict[str, Ranking] = {}
        try:
            for wording, text in question.asked().items():
                wanted = depth if wording == NEUTRAL else k
                rankings[wording] = _search(store, embedder, text, wanted)
        except Exception as error:
            if strict:
                raise
            failure = error
            recorder.degradation(Degradation("search", f"{question.text}: {error}", error))
            measured.audited.append(Audited(question, {}, f"{type(error).__name__}: {error}"))
            continue
        measured.audited.append(Audited(question, rankings))
    on_progress("asking", len(questions), len(questions))
    if failure is not None and not any(each.rankings for each in measured.audited):
        raise RetrievalError(f"every search failed, the last with: {failure}") from failure
    asked = lost = 0
    for number, each in enumerate(measured.audited):
        on_progress("judging", number, len(measured.audited))
        measured.audited[number], without = _judged(each, judge, recorder)
        asked += len(_distinct(each)) * len(each.question.perspectives)
        lost += without
        if asked == lost >= OUTAGE:
            break
    if asked == lost > 0:
        last = recorder.degradations[-1].error if recorder.degradations else None
        reason = last or "it gave no reason"
        raise JudgeError(f"{judge.name} judged none of {lost} pairs: {reason}") from last
    measured.judged_pairs = asked
    on_progress("judging", len(questions), len(questions))
    measured.degradations += recorder.degradations
    return measured


def check_cuts(k: int, depth: int) -> None:
    """Raises ConfigError unless 1 <= k <= depth."""
    if not 1 <= k <= depth:
        raise ConfigError(f"k must be from 1 to depth ({depth}), got {k}")


def _search(store: Store, embedder: Embedder | None, text: str, k: int) -> Ranking:
    started = time.perf_counter()
    vector = None
    if store.takes_vector and embedder is not None:
        vector = embedder.embed_queries([text])[0]
    hits = list(store.search(text, vector, k=k))[:k]
    return Ranking(text, tuple(hit.passage for hit in hits), time.perf_counter() - started)


def _distinct(audited: Audited) -> dict[tuple[str, str], Passage]:
    """The passages of all wordings, each once."""
    return {
        (each.title, each.text): each
        for ranking in audited.rankings.values()
        for each in ranking.passages
    }


def _judged(audited: Audited, judge: Judge, recorder: Recorder) -> tuple[Audited, int]:
    """The question with its verdicts, and how many pairs got none."""
    perspectives = audited.question.perspectives
    passages = _distinct(audited)
    rows: dict[tuple[str, str], Vector] = {}
    keys = list(passages)
    for start in range(0, len(keys) if perspectives else 0, BATCH):
        batch = keys[start : start + BATCH]
        table = _table(judge, perspectives, [passages[key] for key in batch], recorder)
        rows.update(zip(batch, table, strict=True))
    unjudged = np.full(len(perspectives), math.nan)
    rankings = {
        wording: Ranking(
            ranking.asked,
            ranking.passages,
            ranking.seconds,
            np.array(
                [rows.get((each.title, each.text), unjudged) for each in ranking.passages]
            ).reshape(len(ranking.passages), len(perspectives)),
        )
        for wording, ranking in audited.rankings.items()
    }
    lost = sum(int(np.isnan(row).sum()) for row in rows.values())
    return Audited(audited.question, rankings, audited.error), lost


def _table(
    judge: Judge,
    perspectives: Sequence[Perspective],
    passages: Sequence[Passage],
    recorder: Recorder,
) -> Matrix:
    shape = (len(passages), len(perspectives))
    known = len(recorder.degradations)
    try:
        verdicts = run(judge.judge(perspectives, passages), recorder, _UNTIMED)
        table = in_range(verdicts, shape, judge.name)
    except Exception as error:
        # A model that is not installed or not there would fail again every time.
        final = (ConfigError, MissingDependency)
        if isinstance(error, final) or (recorder.strict and isinstance(error, PerspectiveRAGError)):
            raise
        problem = f"{shape[0] * shape[1]} pairs could not be judged: {error}"
        recorder.degradation(Degradation("judge", problem, error))
        return np.full(shape, math.nan)
    if np.isnan(table).any() and len(recorder.degradations) == known:  # the judge did not say
        lost = int(np.isnan(table).sum())
        recorder.degradation(Degradation("judge", f"{lost} pairs could not be judged"))
    return table
