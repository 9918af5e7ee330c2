"""Pairs made to mislead a judge that only looks at words: concessions, reports, other demands."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from perspective_rag import ConfigError
from perspective_rag.addons import negate
from perspective_rag_train.data import LabelledPair

KINDS = ("concession", "report", "other demand")

_REPLIES = (
    "Critics say that {other}. {own}",
    "Some people argue that {other}. {own}",
    'Opponents claim: "{other}" {own}',
    "It is often said that {other}. However, {own}",
    "You write: {other}. I disagree. {own}",
    "While {other}, {own}",
    "One might think that {other}. But {own}",
)
_REPORTS = (
    "A survey of {count} adults found that {share}% agree that {statement}.",
    "In a poll, {share} percent said {statement}; {rest} percent disagreed.",
    "Lawmakers debated whether {statement}.",
    "The question of whether {statement} divides experts.",
    "{count} people signed a petition on whether {statement}.",
    "The committee will meet next week to discuss whether {statement}.",
)
_CONCEDED_WORDS = 35
_AROUND_WORDS = 40


@dataclass(frozen=True, slots=True)
class HardSource:
    """``rows`` pairs made of a stage's own.

    ``kind`` "concession": an argument of the other side, or its claim, is reported and then
    answered by an argument, whose label counts. "report": who holds or debates the statement,
    without an argument, within other text: neutral. "other demand": an argument, half of them
    after their own statement, beside a statement of another topic: neutral. ``from_sources`` says
    whose pairs lend arguments and statements.
    """

    kind: Literal["concession", "report", "other demand"]
    rows: int = 1000
    from_sources: tuple[str, ...] = ()
    smoothing: float = 0.1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"kind of hard pairs must be one of {KINDS}, got {self.kind!r}")


def hard_pairs(source: HardSource, pairs: Sequence[LabelledPair], seed: int) -> list[LabelledPair]:
    """The pairs that a recipe's ``[[stage.hard]]`` asks for; ConfigError where nothing fits."""
    rng = random.Random(f"{seed}-{source.kind}")
    chosen = [p for p in pairs if not source.from_sources or p.source in source.from_sources]
    makers: dict[str, Callable[[Sequence[LabelledPair], random.Random], _Maker]] = {
        "concession": _concessions,
        "report": _reports,
        "other demand": _other_demands,
    }
    make = makers[source.kind]([p for p in chosen if p.label != "neutral"], rng)
    return [
        LabelledPair(
            document,
            statement,
            label,
            f"made: {source.kind}",
            smoothing=source.smoothing,
        )
        for document, statement, label in (make() for _ in range(source.rows))
    ]


_Maker = Callable[[], tuple[str, str, str]]


def _concessions(pairs: Sequence[LabelledPair], rng: random.Random) -> _Maker:
    arguments: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        arguments.setdefault(pair.statement, {}).setdefault(pair.label, []).append(pair.document)
    disputed = [statement for statement, sides in arguments.items() if len(sides) == 2]
    if not disputed:
        raise ConfigError("concessions need statements with arguments of both sides")

    def make() -> tuple[str, str, str]:
        statement = rng.choice(disputed)
        label, rival = rng.sample(("support", "oppose"), 2)
        if rng.random() < 0.7:
            other = _first_words(rng.choice(arguments[statement][rival]))
        else:
            other = statement if rival == "support" else negate(statement)
        own = rng.choice(arguments[statement][label])
        return rng.choice(_REPLIES).format(other=_clause(other), own=own), statement, label

    return make


def _reports(pairs: Sequence[LabelledPair], rng: random.Random) -> _Maker:
    _several_statements(pairs)

    def make() -> tuple[str, str, str]:
        statement = rng.choice(pairs).statement
        share = rng.randrange(30, 70)
        report = rng.choice(_REPORTS).format(
            statement=_clause(statement if rng.random() < 0.7 else negate(statement)),
            count=rng.randrange(500, 3000),
            share=share,
            rest=95 - share,
        )
        around = " ".join(rng.choice(pairs).document.split()[:_AROUND_WORDS])
        parts = [report, around]
        rng.shuffle(parts)
        return " ".join(parts), statement, "neutral"

    return make


def _other_demands(pairs: Sequence[LabelledPair], rng: random.Random) -> _Maker:
    _several_statements(pairs)

    def make() -> tuple[str, str, str]:
        pair = rng.choice(pairs)
        other = rng.choice(pairs)
        for _ in range(100):
            if other.statement != pair.statement and (other.topic != pair.topic or not pair.topic):
                break
            other = rng.choice(pairs)
        document = pair.document if rng.random() < 0.5 else f"{pair.statement} {pair.document}"
        return document, other.statement, "neutral"

    return make


def _several_statements(pairs: Sequence[LabelledPair]) -> None:
    if len({pair.statement for pair in pairs}) < 2:
        raise ConfigError("hard pairs need at least two statements with an argument")


def _first_words(text: str) -> str:
    return " ".join(text.split()[:_CONCEDED_WORDS])


def _clause(sentence: str) -> str:
    """The sentence as it stands within another; "I" and acronyms keep their capitals."""
    first = re.split(r"\W", sentence, maxsplit=1)[0]
    keep = first == "I" or (len(first) > 1 and not first[1:].islower())
    return (sentence if keep else sentence[:1].lower() + sentence[1:]).rstrip(".")
