"""The questions of an audit, and the sides they are measured on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perspective_rag.errors import CorpusError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.sides import both_sides
from perspective_rag.protocols import Extractor
from perspective_rag.storage.files import json_object, numbered_lines, replace_file
from perspective_rag.text import text_key
from perspective_rag.types import Degradation, Perspective, Stance

_QUESTION_FIELDS = ("question", "query", "input")
_STANCES: tuple[Stance, Stance] = ("support", "oppose")


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """A question, its perspectives, and how a supporter and an opponent would put it.

    ``wordings`` may hold a text for "support" and one for "oppose"; without one, that side is asked
    for in the words of its perspective.
    """

    id: str
    text: str
    perspectives: tuple[Perspective, ...] = ()
    wordings: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def sides(self) -> tuple[Perspective, Perspective] | None:
        """The supporting and the opposing perspective of a question that has exactly two.

        Their ``stance`` tells them apart; where neither has one the first supports. None for
        another number of perspectives, and for two of one stance.
        """
        if len(self.perspectives) != 2:
            return None
        first, second = self.perspectives
        if first.stance is not None and first.stance == second.stance:
            return None
        swapped = first.stance == "oppose" or second.stance == "support"
        return (second, first) if swapped else (first, second)

    def asked(self) -> dict[str, str]:
        """The texts to search with, by wording: "neutral", and for two sides one of each."""
        texts = {"neutral": self.text}
        if self.sides is not None:
            for stance, side in zip(_STANCES, self.sides, strict=True):
                texts[stance] = self.wordings.get(stance) or side.text
        return texts

    def to_dict(self) -> dict[str, Any]:
        """A line of the perspectives file.

        Without the claim: a perspective would be judged by it, whatever its text is edited to.
        """
        perspectives = [
            {"id": each.id, "text": each.text} | ({"stance": each.stance} if each.stance else {})
            for each in self.perspectives
        ]
        line: dict[str, Any] = {"id": self.id, "question": self.text, "perspectives": perspectives}
        return line | ({"wordings": dict(self.wordings)} if self.wordings else {})


def read_audit_questions(path: Path) -> list[AuditQuestion]:
    """The questions of a text file (one a line, ``#`` opens a comment) or of JSON lines (.jsonl);
    either may be gzip'd (.gz).

    A JSON line is ``{"id", "question", "perspectives": [texts or {"id", "text", "stance",
    "claim"}], "wordings": {"support", "oppose"}}``; all but the question may be left out. Raises
    CorpusError with file and line for anything else, and for a file without questions.
    """
    found: dict[str, AuditQuestion] = {}
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            question = _question(json_object(line, place), place, number)
        elif line.lstrip().startswith("#"):
            continue
        elif line.lstrip().startswith(("{", "[")):
            raise CorpusError(f"{place} looks like JSON: JSON lines are read from a .jsonl file")
        else:
            question = AuditQuestion(str(number), " ".join(line.split()))
        if question.id in found:
            raise CorpusError(f"{place}: the id {question.id!r} is there twice")
        found[question.id] = question
    if not found:
        raise CorpusError(f"{path} holds no questions: one a line, or JSON lines, are expected")
    return list(found.values())


def write_audit_questions(questions: Iterable[AuditQuestion], path: Path) -> None:
    """Writes what ``read_audit_questions`` reads, one line a question, to be edited."""
    lines = [json.dumps(each.to_dict(), ensure_ascii=False) + "\n" for each in questions]
    replace_file(path, "".join(lines))


def with_perspectives(
    questions: Sequence[AuditQuestion], extractor: Extractor
) -> tuple[list[AuditQuestion], list[Degradation]]:
    """The questions with perspectives for those that have none yet, and what went wrong.

    A question that is put for one side ("arguments against X") gets that side alone from rules; its
    opposite is added, so that an audit sees both. Two given perspectives that are the question's
    own statement and its negation get the claim they share, so that one verdict serves both.
    """
    result, problems = [], []
    for question in questions:
        if question.perspectives:
            result.append(replace(question, perspectives=_claimed(question)))
            continue
        recorder = Recorder()
        extraction = run(extractor.extract(question.text), recorder)
        problems += recorder.degradations
        sides = extraction.perspectives
        if len(sides) == 1 and sides[0].claim is not None:
            sides = both_sides(sides[0].claim)
        result.append(replace(question, perspectives=sides))
    return result, problems


def _claimed(question: AuditQuestion) -> tuple[Perspective, ...]:
    by_rule = extract_by_rule(question.text).perspectives
    of_claim = {text_key(each.text): each for each in by_rule if each.claim is not None}
    keys = [text_key(each.text) for each in question.perspectives]
    if len(of_claim) != 2 or set(keys) != set(of_claim) or len(keys) != 2:
        return question.perspectives
    return tuple(
        replace(each, stance=of_claim[key].stance, claim=of_claim[key].claim)
        if each.stance in (None, of_claim[key].stance)
        else each
        for each, key in zip(question.perspectives, keys, strict=True)
    )


def _question(row: Mapping[str, Any], place: str, number: int) -> AuditQuestion:
    text = next((row[name] for name in _QUESTION_FIELDS if name in row), None)
    if not isinstance(text, str) or not text.strip():
        raise CorpusError(f"{place}: no question; its fields: {', '.join(row)}")
    given = row.get("perspectives") or []
    if not isinstance(given, list):
        raise CorpusError(f"{place}: perspectives must be a list, got {given!r:.80}")
    wordings = row.get("wordings") or {}
    if not isinstance(wordings, dict) or not wordings.keys() <= set(_STANCES):
        raise CorpusError(f'{place}: wordings must be {{"support": text, "oppose": text}}')
    return AuditQuestion(
        str(row.get("id", number)),
        " ".join(text.split()),
        tuple(_perspective(each, place, n) for n, each in enumerate(given, start=1)),
        {name: str(value) for name, value in wordings.items() if str(value).strip()},
    )


def _perspective(given: Any, place: str, number: int) -> Perspective:
    row = {"text": given} if isinstance(given, str) else given
    text = row.get("text") if isinstance(row, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise CorpusError(f"{place}: a perspective is not a text: {given!r:.80}")
    stance = row.get("stance")
    if stance not in (None, *_STANCES):
        raise CorpusError(f'{place}: stance must be "support" or "oppose", got {stance!r}')
    return Perspective(str(row.get("id", f"p{number}")), text.strip(), stance)
