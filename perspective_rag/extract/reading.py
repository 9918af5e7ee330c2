"""How a question is read by rule: its kind, and the claims or alternatives it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perspective_rag.extract.alternatives import named_alternatives
from perspective_rag.extract.carried import carried_side
from perspective_rag.extract.cleaning import cleaned, glued, shortened, unglued
from perspective_rag.extract.context import antecedents, resolved, sentences
from perspective_rag.extract.english import WH_WORDS, bare
from perspective_rag.extract.kinds import asks_for_a_word, is_code, is_open, kind_of
from perspective_rag.extract.language import LANGUAGES, check_language, is_english
from perspective_rag.extract.leading import suggested
from perspective_rag.extract.options import listed_options
from perspective_rag.extract.sanity import sound_sides
from perspective_rag.extract.statement import Statement, auxiliary_of, statement_of
from perspective_rag.extract.topics import motion, poles, topic_sides, whole
from perspective_rag.extract.unwrap import core_of, trimmed
from perspective_rag.extract.verdicts import asks_verdict, contrasted, planned
from perspective_rag.types import Kind, Stance

_SAID: dict[Kind, str] = {
    "open": "an open question, whose wording names no sides",
    "factual": "a question of fact, with an answer to look up",
    "personal": "a question about your own affairs",
    "request": "a task or a piece of code, not a question with sides",
    "chat": "small talk",
}
MOST_CLAIMS = 2
_IS = re.compile(r"\b([Ii]t|[Tt]hat|[Tt]here)['’]s (?!been\b|got\b|\w+ed\b|own\b)")
_DOTTED = re.compile(r"\b(?:[A-Z]\.)+[A-Z]$")  # "in the U.S", its last dot taken for a full stop


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question was read as.

    ``claims`` are statements with their opposites, ``alternatives`` statements that may hold
    together; at most one of the two is filled. ``stance``: only this side of the claim is asked
    for. ``explanation`` says the reading to a person.
    """

    root: str
    kind: Kind
    claims: tuple[Statement, ...] = ()
    alternatives: tuple[str, ...] = ()
    stance: Stance | None = None
    instruction: str | None = None
    explanation: str = ""


def read(question: str, *, language: str = "en") -> Reading:
    """The reading of a question. The time is linear in its length, and of a question of more than
    ``cleaning.LONGEST`` characters only a part is read, which the explanation says.
    """
    text, cut = shortened(question)
    if not check_language(language):
        return Reading(text, "not-english", explanation=_unread(language))
    found = _read(text)
    found = replace(found, explanation=found.explanation or _explained(found))
    if cut:
        note = " (only a part of the long text was read)"
        found = replace(found, explanation=found.explanation + note)
    return found


def _unread(language: str) -> str:
    known = ", ".join(LANGUAGES)
    return f"I understood: the rules read no {language!r}, only {known}; it is searched as it is"


def _read(text: str) -> Reading:
    if is_code(text):
        return Reading(text, "request")
    if not is_english(text):
        return Reading(text, "not-english")
    clean = cleaned(text)
    short = trimmed(clean)
    carried = carried_side(short)
    kind = None if carried else kind_of(short)
    if kind in ("chat", "request"):
        return Reading(text, kind)
    if carried is not None:
        return _carried(text, carried.root, carried.statement, carried.stance, carried.instruction)
    words = glued(short)
    parts = list(sentences(words))
    found = _sides_in(text, parts)
    if found is not None:
        return found
    return Reading(text, _without_sides(short, parts))


def _carried(
    text: str, root: str, statement: Statement, stance: Stance, instruction: str
) -> Reading:
    if not sound_sides([statement.text, statement.negation]):
        return Reading(text, "open")
    start = text.lower().find(instruction.lower())
    said = text[start : start + len(instruction)] if start >= 0 else instruction
    return Reading(root, "sides", (statement,), stance=stance, instruction=said)


def _sides_in(text: str, parts: Sequence[Sequence[str]]) -> Reading | None:
    """The reading of the sentences, or None where they name no sides."""
    judged = False
    kept = [list(part) for part in parts]
    while len(kept) > 1 and asks_verdict(" ".join(kept[-1])):
        kept, judged = kept[:-1], True
    if not kept:
        return None
    told = ". " in text and asks_verdict(text.rsplit(". ", 1)[-1])  # it may be cut off already
    if (judged or told) and (plan := planned(" ".join(kept[-1]))) is not None:
        kept[-1] = plan.split(" ")
    sides = contrasted(kept)
    if sides:
        return _alternatives(text, sides)
    options = [unglued(each) for each in listed_options(kept[-2:])]
    if len(options) > 1 and sound_sides(options) and kind_of(_joined(kept[-2:])) != "factual":
        return _alternatives(text, options)
    places = _asked(kept)
    if not places:
        return None
    found: list[Reading] = []
    for place in places:
        nouns = antecedents(kept[:place])
        one = _one(text, " ".join(kept[place]), nouns, judged)
        if one is not None:
            found.append(one)
    return _together(text, found)


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return " ".join(" ".join(part) for part in parts)


def _asked(parts: Sequence[Sequence[str]]) -> list[int]:
    """The sentences that are asked: the yes/no questions, else the last question or sentence."""
    asked = [i for i, part in enumerate(parts) if part[-1].rstrip("\"'”’)").endswith("?")]
    if not asked:
        asked = [i for i, part in enumerate(parts) if _asks(part)]
    polar = [i for i in asked if _polar(" ".join(parts[i]))]
    if polar:
        return polar[:MOST_CLAIMS]
    return asked[-1:] or [len(parts) - 1]


def _asks(part: Sequence[str]) -> bool:
    return auxiliary_of(part[0]) is not None or bare(part[0]).removesuffix("'s") in WH_WORDS


def _polar(sentence: str) -> bool:
    first = trimmed(sentence).split(" ", 1)[0]
    return auxiliary_of(first) is not None


def _together(text: str, found: Sequence[Reading]) -> Reading | None:
    """The readings of several questions as one: the claims of all, or the first's alternatives."""
    if not found:
        return None
    first = found[0]
    kinds = [each for each in found if not (each.claims or each.alternatives)]
    if len(found) == 1 or first.alternatives or kinds:
        return next((each for each in found if each.claims or each.alternatives), first)
    claims: dict[str, Statement] = {}
    for each in found:
        for claim in each.claims:
            claims.setdefault(claim.text.lower(), claim)
    return replace(first, claims=tuple(claims.values())[:MOST_CLAIMS])


def _one(text: str, sentence: str, nouns: Sequence[str], judged: bool) -> Reading | None:
    """The reading of one sentence, or None where it names no sides."""
    short = trimmed(sentence)
    core = core_of(short, judged=judged)
    asked = trimmed(core.text)
    prefix_nouns = [*antecedents([_before_comma(short)]), *nouns]
    kind = kind_of(unglued(asked))
    if kind is not None and not (core.said and kind == "factual"):
        return Reading(text, kind)
    for each in _double(asked):
        found = [
            _claim(
                part,
                core.said,
                [*antecedents([part.split(" ") for part in each[:i]]), *prefix_nouns],
            )
            for i, part in enumerate(each)
        ]
        if all(found):
            return Reading(text, "sides", tuple(claim for claim in found if claim))
    if not core.said and topic_sides(asked) is None:
        options = [resolved(each, prefix_nouns) for each in named_alternatives(asked)]
        if options:
            named = [unglued(each) for each in options if each]
            sound = len(named) == len(options) and sound_sides(named)
            return _alternatives(text, named) if sound else Reading(text, "open")
        ends = poles(asked)
        if ends:
            return _alternatives(text, ends)
    claim = _claim(asked, core.said, prefix_nouns)
    return None if claim is None else Reading(text, "sides", (claim,))


def _before_comma(sentence: str) -> list[str]:
    """What stands before the question in its own sentence: "With the World Cup coming, ..."."""
    words = sentence.split(" ")
    for i in range(len(words) - 3, 0, -1):
        if words[i].endswith((",", ";")) and auxiliary_of(words[i + 1]) is not None:
            return words[: i + 1]
    return []


def _double(asked: str) -> list[list[str]]:
    """Two questions joined by "and": "Is it safe, and should it be allowed?"."""
    words = asked.rstrip("?!. ").split(" ")
    if auxiliary_of(words[0]) is None:
        return []
    for i, word in enumerate(words[:-3]):
        if bare(word) == "and" and auxiliary_of(words[i + 1]) is not None and i > 2:
            return [[" ".join(words[:i]).rstrip(","), " ".join(words[i + 1 :])]]
    return []


def _claim(asked: str, said: bool, nouns: Sequence[str]) -> Statement | None:
    """The claim in a sentence, its pronouns resolved; None where there is none fit to be shown."""
    asked = _IS.sub(r"\1 is ", asked.rstrip("?! ") if said else asked)
    makers = (_short, motion) if said else (topic_sides, statement_of, suggested, motion, _stated)
    question = asked.endswith("?") and auxiliary_of(asked.split(" ", 1)[0]) is not None
    for make in makers:
        made = None if question and make is motion else make(asked)
        if made is None:
            continue
        sides = [resolved(side, nouns) for side in (made.text, made.negation)]
        if sides[0] is None or sides[1] is None:
            return None
        claim = Statement(*(_DOTTED.sub(r"\g<0>.", unglued(side)) for side in sides if side))
        return claim if sound_sides([claim.text, claim.negation]) else None
    return None


def _stated(text: str) -> Statement | None:
    """A text in the order of a statement; none for a question that leaves a place open."""
    first = bare(text.split(" ", 1)[0]).removesuffix("'s")
    asks = first in WH_WORDS or _asked_behind(text) is not None
    if asks or asks_for_a_word(text):
        return None
    ended = text.endswith((".", "!"))
    return whole(text.rstrip("?! "), trusted=ended and len(text.split()) > 3)


def _asked_behind(text: str) -> str | None:
    """The open question behind "After the flood, "; None where there is none."""
    words = text.split(" ")
    for i, word in enumerate(words[1:-1], start=1):
        opens = bare(word) in {"how", "what", "why"} and auxiliary_of(words[i + 1]) is not None
        if opens and words[i - 1].endswith(","):
            return " ".join(words[i:])
    return None


def _short(text: str) -> Statement | None:
    """A text that must be a statement, of two words or more ("ghosts exist")."""
    return whole(text, least=2, trusted=True)


def _alternatives(text: str, options: Sequence[str]) -> Reading:
    return Reading(text, "alternatives", alternatives=tuple(options))


def _without_sides(text: str, parts: Sequence[Sequence[str]]) -> Kind:
    """The kind of a text in which no sides were found."""
    last = trimmed(" ".join(parts[-1])) if parts else text
    last = _asked_behind(last) or last
    kind = kind_of(text) or kind_of(last)
    if kind is not None:
        return kind
    words = last.split(" ")
    asked = any(
        (i == 0 or words[i - 1].endswith(",")) and auxiliary_of(word) is not None
        for i, word in enumerate(words)
    )
    listed = "or" in words and bare(words[0]).removesuffix("'s") not in WH_WORDS
    return "open" if asked or listed or is_open(text) or is_open(last) else "factual"


def _explained(found: Reading) -> str:
    """The reading said to a person."""
    if found.kind == "not-english":
        return "I understood: not English, which is the only language that the rules read"
    if found.stance is not None:
        side = found.claims[0].text if found.stance == "support" else found.claims[0].negation
        return f"I understood: only one side is asked for: {side!r}"
    if found.claims:
        said = "; ".join(f"{claim.text!r} or {claim.negation!r}" for claim in found.claims)
        return f"I understood: {said}"
    if found.alternatives:
        return "I understood: " + " / ".join(repr(each) for each in found.alternatives)
    return f"I understood: {_SAID[found.kind]}"
