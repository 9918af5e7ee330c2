"""How an audit has passages judged: by the rules of the pipeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.pairs import not_judged
from perspective_rag.judge.stream import Pair, judge_stream, no_verdicts
from perspective_rag.judge.support import (
    read_passages,
    related,
    relevance_floor,
    relevance_scale,
    rule_for,
)
from perspective_rag.options import Calibration
from perspective_rag.protocols import Embedder, Judge
from perspective_rag.redaction import raise_scrubbed
from perspective_rag.search.candidates import with_names
from perspective_rag.search.search import nearness
from perspective_rag.types import Candidate, Degradation, ListingRule, Passage, Vector

BATCH = 16
OUTAGE = 32
"""At least this many pairs without a verdict before the first one: the judge is down."""

Key = tuple[str, str]
Support = Mapping[tuple[Key, str], float]
"""P(support) by passage (title and text) and perspective id; what was not judged is absent."""


def key_of(passage: Passage) -> Key:
    """What makes two passages one for an audit."""
    return passage.title, passage.text


def rule_of(
    question: AuditQuestion,
    judge: Judge,
    min_support: float | None,
    calibration: Calibration | None,
) -> ListingRule:
    """When a passage is listed under a perspective of the question."""
    return rule_for(
        judge,
        question.perspectives,
        exclusive=question.sides is not None,
        min_support=min_support,
        calibration=calibration,
    )


@dataclass(slots=True)
class Reading:
    """What a judge says of the passages of each question, read as the pipeline reads them.

    Two sides that contradict each other are read together by a judge that can; what is not about
    the question (``encoder``'s relevance floor, or that of its ``calibration``) supports nothing
    and is not judged. An encoder without a floor is not used: nobody knows what its cosines mean.
    """

    judge: Judge
    encoder: Embedder | None = None
    calibration: Calibration | None = None
    judged_pairs: int = 0
    problems: list[Degradation] = field(default_factory=list)
    _candidates: dict[Key, Candidate] = field(default_factory=dict)
    _question: AuditQuestion | None = None

    def judged(
        self,
        asked: Sequence[tuple[AuditQuestion, Sequence[Passage]]],
        *,
        strict: bool,
        on_question: Callable[[int], None],
    ) -> list[Support]:
        """The support of the passages of each question, each passage judged once.

        Raises JudgeError when the first ``OUTAGE`` pairs (or all there are) could not be judged,
        and in strict mode whatever fails.
        """
        found: list[dict[tuple[Key, str], float]] = [{} for _ in asked]
        here: dict[tuple[Key, str], float] = {}
        failed = 0

        def batches() -> Iterator[list[Pair]]:
            nonlocal here
            for number, (question, passages) in enumerate(asked):
                on_question(number)
                here = found[number]
                about = self._about(question, passages, here, strict)
                for start in range(0, len(about), BATCH):
                    batch = about[start : start + BATCH]
                    yield [(passage, p) for passage in batch for p in question.perspectives]

        stream = judge_stream(
            self.judge,
            batches(),
            outage=OUTAGE,
            only_at_start=True,
            strict=strict,
            read=self._read,
        )
        for batch in stream:
            self.judged_pairs += len(batch.pairs)
            self.problems += batch.degradations
            failed += len(batch.failed)
            for (passage, perspective), p in zip(batch.pairs, batch.support, strict=True):
                if not math.isnan(p):
                    here[key_of(passage), perspective.id] = float(p)
        if self.judged_pairs == failed > 0:
            raise no_verdicts(self.judge, failed, self.problems)
        return list(found)

    def _about(
        self,
        question: AuditQuestion,
        passages: Sequence[Passage],
        support: dict[tuple[Key, str], float],
        strict: bool,
    ) -> list[Passage]:
        """The passages that are about the question; ``support`` of the others becomes 0."""
        self._question = question
        candidates = self._measured(question, passages, strict)
        self._candidates = {key_of(each.passage): each for each in candidates}
        floor = relevance_floor(self.encoder, None, self.calibration)
        about = [True] * len(candidates)
        if floor is not None:
            about = related(candidates, floor).tolist()
        for passage, there in zip(passages, about, strict=True):
            if not there:
                support |= {(key_of(passage), p.id): 0.0 for p in question.perspectives}
        return [passage for passage, there in zip(passages, about, strict=True) if there]

    def _measured(
        self, question: AuditQuestion, passages: Sequence[Passage], strict: bool
    ) -> list[Candidate]:
        """The passages with their cosine to the question, where the encoder's is known."""
        plain = [Candidate(passage, 0.0) for passage in passages]
        known = relevance_floor(self.encoder, None, self.calibration) is not None
        if self.encoder is None or not known or not passages:
            return plain
        try:
            own = np.asarray(self.encoder.embed_queries([question.text]), dtype=float)
            near = nearness(self.encoder, question.text, own, passages).tolist()
        except Exception as error:
            if strict:
                raise_scrubbed(error)
            message = f"{question.text}: relevance could not be measured: {error}"
            self.problems.append(Degradation("rank", message, error))
            return plain
        measured = [
            Candidate(passage, value, {"relevance": value})
            for passage, value in zip(passages, near, strict=True)
        ]
        return with_names(question.text, measured)

    def _read(self, judge: Judge, pairs: Sequence[Pair]) -> Flow[Vector]:
        """P(support) of the pairs of one batch of the present question, NaN where it failed."""
        assert self._question is not None
        sides = self._question.perspectives
        read = [self._candidates[key_of(passage)] for passage, _ in pairs[:: len(sides)]]
        exclusive = self._question.sides is not None
        scale = relevance_scale(self.encoder, self.calibration)
        try:
            table = yield from read_passages(judge, sides, read, exclusive=exclusive, scale=scale)
            return np.asarray(table.ravel())
        except (ConfigError, MissingDependency):
            raise
        except Exception as error:
            not_judged(judge.name, len(pairs), len(pairs), error)
            return np.full(len(pairs), np.nan)
