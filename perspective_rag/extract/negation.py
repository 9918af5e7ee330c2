"""The negation of an English statement, by rule and without a model."""

from __future__ import annotations

import re

from perspective_rag.extract.english import (
    AUXILIARIES,
    BASE_VERBS,
    DETERMINERS,
    PREDICATE_OPENERS,
    lower_first,
    upper_first,
)

# "have" and "do" help another verb only before another verb ("has been shown"); else
# they are the verb ("has a right"), and are negated with "do" like these others.
_PARTICIPLE = re.compile(
    r"^(been|become|begun|done|gone|had|made|got|lost|won|led|left|kept|met|paid|said|sold|told|built"
    r"|brought|bought|caught|thought|felt|found|held|heard|hurt|put|cut|set|let|read|run|come|sent"
    r"|spent|stood|understood|meant|spread|\w+(ed|en|wn))$"
)
_HAVE = frozenset({"has", "have", "had"})
_DO = frozenset({"do", "does", "did"})
_WITH_DO = {
    "has": "does not have",
    "have": "do not have",
    "had": "did not have",
    "do": "do not do",
    "does": "does not do",
    "did": "did not do",
    "needs": "does not need",
    "need": "do not need",
    "deserves": "does not deserve",
    "deserve": "do not deserve",
    "believes": "does not believe",
    "believe": "do not believe",
    "supports": "does not support",
}

# Each of these opens a clause with an auxiliary of its own: "people who are ill should stay home".
SUBORDINATORS = frozenset(
    "who which that whose whom if when because unless although though while where".split()
)

_CONTRACTED = re.compile(r"\b(\w+?)n['’]t\b", re.IGNORECASE)
_IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall"}
_NEGATED = re.compile(
    r"\b(" + "|".join(sorted(AUXILIARIES)) + r")\s+(?:not|never)\b|\b(can)not\b", re.IGNORECASE
)
_IMPERATIVE_NOT = re.compile(r"^(?:do not|never)\s+", re.IGNORECASE)
_DENIAL = re.compile(r"^it is (?:not true|not the case|false|untrue) that\s+", re.IGNORECASE)


def negate(statement: str) -> str:
    """Negates a statement; negating twice gives back its meaning.

    ``"Zoos should be closed."`` becomes ``"Zoos should not be closed."`` and back; ``"Ban zoos"``
    becomes ``"Do not ban zoos"``. Where no main verb it knows is found the statement is denied as a
    whole: ``"It is not true that ..."``. The rule knows English only and does not see a negation
    hidden in a word ("fails to", "hardly").
    """
    text = statement.strip()
    text = _CONTRACTED.sub(lambda m: _IRREGULAR.get(m[1].lower(), m[1]) + " not", text)
    for pattern in (_DENIAL, _IMPERATIVE_NOT):
        if pattern.match(text):
            return upper_first(pattern.sub("", text, count=1))
    if match := _NEGATED.search(text):
        return text[: match.start()] + (match[1] or match[2]) + text[match.end() :]
    words = text.split(" ")
    position = main_verb(words)
    if position is not None:
        before, verb, after = words[:position], words[position], words[position + 1 :]
        if after[0].lower() == "no":  # "is not no enemy" is no English
            return "It is not true that " + lower_first(text)
        if not _helps(verb, after[0]):
            denial = [_WITH_DO[verb.lower()]]
        else:
            denial = ["cannot"] if verb.lower() == "can" else [verb, "not"]
        return " ".join([*before, *denial, *after])
    if words[0].lower() in BASE_VERBS:
        return "Do not " + lower_first(text)
    return "It is not true that " + lower_first(text)


def main_verb(words: list[str]) -> int | None:
    """Index of the first auxiliary, or verb that is negated with "do", outside a subordinate
    clause; or None.
    """
    found = [
        i
        for i in range(1, len(words) - 1)
        if _helps(words[i], words[i + 1]) or words[i].lower() in _WITH_DO
    ]
    for earlier, i in enumerate(found):
        if sum(word.lower() in SUBORDINATORS for word in words[:i]) <= earlier:
            return i
    return found[0] if found else None


def _helps(word: str, following: str) -> bool:
    """True when ``word`` is an auxiliary before ``following``."""
    word, following = word.lower(), following.lower()
    if word in _HAVE:
        return bool(_PARTICIPLE.match(following))
    if word in _DO:
        return following not in DETERMINERS | PREDICATE_OPENERS
    return word in AUXILIARIES
