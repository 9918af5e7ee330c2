"""Perspectives by rule: no model, English only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.errors import ConfigError
from perspective_rag.extract.alternatives import named_alternatives
from perspective_rag.extract.english import AUXILIARIES, BASE_VERBS, WH_WORDS
from perspective_rag.extract.negation import main_verb
from perspective_rag.extract.settled import invites_perspectives, is_open
from perspective_rag.extract.statement import Statement, as_statement, statement_of
from perspective_rag.flow import Flow
from perspective_rag.types import Extraction, Perspective, Stance

_SUPPORTS = (
    r"(?:support|back|defend|favou?r|agree with|confirm|argue for|is in favou?r of"
    r"|are in favou?r of)"
)
_OPPOSES = (
    r"(?:oppose|undermine|refute|attack|contradict|reject|rebut|counter|dispute|challenge"
    r"|disagree with|argue against|is against|are against)"
)
_OBJECT = (
    r"(?:the |this |that )?(?:following )?"
    r"(?:argument|claim|statement|view|idea|position|sentence|proposal)?"
)
_CARRIED = re.compile(
    r"^(?P<instruction>"
    r"(?:please )?(?:find|show|give|list|search for|look for|retrieve)\b.{0,60}?"
    r"\b(?:that|which|who)\s+(?:would )?"
    rf"(?:(?P<support>{_SUPPORTS})|(?P<oppose>{_OPPOSES}))s?(?:\s+with)?\s*{_OBJECT})"
    r"\s*[:,-]?\s+(?P<root>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_ARGUMENTS = re.compile(
    r"^(?P<instruction>(?:what are |give me |list )?(?:the |some )?(?:main |best )?"
    r"(?:arguments?|reasons?|evidence|case)\s+"
    r"(?:(?P<support>for|in favou?r of|to support)|(?P<oppose>against)))"
    r"\s+(?P<root>.+?)[?.]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class GivenPerspectives:
    """Perspectives named in advance, the same for every question."""

    perspectives: tuple[Perspective, ...]

    def extract(self, question: str) -> Flow[Extraction]:
        """The given perspectives; calls nothing."""
        return Extraction(question, self.perspectives)
        yield  # a flow that needs no step


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


def both_sides(claim: str | Statement) -> tuple[Perspective, Perspective]:
    """A claim and its negation: the perspectives ``support`` and ``oppose`` of one claim."""
    statement = as_statement(claim.strip()) if isinstance(claim, str) else claim
    return (
        Perspective("support", statement.text, "support", statement.text),
        Perspective("oppose", statement.negation, "oppose", statement.text),
    )


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Finds perspectives in the wording of the question.

    In this order: a perspective the query carries ("find a claim that opposes the argument: X",
    "arguments against X"); named alternatives ("A or B", "which is best: A, B or C"); the statement
    and the negation of a yes/no or "should" question, or of a statement.

    It cannot name the alternatives of "what is the best way to ...", knows by its wording alone
    whether a question is contentious (``settled.invites_perspectives``: in doubt it is), reads
    English only, and takes the first main verb it knows for the predicate. What it does not
    understand gets no perspectives.
    """

    def extract(self, question: str) -> Flow[Extraction]:
        """The extraction; calls nothing."""
        return extract_by_rule(question)
        yield  # a flow that needs no step


def extract_by_rule(question: str) -> Extraction:
    """What ``RuleExtractor`` finds, as a plain function."""
    text = " ".join(question.split())
    for pattern in (_CARRIED, _ARGUMENTS):
        if match := pattern.match(text):
            return _carried(match)
    if not invites_perspectives(text):
        return Extraction(text, settled=True)
    if alternatives := named_alternatives(text):
        return Extraction(
            text, tuple(Perspective(f"p{i}", each) for i, each in enumerate(alternatives, start=1))
        )
    claim = statement_of(text) if _is_question(text) else _claim_in(text)
    if claim is None:
        return Extraction(text, settled=not is_open(text))
    return Extraction(text, both_sides(claim))


def _carried(match: re.Match[str]) -> Extraction:
    root = match["root"].strip().strip("\"'“”").strip()
    stance: Stance = "support" if match["support"] else "oppose"
    claim = (statement_of(root) if _is_question(root) else None) or as_statement(root)
    if main_verb(root.split(" ")) is None and len(root.split()) < 4:
        claim = as_statement(f"{root} is a good idea")  # a topic is nothing to agree with yet
    sides = dict(zip(("support", "oppose"), both_sides(claim), strict=True))
    return Extraction(root, (sides[stance],), match["instruction"].strip())


def _is_question(text: str) -> bool:
    first = text.split(" ", 1)[0].lower().rstrip(",:")
    return text.endswith("?") or first in AUXILIARIES or first in WH_WORDS


def _claim_in(text: str) -> Statement | None:
    """A text that is not a question, if it reads as a statement or a demand rather than as
    keywords.
    """
    words = text.split(" ")
    if len(words) < 3:
        return None
    statement = as_statement(text)
    has_verb = main_verb(words) is not None or words[0].lower() in BASE_VERBS
    return statement if has_verb or text.endswith((".", "!")) else None
