"""When a reading of a question counts as right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perspective_rag import Extraction

EXPECTATIONS = ("sides", "none", "open")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the sides that a good reading gives, each in its accepted wordings."""

    id: str
    form: str
    text: str
    expect: str
    sides: tuple[frozenset[str], ...]


def question_of(row: Mapping[str, Any]) -> Question:
    """A line of the data; raises ValueError for one of another shape."""
    try:
        sides = tuple(frozenset(plain(each) for each in side) for side in row["sides"])
        made = Question(row["id"], row["form"], row["question"], row["expect"], sides)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no line of question_forms: {error!r}") from error
    if made.expect not in EXPECTATIONS:
        raise ValueError(f"{made.id} expects {made.expect!r}, not one of {EXPECTATIONS}")
    return made


def plain(text: str) -> str:
    """A wording without regard to case and end punctuation."""
    return " ".join(text.split()).rstrip(".?! ").lower()


def passes(question: Question, found: Extraction) -> bool:
    """True when each listed side is matched by one of its wordings and nothing is added.

    Of a form ``one_side`` the first is enough, and its opposite may be there too. "none" is met by
    a question that invites no perspectives, "open" by one treated as open.
    """
    got = [plain(each.text) for each in found.perspectives]
    if question.expect == "none":
        return not got and not found.invites_perspectives
    if question.expect == "open":
        return not got and found.kind == "open"
    if question.form == "one_side":
        return bool(got) and got[0] in question.sides[0] and len(got) <= 2
    met = all(any(each in side for each in got) for side in question.sides)
    return met and len(got) == len(question.sides)


def by_form(questions: Sequence[Question], passed: Sequence[bool]) -> dict[str, dict[str, int]]:
    """Passes and questions of each form, forms in alphabetical order."""
    forms: dict[str, dict[str, int]] = {}
    for question, right in sorted(
        zip(questions, passed, strict=True), key=lambda pair: pair[0].form
    ):
        counts = forms.setdefault(question.form, {"passed": 0, "questions": 0})
        counts["passed"] += right
        counts["questions"] += 1
    return forms
