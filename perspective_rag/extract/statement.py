"""The statement that a yes/no question asks about, by rule."""

from __future__ import annotations

import re
from dataclasses import dataclass

from perspective_rag.extract.english import (
    AUXILIARIES,
    BASE_VERBS,
    DETERMINERS,
    PREDICATE_OPENERS,
    PRONOUNS,
    WH_WORDS,
    predicate_start,
    upper_first,
)
from perspective_rag.extract.negation import main_verb, negate
from perspective_rag.extract.settled import asks_for_a_word

_LEAD_IN = re.compile(
    r"^(?:do you (?:think|believe|agree)(?: that)?|is it true that|would you say(?: that)?"
    r"|in your opinion,?|and|so|but|well)\s+",
    re.IGNORECASE,
)
_BELIEVED = re.compile(r"^(?:do you (?:think|believe|agree)|is it true that)\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"^(\w+)n['’]t\b", re.IGNORECASE)
_OR_NOT = re.compile(r",?\s+or\s+(?:not|no)$", re.IGNORECASE)
_VERB_SUFFIX = re.compile(r"^.{3,}(?:[^mv]ate|ise|ize|ify)$")
_POINTERS = frozenset("this that these those".split())
_BE = frozenset("is are was were am".split())
_LINKING = frozenset("stay remain become".split())


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its negation."""

    text: str
    negation: str


def statement_of(question: str) -> Statement | None:
    """The statement whose truth a yes/no question asks for, with its negation; None for any other
    question.

    ``"Should social media be banned for children?"`` gives ``"Social media should be banned for
    children"``. The end of the subject is found by a list of verbs and the look of predicates, so
    an unusual sentence may come out clumsily; it is still about the same thing.
    """
    text = _OR_NOT.sub("", question.strip().rstrip("?").strip())
    asked = _LEAD_IN.sub("", text)
    believed = bool(_BELIEVED.match(text))
    text = _CONTRACTED.sub(r"\1", asked)
    for part in (text, text.rpartition(": ")[2], text.partition(", ")[2]):
        if part.split(" ", 1)[0].lower() in AUXILIARIES and len(part.split()) > 2:
            return _inverted(part.split())
    words = text.split()
    if believed and len(words) > 2 and words[0].lower() not in WH_WORDS:
        return as_statement(text)  # "Do you think (that) zoos teach children something?"
    if not words or words[0].lower() in WH_WORDS or main_verb(words) is None:
        return None
    return None if asks_for_a_word(text) else as_statement(text)  # "You would close zoos?"


def as_statement(text: str) -> Statement:
    """A sentence that already is a statement, with its negation by rule."""
    return Statement(upper_first(text), upper_first(negate(text)))


def _inverted(words: list[str]) -> Statement:
    """The statement in "AUXILIARY SUBJECT PREDICATE"."""
    auxiliary = words[0].lower()
    end = _subject_end(words, auxiliary)
    subject, predicate = words[1:end], words[end:]
    if auxiliary not in {"do", "does", "did"}:
        return as_statement(" ".join([*subject, auxiliary, *predicate]))
    affirmed = [] if auxiliary == "do" else [auxiliary]
    if auxiliary == "does":
        affirmed, predicate_said = [], [_third_person(predicate[0]), *predicate[1:]]
    else:
        predicate_said = predicate
    return Statement(
        upper_first(" ".join([*subject, *affirmed, *predicate_said])),
        upper_first(" ".join([*subject, auxiliary, "not", *predicate])),
    )


def _subject_end(words: list[str], auxiliary: str) -> int:
    """Index of the first word of the predicate; the subject is words[1:index]."""
    points = words[1].lower() in _POINTERS and auxiliary not in _BE
    if words[1].lower() in PRONOUNS and not (
        points and not _is_predicate_verb(words[2].lower(), auxiliary)
    ):
        return 2
    if auxiliary in _BE:
        return predicate_start(words, 2) or len(words) - 1
    candidates = [
        i
        for i in range(2, len(words))
        if _is_predicate_verb(words[i].lower(), auxiliary)
        and words[i - 1].lower() not in DETERMINERS
    ]
    # In "Should phone use be limited" the first verb is a noun: the verb that follows it at once is
    # meant; "be" is no noun, whatever follows it ("Should zoos be shut"), and what follows "stay"
    # may be an adjective ("Should zoos stay open").
    for i in candidates:
        verb, following = words[i].lower(), "".join(words[i + 1 : i + 2]).lower()
        if verb == "be" or (verb in _LINKING and following in PREDICATE_OPENERS):
            return i
        if i + 1 not in candidates:
            return i
    return candidates[-1] if candidates else _guessed_end(words, auxiliary)


def _guessed_end(words: list[str], auxiliary: str) -> int:
    """Where the predicate starts whose verb is not known: after the words that belong together."""
    last = len(words) - 1
    free = [
        i
        for i in range(2, last)
        if words[i].lower() not in DETERMINERS and words[i - 1].lower() not in DETERMINERS
    ]
    looks = (
        lambda i: _VERB_SUFFIX.match(words[i]),
        lambda i: auxiliary == "do" and re.search(r"[^s]s$", words[i - 1]),
        lambda i: words[i - 1][:1].isupper() and words[i].islower(),
    )
    for seems in looks:
        for i in free:
            if seems(i):
                return i
    bare = words[1].lower() not in DETERMINERS
    return min(2 if bare else 3, last)


def _is_predicate_verb(word: str, auxiliary: str) -> bool:
    if auxiliary in {"has", "have", "had"}:
        return (
            word == "been"
            or word.endswith(("ed", "en", "wn"))
            or word in {"made", "gone", "lost", "had"}
        )
    return word in BASE_VERBS


def _third_person(verb: str) -> str:
    if verb in {"have", "be", "do", "go"}:
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"
