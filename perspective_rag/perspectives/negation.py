"""Statements and their negations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.perspectives.words import (
    ASKING_ADVERBS,
    AUXILIARIES,
    BE,
    DEGREES,
    DO,
    HAVE,
    SUBORDINATORS,
    as_inflected,
    bare,
    base_of,
    finite_verb,
    is_plural,
    mid_sentence,
    readings,
    tags,
    upper_first,
    verb_share,
)

_SOME = {
    "any": "some",
    "anything": "something",
    "anyone": "someone",
    "anybody": "somebody",
    "anywhere": "somewhere",
}
_LONGER = frozenset("more longer anymore".split())


def affirmed(predicate: Sequence[str]) -> list[str]:
    """The predicate of a question as an affirmation says it: "any less polluting" becomes "less
    polluting", "anything to say" becomes "something to say"; "ever" is left to the caller.
    """
    kept: list[str] = []
    skip = 0
    for i, word in enumerate(predicate):
        if skip:
            skip -= 1
            continue
        lower = bare(word)
        following = bare(predicate[i + 1]) if i + 1 < len(predicate) else ""
        last = i + 1 == len(predicate) or (following in _LONGER and i + 2 == len(predicate))
        if lower == "at" and following == "all":
            skip = 1
        elif lower == "any" and following in _LONGER and last:
            skip = 1  # "Do we need libraries any more"
        elif (lower == "any" and _compares(following)) or (lower in {"anymore", "yet"} and last):
            continue
        elif lower in _SOME:
            kept.append(_SOME[lower] + word[len(lower) :])
        else:
            kept.append(word)
    return kept


def _compares(word: str) -> bool:
    adjective = any(tag in "ar" for _, tag in readings(word))
    return word in DEGREES or (word.endswith("er") and adjective) or word == "different"


def without_asking(predicate: Sequence[str]) -> list[str]:
    """The predicate without the adverbs that only lend weight to a question ("really")."""
    kept = [word for word in predicate if bare(word) not in ASKING_ADVERBS]
    if len(kept) > 1 and bare(kept[0]) == "even":
        kept = kept[1:]
    return kept or list(predicate)


def take_ever(predicate: Sequence[str]) -> tuple[list[str], bool]:
    """The predicate without the first "ever", and whether there was one."""
    for i, word in enumerate(predicate[:6]):
        if bare(word) == "ever" and (i == 0 or bare(predicate[i - 1]) not in {"than", "for"}):
            return [*predicate[:i], *predicate[i + 1 :]], True
    return list(predicate), False


def no_longer(predicate: Sequence[str]) -> list[str] | None:
    """The predicate with "still" turned into "no longer"; None without a "still" at its head."""
    for i, word in enumerate(predicate[:2]):
        if bare(word) == "still":
            return [*predicate[:i], "no", "longer", *predicate[i + 1 :]]
    return None


__all__ = ["SUBORDINATORS", "deny", "main_verb", "negate", "negation_of"]

LONGEST = 200
"""Words of a statement that the rules negate; a longer one is denied as a whole."""

_CONTRACTED = re.compile(r"\b([A-Za-z]{2,6})n['’]t\b")
_IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall"}
_DENIALS = ("it is not true that ", "it is not the case that ", "it is false that ",
            "it is untrue that ")  # fmt: skip
_NOT = frozenset("not never".split())
_UNIVERSAL = frozenset("every all everyone everybody everything each both".split())
# A subject that opens so is denied as a whole: "Most people are not happy" says something else.
_DENIED_WHOLE = frozenset(
    "most many few some no nobody nothing none only someone somebody neither too".split()
)


def negate(statement: str) -> str:
    """Negates a statement; one that the rules cannot negate is denied as a whole ("It is not true
    that ...").

    ``"Zoos should be closed."`` becomes ``"Zoos should not be closed."`` and back; ``"Ban zoos"``
    becomes ``"Do not ban zoos"``. Negating twice gives back the meaning. The rules know English
    only and do not see a negation hidden in a word ("fails to", "hardly").
    """
    return negation_of(statement) or _denied(statement.strip())


def spelt_out(text: str) -> str:
    """The text with "n't" and "cannot" as words of their own."""
    text = _CONTRACTED.sub(lambda m: _IRREGULAR.get(m[1].lower(), m[1]) + " not", text)
    return re.sub(r"\b([Cc])annot\b", r"\1an not", text)


def negation_of(statement: str, *, trusted: bool = False) -> str | None:
    """The negation as a speaker would put it; None where no verb to negate is found.

    ``trusted``: the text is known to be a statement, so that a less likely verb will do.
    """
    text = spelt_out(statement.strip())
    lowered = text.lower()
    for opening in (*_DENIALS, "do not ", "never "):
        if lowered.startswith(opening):
            return upper_first(text[len(opening) :].lstrip())
    words = text.split()
    if not words or len(words) > LONGEST:
        return None
    start = clause_start(words)
    prefix, clause = words[:start], words[start:]
    said = _negated_clause(clause, trusted)
    return None if said is None else " ".join([*prefix, said] if prefix else [upper_first(said)])


def _negated_clause(words: Sequence[str], trusted: bool) -> str | None:
    first = bare(words[0])
    position = finite_verb(words, trusted=trusted)
    if position is None:
        demand = verb_share(first) > 0.5 or (verb_share(first) > 0.2 and len(words) > 2)
        return "Do not " + mid_sentence(" ".join(words)) if demand else None
    verb = bare(words[position])
    following = bare(words[position + 1]) if position + 1 < len(words) else ""
    if verb in AUXILIARIES and following in _NOT:
        if verb in DO and position + 2 < len(words):
            return _said_again(words, position)
        return _joined([*words[: position + 1], *words[position + 2 :]])
    if position and bare(words[position - 1]) in _NOT:
        return _denied(" ".join(words))
    if following == "no" and words[position + 2 : position + 3] == ["longer"]:
        return _joined([*words[: position + 1], "still", *words[position + 3 :]])
    if first in _UNIVERSAL and position > 0:
        return "Not " + mid_sentence(" ".join(words))
    if following == "no" or (first in _DENIED_WHOLE and position > 0):
        return _denied(" ".join(words))
    return deny(words, position)


_PLURAL_PRONOUNS = frozenset("i we you they".split())


def _said_again(words: Sequence[str], position: int) -> str:
    """ "does not pay" affirmed: "pays"."""
    rest = affirmed(words[position + 2 :])
    verb = as_inflected(rest[0], bare(words[position]))
    return " ".join([*words[:position], verb, *rest[1:]])


def deny(words: Sequence[str], position: int) -> str:
    """The words with the verb at ``position`` denied: "not" after an auxiliary, "do not" before a
    verb.
    """
    before, verb, after = list(words[:position]), bare(words[position]), list(words[position + 1 :])
    existing = before and bare(before[-1]) == "there" and verb in BE
    opening = bare(after[0]) if after else ""
    if existing and (
        opening in {"a", "an", "some", "any"} or not tags(opening) & {"det", "r", "#"}
    ):
        rest = after[1:] if opening in {"a", "an", "some", "any"} else after
        return " ".join([*before, verb, "no", *rest])
    if opening == "sometimes":
        return " ".join([*before, words[position], "never", *after[1:]])
    if opening == "always" and verb in AUXILIARIES:
        return " ".join([*before, words[position], "not", *after])
    if helps(verb, opening, after):
        if verb == "must" and opening in {"be", "have"}:
            singular = not is_plural(before[-1]) and bare(before[-1]) not in _PLURAL_PRONOUNS
            return " ".join([*before, "does not" if singular else "do not", "have to", *after])
        if verb == "must":
            return " ".join([*before, "must", "not", *after])
        if verb == "ought":
            return " ".join([*before, "ought", "not", *after])
        return _joined([*before, words[position], "not", *after])
    manner = len(before) > 1 and _is_manner(before[-1])
    adverbs = [before.pop()] if manner else []  # "greatly help": do not greatly help
    helper, no, base = _with_do(words[position])
    return " ".join([*before, helper, no, *adverbs, base, *after])


def _is_manner(word: str) -> bool:
    core = bare(word)
    adverb = core.endswith("ly") and "r" in tags(core) and not tags(core) & {"a", "n"}
    return (adverb and core != "only") or core in {"often", "always"}


def _with_do(verb: str) -> list[str]:
    """ "drinks" gives "does not drink", "drink" gives "do not drink", "drank" "did not drink"."""
    found = tags(verb)
    lower = bare(verb)
    special = {"has": "have", "does": "do"}
    if lower in special:
        return ["does", "not", special[lower]]
    if lower in {"had", "did"}:
        return ["did", "not", {"had": "have", "did": "do"}[lower]]
    if "v" in found or lower in {"have", "do"}:
        return ["do", "not", lower]
    if "z" in found:
        return ["does", "not", base_of(lower, "z") or lower]
    return ["did", "not", base_of(lower, "d") or lower]


def helps(verb: str, opening: str, after: Sequence[str]) -> bool:
    """True when ``verb`` is an auxiliary here: "has" before a participle, "does" before a verb."""
    if verb in HAVE:
        place = 1 if "r" in tags(opening) and len(after) > 1 else 0
        found = tags(after[place]) if after else frozenset[str]()
        return "p" in found or (bool(after) and bare(after[place]) == "been")
    if verb in DO:
        return opening == "not" or (verb_share(opening) > 0.5 and not is_plural(opening))
    return verb in AUXILIARIES


def clause_start(words: Sequence[str]) -> int:
    """Index where the main clause starts: behind "If robots do most work,"; else 0."""
    if bare(words[0]) not in _SUBORDINATE_OPENERS:
        return 0
    for i, word in enumerate(words[:-2]):
        if word.endswith(",") and finite_verb(words[i + 1 :]) is not None:
            return i + 1
    return 0


_SUBORDINATE_OPENERS = frozenset(
    "if when unless although though because while since once whenever where until".split()
)


def main_verb(words: Sequence[str]) -> int | None:
    """Index of the auxiliary that carries a statement, or of a verb that is negated like one
    ("needs"), outside relative clauses; None for other verbs and where there is none.
    """
    found = finite_verb(words) if words else None
    return found if found is not None and bare(words[found]) in _CARRIERS else None


_CARRIERS = AUXILIARIES | frozenset(
    "cannot needs need deserves deserve believes believe supports".split()
)


def _joined(words: Sequence[str]) -> str:
    return " ".join(words).replace("can not ", "cannot ")


def _denied(text: str) -> str:
    return "It is not true that " + mid_sentence(text)
