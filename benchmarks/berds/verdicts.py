"""The judge that scores: every pair of passage and perspective is judged once and kept."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.berds.deciding import Decision
from benchmarks.berds.questions import Question
from perspective_rag import (
    ConfigError,
    JudgeError,
    MissingDependency,
    Passage,
    Perspective,
    run,
)
from perspective_rag.flow import Limits, Recorder
from perspective_rag.judging import in_range
from perspective_rag.ledger import Ledger
from perspective_rag.protocols import Judge
from perspective_rag.types import Degradation

Asked = Mapping[str, Mapping[str, Passage]]
"""For each question's id, the passages to be judged against its perspectives, by their id."""

BATCH = 8
UNTIMED = Limits(timeout=None)
"""Loading a large model, or a batch of it on a CPU, takes longer than a request may."""

OUTAGE = 32
"""So many failures before the first verdict of a run are the judge's, not the pairs'."""


@dataclass(slots=True)
class Verdicts:
    """P(support) of pairs, from ``ledger`` where they are known and from ``judge`` else.

    ``decision`` says from which P on a passage supports; None is the judge's own threshold.
    ``as_published`` puts the title after the passage's text, as the authors' evaluation code does;
    the paper's judge is shown the document. ``failures`` lists pairs that could not be judged: they
    count as unsupported, are not kept, and are tried again by the next run.
    """

    judge: Judge
    ledger: Ledger
    as_published: bool = False
    decision: Decision | None = None
    failures: list[str] = field(default_factory=list)
    judged: int = 0

    @classmethod
    def open(
        cls,
        judge: Judge,
        identity: Mapping[str, Any],
        folder: Path,
        *,
        as_published: bool,
        decision: Decision | None = None,
    ) -> Verdicts:
        """The verdicts of a judge with those kept in ``folder``; the threshold is no part of it."""
        key = {"judge": {name: identity[name] for name in identity if name != "threshold"}}
        ledger = Ledger(folder, f"verdicts {judge.name.rsplit('/', 1)[-1]}", key)
        return cls(judge, ledger, as_published, decision)

    def __enter__(self) -> Verdicts:
        return self

    def __exit__(self, *raised: object) -> None:
        self.ledger.close()

    def missing(self, questions: Sequence[Question], asked: Asked) -> int:
        """How many pairs are still to be judged."""
        pairs = {
            self._key(passage, text)
            for question in questions
            for passage in asked.get(question.id, {}).values()
            for text in question.perspectives
        }
        return sum(key not in self.ledger.values for key in pairs)

    def complete(
        self,
        questions: Sequence[Question],
        asked: Asked,
        *,
        strict: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Judges what is missing, batch by batch; ``on_progress`` is given the pairs of each.

        A batch that fails is recorded in ``failures``; in strict mode JudgeError is raised, and in
        any mode after ``OUTAGE`` failures without a verdict: the judge is down.
        """
        for question in questions:
            for texts, passages in self._open_batches(question, asked.get(question.id, {})):
                self._judge(question, texts, passages, strict)
                if on_progress is not None:
                    on_progress(len(passages) * len(texts))

    def gold(self, question: Question, passages: Mapping[str, Passage]) -> dict[str, set[str]]:
        """For each perspective, by its place, the ids of the passages that support it."""
        decision = self.decision or Decision(self.judge.threshold)
        gold: dict[str, set[str]] = {str(n): set() for n in range(len(question.perspectives))}
        for identity, passage in passages.items():
            values = [
                self.ledger.values.get(self._key(passage, text), 0.0)
                for text in question.perspectives
            ]
            for place, supports in enumerate(decision.supported(values)):
                if supports:
                    gold[str(place)].add(identity)
        return gold

    def shown(self, passage: Passage) -> str:
        """What the judge reads of a passage."""
        if self.as_published and passage.title:
            return f"{passage.text} {passage.title}"
        return passage.text

    def _open_batches(
        self, question: Question, passages: Mapping[str, Passage]
    ) -> Iterator[tuple[tuple[str, ...], list[Passage]]]:
        """Perspectives with the passages that lack a verdict on exactly these: no pair twice."""
        groups: dict[tuple[str, ...], dict[str, Passage]] = {}
        for passage in passages.values():
            texts = tuple(
                text
                for text in question.perspectives
                if self._key(passage, text) not in self.ledger.values
            )
            if texts:
                groups.setdefault(texts, {}).setdefault(self.shown(passage), passage)
        for texts, found in groups.items():
            waiting = list(found.values())
            for start in range(0, len(waiting), BATCH):
                yield texts, waiting[start : start + BATCH]

    def _judge(
        self, question: Question, texts: Sequence[str], passages: list[Passage], strict: bool
    ) -> None:
        read = [Passage(str(place), self.shown(each)) for place, each in enumerate(passages)]
        perspectives = [Perspective(f"p{place}", text) for place, text in enumerate(texts)]
        book = Recorder()
        try:
            verdicts = run(self.judge.judge(perspectives, read), book, UNTIMED)
            matrix = in_range(verdicts, (len(read), len(texts)), self.judge.name)
        except Exception as error:
            if strict or isinstance(error, (ConfigError, MissingDependency)):
                raise JudgeError(f"{question.id}: {error}") from error
            book.degradations.append(Degradation("judge", str(error), error))
            matrix = np.full((len(read), len(texts)), math.nan)
        new = {}
        for i, passage in enumerate(passages):
            for j, text in enumerate(texts):
                value, key = float(matrix[i, j]), self._key(passage, text)
                if math.isnan(value):
                    self.failures.append(f"{question.id}: {passage.id} / {text}")
                else:
                    new[key] = round(value, 5)
        if strict and np.isnan(matrix).any():
            count = int(np.isnan(matrix).sum())
            raise JudgeError(f"{question.id}: {count} pairs without a verdict")
        self.judged += len(new)
        self.ledger.add(new.items())
        if not self.judged and len(self.failures) >= OUTAGE:
            cause = next((each.error for each in book.degradations if each.error), None)
            raise JudgeError(
                f"{self.judge.name} judged none of {len(self.failures)} pairs, the last with "
                f"{cause or 'no reason given'}; the same command goes on once it answers"
            ) from cause

    def _key(self, passage: Passage, statement: str) -> str:
        digest = hashlib.sha256()
        for text in (self.shown(passage), statement):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()[:24]
