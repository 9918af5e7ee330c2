"""The negation of an English statement, by rule and without a model."""

from __future__ import annotations

import re

AUXILIARIES = frozenset(
    ["should", "must", "can", "could", "will", "would", "shall", "may", "might", "ought", "is", "are", "was", "were", "am", "do", "does", "did", "has", "have", "had"]
)
# After "have" or "do" used as a main verb, inserting "not" would be ungrammatical: these words show
# that it is an auxiliary after all.
_PARTICIPLE = re.compile(
    r"^(been|become|done|gone|had|made|taken|given|seen|got|never|\w+(ed|en|wn))$"
)
_AMBIGUOUS = frozenset({"has", "have", "had", "do", "does", "did"})
# A clause that opens with one of these belongs to a noun or to another clause: "people who are ill should ..."
_SUBORDINATORS = frozenset(
    ["who", "which", "that", "whose", "whom", "if", "when", "because", "unless", "although", "though", "while", "where"]
)

_CONTRACTED = re.compile(r"\b(\w+?)n['’]t\b", re.IGNORECASE)
_IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall"}
_NEGATED = re.compile(
    r"\b(" + "|".join(sorted(AUXILIARIES)) + r")\s+(?:not|never)\b|\b(can)not\b", re.IGNORECASE
)
_IMPERATIVE_NOT = re.compile(r"^(do not|never)\s+", re.IGNORECASE)
_DENIAL = re.compile(r"^it is (?:not true|not the case|false|untrue) that\s+", re.IGNORECASE)


def negate(statement: str) -> str:
    """Negates a statement; negating twice gives back its meaning.

    ``"Zoos should be closed."`` becomes ``"Zoos should not be closed."`` and back. Where no auxiliary verb is
    found the statement is denied as a whole: ``"It is not true that ..."``. The rule knows English only, reads
    the first main auxiliary, and cannot see a negation hidden in a word ("fails to", "hardly").
    """
    text = statement.strip()
    text = _CONTRACTED.sub(lambda m: _IRREGULAR.get(m[1].lower(), m[1]) + " not", text)
    for pattern in (_DENIAL, _IMPERATIVE_NOT):
        if pattern.match(text):
            return _capitalised(pattern.sub("", text, count=1))
    if match := _NEGATED.search(text):
        return text[: match.start()] + (match[1] or match[2]) + text[match.end() :]
    words = text.split(" ")
    position = main_auxiliary(words)
    if position is None:
        return "It is not true that " + _lowered(text)
    return " ".join([*words[: position + 1], "not", *words[position + 1 :]])


def main_auxiliary(words: list[str]) -> int | None:
    """Index of the first auxiliary verb outside a relative or conditional clause, or None."""
    candidates = [
        i
        for i, word in enumerate(words[:-1])
        if word.lower() in AUXILIARIES
        and i > 0
        and _acts_as_auxiliary(word.lower(), words[i + 1].lower())
    ]
    # Every subordinator before an auxiliary claims one auxiliary for its own clause.
    for i in candidates:
        openers = sum(word.lower() in _SUBORDINATORS for word in words[:i])
        if openers <= candidates.index(i):
            return i
    return candidates[0] if candidates else None


def _acts_as_auxiliary(word: str, following: str) -> bool:
    return word not in _AMBIGUOUS or bool(_PARTICIPLE.match(following))


def _lowered(text: str) -> str:
    first = text.split(" ", 1)[0]
    keep = first == "I" or (not first[1:].islower() and len(first) > 1)
    return text if keep else text[:1].lower() + text[1:]


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
