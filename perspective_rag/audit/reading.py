"""How an audit has passages judged: by the rules of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.errors import ConfigError, JudgeError, MissingDependency
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
from perspective_rag.protocols import Embedder, Judge
from perspective_rag.redaction import raise_scrubbed
from perspective_rag.search.candidates import with_names
from perspective_rag.search.search import nearness
from perspective_rag.types import Candidate, Degradation, ListingRule, Matrix, Passage

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
        pairs = failed = 0
        for number, (question, passages) in enumerate(asked):
            on_question(number)
            about = self._about(question, passages, found[number], strict)
            for start in range(0, len(about), BATCH):
                batch = about[start : start + BATCH]
                table = self._read(question, batch, strict)
                pairs, failed = pairs + table.size, failed + int(np.isnan(table).sum())
                if pairs == failed >= OUTAGE:
                    raise self._error(f"judged none of {failed} pairs", self.problems)
                for candidate, row in zip(batch, table.tolist(), strict=True):
                    for perspective, p in zip(question.perspectives, row, strict=True):
                        if not np.isnan(p):
                            found[number][key_of(candidate.passage), perspective.id] = p
        self.judged_pairs += pairs
        if pairs == failed > 0:
            raise self._error(f"judged none of {failed} pairs", self.problems)
        return list(found)

    def _about(
        self,
        question: AuditQuestion,
        passages: Sequence[Passage],
        support: dict[tuple[Key, str], float],
        strict: bool,
    ) -> list[Candidate]:
        """What is about the question; ``support`` of the other passages becomes 0."""
        candidates = self._measured(question, passages, strict)
        floor = relevance_floor(self.encoder, None, self.calibration)
        if floor is None:
            return candidates
        about = related(candidates, floor).tolist()
        for passage, there in zip(passages, about, strict=True):
            if not there:
                support |= {(key_of(passage), p.id): 0.0 for p in question.perspectives}
        return [each for each, there in zip(candidates, about, strict=True) if there]

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

    def _read(
        self, question: AuditQuestion, candidates: Sequence[Candidate], strict: bool
    ) -> Matrix:
        """P(support), shape (candidates, perspectives), NaN where it failed."""
        shape = len(candidates), len(question.perspectives)
        recorder = Recorder()
        flow = read_passages(
            self.judge,
            question.perspectives,
            candidates,
            exclusive=question.sides is not None,
            scale=relevance_scale(self.encoder, self.calibration),
        )
        try:
            # Loading a large model takes longer than a request may.
            table = run(flow, recorder, Limits(timeout=None))
        except (ConfigError, MissingDependency):
            raise
        except Exception as error:
            table = np.full(shape, np.nan)
            recorder.degrade(
                "judge", f"{table.size} of {table.size} pairs could not be judged", error
            )
        failed = int(np.isnan(table).sum())
        if failed and not recorder.degradations:
            recorder.degrade("judge", f"{failed} of {table.size} pairs could not be judged")
        found = [
            replace(each, message=f"{each.message}: {each.error.__cause__ or each.error}")
            if each.error
            else each
            for each in recorder.degradations
        ]
        if strict and found:
            raise self._error(f"did not judge {failed} of {table.size} pairs", found)
        self.problems += found
        return table

    def _error(self, problem: str, degradations: Sequence[Degradation]) -> JudgeError:
        errors = (each.error for each in degradations if each.error)
        cause = next((each.__cause__ or each for each in errors), None)
        error = JudgeError(f"{self.judge.name} {problem}: {cause or 'it gave no reason'}")
        error.__cause__ = cause
        return error
