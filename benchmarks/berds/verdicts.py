"""The judge that scores: every pair of passage and perspective is judged once and kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.berds.deciding import Decision
from benchmarks.berds.questions import Question
from perspective_rag import Passage, Perspective
from perspective_rag.addons import Engine, Pair, fingerprint
from perspective_rag.extend import Judge, Vector
from perspective_rag_train.append_log import AppendLog
from perspective_rag_train.stream import judge_stream

Asked = Mapping[str, Mapping[str, Passage]]
"""For each question's id, the passages to be judged against its perspectives, by their id."""

BATCH = 8
OUTAGE = 32
"""At least this many pairs without a verdict before the first one: the judge is down."""


@dataclass(slots=True)
class Verdicts:
    """P(support) of pairs, from ``ledger`` where they are known and from ``judge`` else.

    ``decision`` says from which P on a passage supports; None is the judge's own threshold.
    ``as_published`` puts the title after the passage's text, as the authors' evaluation code does;
    the paper's judge is shown the document. ``engine`` is where the judge works (None: in this
    process). ``failures`` lists pairs that could not be judged: they count as unsupported, are not
    kept, and are tried again by the next run.
    """

    judge: Judge
    ledger: AppendLog
    as_published: bool = False
    decision: Decision | None = None
    engine: Engine | None = None
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
        engine: Engine | None = None,
    ) -> Verdicts:
        """The verdicts of a judge with those kept in ``folder``; the threshold is no part of it."""
        key = {"judge": {name: identity[name] for name in identity if name != "threshold"}}
        ledger = AppendLog(folder, f"verdicts {judge.name.rsplit('/', 1)[-1]}", key)
        return cls(judge, ledger, as_published, decision, engine)

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

        Pairs without a verdict are in ``failures``. Raises JudgeError when the judge is down, that
        is for ``OUTAGE`` pairs without a verdict before the first one, and in strict mode for any
        pair without one.
        """
        batches = (
            batch
            for question in questions
            for batch in self._batches(question, asked.get(question.id, {}))
        )
        for batch in judge_stream(
            self.judge,
            _each_once(batches),
            outage=OUTAGE,
            only_at_start=True,
            log=self,
            strict=strict,
            engine=self.engine,
        ):
            self.judged += len(batch.pairs) - len(batch.failed)
            self.failures += [
                f"{perspective.id}: {passage.id} / {perspective.text}"
                for passage, perspective in batch.failed
            ]
            if on_progress is not None:
                on_progress(len(batch.pairs))

    def knows(self, pair: Pair) -> bool:
        """Whether the pair has a verdict; what could not be judged is tried again."""
        passage, perspective = pair
        return _key(passage.text, perspective.text) in self.ledger.values

    def add(self, pairs: Sequence[Pair], support: Vector) -> None:
        """Keeps the verdicts of a batch."""
        self.ledger.add(
            (_key(passage.text, perspective.text), round(float(p), 5))
            for (passage, perspective), p in zip(pairs, support, strict=True)
            if not math.isnan(p)
        )

    def resume_hint(self) -> str:
        """How many verdicts there are, and how to go on."""
        return f"the same command goes on from the {len(self.ledger.values)} verdicts that are kept"

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

    def _batches(self, question: Question, passages: Mapping[str, Passage]) -> Iterator[list[Pair]]:
        """The question's pairs as the judge reads them, each once, some passages at a time."""
        perspectives = [
            Perspective(f"{question.id} p{place}", text)
            for place, text in enumerate(dict.fromkeys(question.perspectives))
        ]
        texts: dict[str, str] = {}
        for each in passages.values():
            texts.setdefault(self.shown(each), each.id)
        read = [Passage(identity, text) for text, identity in texts.items()]
        waiting = [
            passage
            for passage in read
            if not all(self.knows((passage, each)) for each in perspectives)
        ]
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            yield [(passage, each) for passage in batch for each in perspectives]

    def _key(self, passage: Passage, statement: str) -> str:
        return _key(self.shown(passage), statement)


def _each_once(batches: Iterable[list[Pair]]) -> Iterator[list[Pair]]:
    """The batches without pairs that an earlier one had: those may still be in work."""
    seen: set[str] = set()
    for batch in batches:
        keys = [_key(passage.text, perspective.text) for passage, perspective in batch]
        yield [pair for pair, key in zip(batch, keys, strict=True) if key not in seen]
        seen.update(keys)


def _key(read: str, statement: str) -> str:
    return fingerprint(read, statement, digits=24)
