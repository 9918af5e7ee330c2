"""Asks a retriever every question in every wording, and has the passages judged by the rules of the
pipeline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.errors import (
    CapabilityError,
    ConfigError,
    JudgeError,
    MissingDependency,
    RetrievalError,
    between,
)
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.support import (
    read_passages,
    related,
    relevance_floor,
    relevance_scale,
    rule_for,
)
from perspective_rag.options import Calibration
from perspective_rag.protocols import Embedder, Judge, Store
from perspective_rag.redaction import raise_scrubbed, scrubbed
from perspective_rag.search.candidates import with_names
from perspective_rag.search.search import nearness
from perspective_rag.types import Candidate, Degradation, ListingRule, Matrix, Passage

NEUTRAL = "neutral"

BATCH = 16
OUTAGE = 32
"""After at least this many pairs without a single verdict the judge is taken to be down."""

# Loading a large model, or a batch of it on a CPU, takes longer than a request may.
_UNTIMED = Limits(timeout=None)

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


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything an audit saw."""

    audited: Sequence[Audited]
    judged_pairs: int
    degradations: Sequence[Degradation]


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
    not about it supports nothing and is not judged. Without one, or with one of which nobody knows
    what its cosines mean, every passage is judged. ``calibration`` replaces its floor and the
    judge's listing rule.

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
    recorder = Recorder(strict=strict)
    audited = []
    failure: Exception | None = None
    for number, question in enumerate(questions):
        on_progress("asking", number, len(questions))
        rule = rule_for(
            judge,
            question.perspectives,
            exclusive=question.sides is not None,
            min_support=min_support,
            calibration=calibration,
        )
        rankings: dict[str, Ranking] = {}
        error = ""
        try:
            for wording, text in question.asked().items():
                wanted = depth if wording == NEUTRAL else k
                rankings[wording] = _search(store, embedder, text, wanted)
        except Exception as raised:
            if strict:
                raise_scrubbed(raised)
            failure = scrubbed(raised)
            recorder.degrade("search", f"{question.text}: {failure}", failure)
            rankings, error = {}, f"{type(failure).__name__}: {failure}"
        audited.append(Audited(question, rankings, rule, error))
    on_progress("asking", len(questions), len(questions))
    if failure is not None and not any(each.rankings for each in audited):
        raise RetrievalError(f"every search failed, the last with: {failure}") from failure
    reader = _Reader(judge, encoder, calibration, recorder)
    for number, each in enumerate(audited):
        on_progress("judging", number, len(audited))
        audited[number] = reader.with_support(each)
    on_progress("judging", len(audited), len(audited))
    if reader.pairs and not reader.works:
        raise reader.outage()
    return Measured(audited, reader.pairs, recorder.degradations)


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


def _key(passage: Passage) -> tuple[str, str]:
    """What makes two passages one for an audit."""
    return passage.title, passage.text


@dataclass(slots=True)
class _Reader:
    """Has passages judged; ``pairs`` were, and ``works`` once there was a verdict."""

    judge: Judge
    encoder: Embedder | None
    calibration: Calibration | None
    recorder: Recorder
    pairs: int = 0
    works: bool = False

    def with_support(self, audited: Audited) -> Audited:
        """The question with P(support) in its rankings, each passage judged once."""
        question, rankings = audited.question, audited.rankings
        distinct = {_key(p): p for ranking in rankings.values() for p in ranking.passages}
        place = {key: row for row, key in enumerate(distinct)}
        candidates = self._measured(question, list(distinct.values()))
        floor = relevance_floor(self.encoder, None, self.calibration)
        about = np.full(len(candidates), True) if floor is None else related(candidates, floor)
        table = np.zeros((len(candidates), len(question.perspectives)))
        rows = np.flatnonzero(about) if question.perspectives else np.zeros(0, dtype=int)
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            table[batch] = self._read(question, [candidates[row] for row in batch])
        judged = {
            wording: replace(
                each, support=table[np.array([place[_key(p)] for p in each.passages], dtype=int)]
            )
            for wording, each in rankings.items()
        }
        return replace(audited, rankings=judged)

    def outage(self) -> JudgeError:
        """The error for a judge that gave no verdict at all."""
        errors = [d.error for d in self.recorder.degradations if d.stage == "judge" and d.error]
        cause = (errors[-1].__cause__ or errors[-1]) if errors else None
        said = f"{self.judge.name} judged none of {self.pairs} pairs"
        error = JudgeError(f"{said}: {cause or 'it gave no reason'}")
        error.__cause__ = cause
        return error

    def _measured(self, question: AuditQuestion, passages: Sequence[Passage]) -> list[Candidate]:
        """The passages with their cosine to the question, where it is known what it means."""
        plain = [Candidate(passage, 0.0) for passage in passages]
        known = relevance_floor(self.encoder, None, self.calibration) is not None
        if self.encoder is None or not known or not passages:
            return plain
        try:
            own = np.asarray(self.encoder.embed_queries([question.text]), dtype=float)
            near = nearness(self.encoder, question.text, own, passages).tolist()
        except Exception as error:
            if self.recorder.strict:
                raise_scrubbed(error)
            message = f"{question.text}: relevance could not be measured: {error}"
            self.recorder.degrade("rank", message, error)
            return plain
        measured = [
            Candidate(passage, value, {"relevance": value})
            for passage, value in zip(passages, near, strict=True)
        ]
        return with_names(question.text, measured)

    def _read(self, question: AuditQuestion, candidates: Sequence[Candidate]) -> Matrix:
        """P(support) of a batch, shape (n, n_perspectives), NaN where it failed, which is recorded;
        raises ``outage`` where nothing was judged yet.
        """
        recorded = len(self.recorder.degradations)
        shape = len(candidates), len(question.perspectives)
        pairs = shape[0] * shape[1]
        self.pairs += pairs
        flow = read_passages(
            self.judge,
            question.perspectives,
            candidates,
            exclusive=question.sides is not None,
            scale=relevance_scale(self.encoder, self.calibration),
        )
        try:
            table = run(flow, self.recorder, _UNTIMED)
        except (ConfigError, MissingDependency):
            raise
        except Exception as error:
            said = f"{pairs} of {pairs} pairs could not be judged: {error}"
            problem = JudgeError(f"judge {self.judge.name!r}: {said}")
            problem.__cause__ = error
            self.recorder.degrade("judge", said, problem)
            table = np.full(shape, np.nan)
        failed = int(np.isnan(table).sum())
        if failed and len(self.recorder.degradations) == recorded:  # the judge did not say
            self.recorder.degrade("judge", f"{failed} of {pairs} pairs could not be judged")
        self.works = self.works or failed < pairs
        if not self.works and self.pairs >= OUTAGE:
            raise self.outage()
        return table
