"""Asks a retriever every question in every wording and has what it returns judged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.audit.reading import Reading, Support, key_of, rule_of
from perspective_rag.errors import CapabilityError, ConfigError, RetrievalError, between
from perspective_rag.options import Calibration
from perspective_rag.protocols import Embedder, Judge, Store
from perspective_rag.redaction import scrubbed
from perspective_rag.types import Degradation, ListingRule, Matrix, Passage

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
    """A question with its rankings by wording and the rule by which its judge lists a passage;
    ``error`` tells why a search failed.
    """

    question: AuditQuestion
    rankings: Mapping[str, Ranking]
    rule: ListingRule
    error: str = ""


@dataclass(slots=True)
class Measured:
    """Everything an audit saw."""

    audited: list[Audited]
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
    encoder: Embedder | None = None,
    calibration: Calibration | None = None,
    min_support: float | None = None,
    strict: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> Measured:
    """Searches ``depth`` passages for the question as it stands and ``k`` for its two other
    wordings, and judges each passage once against the perspectives of its question, two sides
    together where the judge can.

    ``encoder`` measures what a passage has to do with its question, as the pipeline does: what is
    not about it supports nothing. Without one every passage is judged. ``calibration`` replaces its
    floor and the judge's listing rule.

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
    measured = Measured([])
    failure: Exception | None = None
    for number, question in enumerate(questions):
        on_progress("asking", number, len(questions))
        rule = rule_of(question, judge, min_support, calibration)
        rankings: dict[str, Ranking] = {}
        try:
            for wording, text in question.asked().items():
                wanted = depth if wording == NEUTRAL else k
                rankings[wording] = _search(store, embedder, text, wanted)
        except Exception as raised:
            error = scrubbed(raised)
            if strict:
                raise error from error.__cause__
            failure = error
            problem = Degradation("search", f"{question.text}: {error}", error)
            measured.degradations.append(problem)
            measured.audited.append(Audited(question, {}, rule, f"{type(error).__name__}: {error}"))
            continue
        measured.audited.append(Audited(question, rankings, rule))
    on_progress("asking", len(questions), len(questions))
    if failure is not None and not any(each.rankings for each in measured.audited):
        raise RetrievalError(f"every search failed, the last with: {failure}") from failure
    _judge(measured, Reading(judge, encoder, calibration), strict, on_progress)
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


def _distinct(audited: Audited) -> list[Passage]:
    """The passages of all wordings, each once."""
    every = [each for ranking in audited.rankings.values() for each in ranking.passages]
    return list({key_of(each): each for each in every}.values())


def _judge(measured: Measured, reading: Reading, strict: bool, on_progress: Progress) -> None:
    """Has every passage judged against the perspectives of its question; raises as ``measure``."""
    count = len(measured.audited)
    found = reading.judged(
        [(each.question, _distinct(each)) for each in measured.audited],
        strict=strict,
        on_question=lambda number: on_progress("judging", number, count),
    )
    measured.judged_pairs = reading.judged_pairs
    measured.degradations += reading.problems
    measured.audited = [
        _with_support(each, support) for each, support in zip(measured.audited, found, strict=True)
    ]
    on_progress("judging", count, count)


def _with_support(audited: Audited, support: Support) -> Audited:
    perspectives = audited.question.perspectives
    rankings = {}
    for wording, ranking in audited.rankings.items():
        rows = [
            [support.get((key_of(each), p.id), math.nan) for p in perspectives]
            for each in ranking.passages
        ]
        table = np.array(rows, dtype=float).reshape(len(rows), len(perspectives))
        rankings[wording] = replace(ranking, support=table)
    return replace(audited, rankings=rankings)
