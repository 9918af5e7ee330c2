"""Perspectives by rule: no model, English only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.errors import ConfigError
from perspective_rag.extract.negation import negate
from perspective_rag.extract.reading import Reading, read
from perspective_rag.extract.statement import Statement, as_statement
from perspective_rag.types import Extraction, Perspective


@dataclass(frozen=True, slots=True)
class GivenPerspectives:
    """Perspectives named in advance, the same for every question."""

    perspectives: tuple[Perspective, ...]

    def extract(self, question: str) -> Extraction:
        """The given perspectives."""
        return Extraction(
            question,
            self.perspectives,
            kind="sides" if exclude_each_other(self.perspectives) else "alternatives",
            exclusive=exclude_each_other(self.perspectives),
        )


def exclude_each_other(perspectives: Sequence[Perspective]) -> bool:
    """True where each perspective is one side of a claim, and some claim has both of its sides."""
    sides: dict[str, set[str]] = {}
    for each in perspectives:
        if each.claim is None or each.stance is None:
            return False
        sides.setdefault(each.claim, set()).add(each.stance)
    return any(len(stances) == 2 for stances in sides.values())


def as_perspectives(given: Sequence[Perspective | str]) -> tuple[Perspective, ...]:
    """Perspectives from texts or Perspectives; texts get the ids p1, p2, ...

    Raises ConfigError for anything else, a text that is empty, and an id given twice.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ConfigError(f"perspectives must be a list of texts or Perspectives, got {given!r}")
    made = []
    for number, item in enumerate(given, start=1):
        if isinstance(item, str):
            item = Perspective(f"p{number}", item)
        if not isinstance(item, Perspective) or not item.text.strip():
            raise ConfigError(f"a perspective must be a text that is not empty, got {item!r}")
        made.append(item)
    if len({item.id for item in made}) < len(made):
        raise ConfigError(f"perspectives must have different ids, got {[p.id for p in made]}")
    return tuple(made)


def both_sides(claim: str | Statement, *, number: int = 1) -> tuple[Perspective, Perspective]:
    """A claim and its opposite: the perspectives ``support`` and ``oppose`` of one claim.

    A text that the rules cannot negate is denied as a whole. The ids of a second claim of the same
    question end in its ``number``.
    """
    if isinstance(claim, str):
        text = claim.strip()
        claim = as_statement(text) or Statement(text, negate(text))
    end = "" if number == 1 else str(number)
    return (
        Perspective(f"support{end}", claim.text, "support", claim.text),
        Perspective(f"oppose{end}", claim.negation, "oppose", claim.text),
    )


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Finds perspectives in the wording of the question.

    In this order: what invites no perspectives (small talk, tasks, the asker's own affairs, facts
    to look up, another language); a side that the question asks for ("arguments against X"); named
    alternatives ("A or B", "which is best: A, B or C"); the statement and the opposite of a yes/no
    question, a survey question, a reported view, a demand or a statement. A side that fails a
    check (``sanity.sound``) is dropped, and the question is open. ``Extraction.kind`` and
    ``.reading`` say how the question was read.

    The rules cannot name the answers to "what is the best way to ...", and know by its wording
    alone whether a question is contentious: in doubt it is. ``language`` other than English gets no
    perspectives by rule, and the reading says so.
    """

    language: str = "en"

    def extract(self, question: str) -> Extraction:
        """The extraction."""
        return extract_by_rule(question, language=self.language)


def extract_by_rule(question: str, *, language: str = "en") -> Extraction:
    """What ``RuleExtractor`` finds, as a plain function."""
    found = read(question, language=language)
    perspectives = _perspectives(found)
    return Extraction(
        found.root,
        perspectives,
        found.instruction,
        kind=found.kind,
        reading=found.explanation,
        exclusive=len(perspectives) == 2 or (found.kind == "sides" and len(perspectives) > 1),
    )


def _perspectives(found: Reading) -> tuple[Perspective, ...]:
    if found.alternatives:
        return as_perspectives(found.alternatives)
    sides = [
        side
        for number, claim in enumerate(found.claims, start=1)
        for side in both_sides(claim, number=number)
    ]
    return tuple(side for side in sides if found.stance in (None, side.stance))
