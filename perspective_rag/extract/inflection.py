"""Inflected forms of English verbs."""

from __future__ import annotations

import re

from perspective_rag.extract.lexicon import Entry, vocabulary

_IRREGULAR_THIRD = {"have": "has", "be": "is", "do": "does", "go": "goes"}
_VOWELS = "aeiou"


def third_person(verb: str) -> str:
    """The third person of a base form: "harm" gives "harms"."""
    lower = verb.lower()
    if lower in _IRREGULAR_THIRD:
        return _IRREGULAR_THIRD[lower]
    return plural_ending(verb)


def past(verb: str) -> str:
    """The past tense of a base form: "make" gives "made"."""
    entry = _entry(verb)
    if verb.lower() in {"be", "do", "have"}:
        return {"be": "was", "do": "did", "have": "had"}[verb.lower()]
    return (entry.past if entry else "") or _with_ed(verb)


def participle(verb: str) -> str:
    """The past participle of a base form: "take" gives "taken"."""
    entry = _entry(verb)
    if verb.lower() in {"be", "do", "have"}:
        return {"be": "been", "do": "done", "have": "had"}[verb.lower()]
    return (entry.participle if entry else "") or _with_ed(verb)


def gerund(verb: str) -> str:
    """The -ing form of a base form: "ban" gives "banning", "lower" gives "lowering"."""
    lower = verb.lower()
    if lower.endswith("ie"):
        return verb[:-2] + "ying"
    if lower == "be":
        return verb + "ing"
    if lower.endswith("e") and not lower.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    past_form = participle(verb)
    # "banned" and "cut" say whether the last letter is doubled, where the vocabulary knows.
    doubled = past_form.startswith(verb + verb[-1:]) or (
        re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", lower) is not None
    )
    return verb + (verb[-1] if doubled else "") + "ing"


def as_inflected(verb: str, auxiliary: str) -> str:
    """A base form as it stands without "do", "does" or "did": "does harm" is "harms"."""
    if auxiliary == "does":
        return third_person(verb)
    return past(verb) if auxiliary == "did" else verb


def plural_ending(word: str) -> str:
    """A word with the ending of a plural or a third person: "church" gives "churches"."""
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith("o") and word[-2:-1] not in _VOWELS else "s")


def plural(noun: str) -> str:
    """The plural of a singular noun: "child" gives "children"."""
    entry = _entry(noun)
    return (entry.plural if entry else "") or plural_ending(noun)


def _entry(word: str) -> Entry | None:
    return vocabulary().lemmas.get(word.lower())


def _with_ed(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + "ed"
