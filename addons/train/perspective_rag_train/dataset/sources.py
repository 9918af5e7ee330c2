"""What a data set is made from: opposing documents, survey questions, debate questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from perspective_rag import CorpusError
from perspective_rag.addons import fingerprint, json_object, numbered_lines, statement_of

Kind = Literal["documents", "survey", "debate", "answers"]

_SHAPES = (
    '{"documents": [text, text]}, {"question", "options": [...]}, {"question", "answers": [...]} '
    'or {"question", "statement"}'
)


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to make a question of.

    ``texts`` are two opposing documents (kind "documents"), the options of a survey question
    ("survey"), the answers to a debate question ("answers"), or its supporting statement
    ("debate"). ``question`` is empty for documents.
    """

    id: str
    kind: Kind
    texts: tuple[str, ...]
    question: str = ""

    @property
    def digest(self) -> str:
        """Changes with everything a model is shown of it, and not with its id."""
        return fingerprint(self.kind, self.question, self.texts, digits=24)


def read_sources(path: Path) -> list[Source]:
    """The sources in a JSON lines file (``.gz`` or not); the kinds may be mixed.

    A line is ``{"documents": [a, b]}`` that oppose each other, ``{"question", "options"}`` of a
    survey, ``{"question", "answers"}`` of a debate with answers, or ``{"question", "statement"}``
    of a yes/no debate; a yes/no question alone gets its statement by rule. ``id`` may be given.
    Documents are texts or objects with "text". Raises CorpusError with file and line for anything
    else.
    """
    found: dict[str, Source] = {}
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        source = _source(json_object(line, place), place, number)
        if source.id in found:
            raise CorpusError(f"{place}: the id {source.id!r} is there twice")
        found[source.id] = source
    if not found:
        raise CorpusError(f"{path} holds nothing to make questions of; a line is {_SHAPES}")
    return list(found.values())


def _source(row: Mapping[str, Any], place: str, number: int) -> Source:
    identity = str(row.get("id", number))
    if "documents" in row:
        documents = _texts(row["documents"], place)
        if len(documents) != 2:
            raise CorpusError(f"{place}: two opposing documents expected, got {len(documents)}")
        return Source(identity, "documents", documents)
    question = row.get("question")
    if not isinstance(question, str) or not question.strip():
        raise CorpusError(f"{place} has fields {', '.join(row)}; expected {_SHAPES}")
    question = " ".join(question.split())
    for field, kind in (("options", "survey"), ("answers", "answers")):
        if field in row:
            texts = _texts(row[field], place)
            if len(texts) < 2:
                raise CorpusError(f"{place}: at least two {field} expected, got {len(texts)}")
            return Source(identity, kind, texts, question)  # type: ignore[arg-type]
    given = row.get("statement")
    by_rule = statement_of(question)
    statement = given if isinstance(given, str) and given.strip() else by_rule and by_rule.text
    if not statement:
        raise CorpusError(
            f"{place}: {question!r} is no yes/no question: give its answers, or a statement"
        )
    return Source(identity, "debate", (" ".join(statement.split()),), question)


def _texts(given: Any, place: str) -> tuple[str, ...]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise CorpusError(f"{place}: expected a list of texts, got {given!r:.80}")
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in given]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise CorpusError(f"{place}: expected a list of texts, got {texts!r:.120}")
    return tuple(str(text).strip() for text in texts)
