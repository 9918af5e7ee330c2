"""Follow-ups that point back: "is it legal?", "do they suffer?", "would such a ban work?"."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.perspectives.act import act_of, topic_of
from perspective_rag.perspectives.clauses import auxiliary_of
from perspective_rag.perspectives.context import announces, antecedents, is_plural_phrase
from perspective_rag.perspectives.words import (
    POSSESSIVES,
    PREPOSITIONS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    base_of,
    mid_sentence,
    tags,
    verb_share,
)

# What is said of something to do rather than of a thing: "is it legal?", "does it work?".
_OF_ACTS = frozenset(
    """
    legal illegal fair unfair possible impossible realistic feasible necessary right wrong allowed
    worth work works worked help helps helped happen happened cost costs justified enforceable
    popular constitutional moral immoral ethical unethical good bad idea practical effective
    enough sensible wise mean means tried enforced
    """.split()
)
_SINGULAR = frozenset("it that this".split())
_MANY = frozenset("they them these those".split())
_PERSON = frozenset("he she him".split())
_OWNED = frozenset("its their".split())
_GENERAL = frozenset(
    "ban law policy idea plan measure rule proposal change step practice tax thing reform move"
    " decision limit".split()
)
_EXPLETIVE = frozenset("time raining snowing true ok okay late".split())


def pronouns_named(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The words with their first pronoun replaced by what the question before was about; None where
    they have none, or the question names what it stands for itself.
    """
    place = _pointer(words)
    if place is None or any(word.endswith("?") for word in words[:place]):
        return None
    word = bare(words[place])
    if word in {"this", "that", "such", "these", "those"} and place + 1 < len(words):
        end = _general(words, place)
        if end is not None:
            topic = topic_of(earlier)
            return None if topic is None else _put(words, place, end, topic)
        if word == "such" or _describes(words, place):
            return None
    if word in _OWNED:
        owner = _thing(words, earlier, many=word == "their")
        owned = owner and (f"{owner}'" if owner.endswith("s") else f"{owner}'s")
        return _put(words, place, place + 1, owned) if owned else None
    if word in _PERSON:
        names = [each for each in antecedents([earlier]) if each[:1].isupper()]
        return _put(words, place, place + 1, names[0]) if names else _both(words, earlier)
    noun = _thing(words, earlier, many=word in _MANY)
    return _both(words, earlier) if noun is None else _put(words, place, place + 1, noun)


def _pointer(words: Sequence[str]) -> int | None:
    """The place of the pronoun that points back to the question before, if there is one."""
    plain = [bare(word) for word in words]
    start = 0
    while start < len(plain) - 1 and plain[start].removesuffix("'s") in WH_WORDS | {"much", "many"}:
        start += 1
    asked = auxiliary_of(words[start]) is not None
    subject = start + 1 if asked else start
    if plain[0] in {"what's", "who's", "how's", "where's", "why's"}:
        subject = 1
    if subject < len(plain) and _points(words, subject):
        return subject
    if subject == 0:
        return None
    for i in range(subject + 1, len(words)):
        pointing = plain[i] in {"it", "them"} | _OWNED or (
            i == len(words) - 1 and plain[i] == "this"
        )
        if pointing and not _named_before(words[subject:i], plain[i]):
            return None if plain[i] == "it" and announces(words[i:]) else i
    return None


def _points(words: Sequence[str], place: int) -> bool:
    word = bare(words[place])
    if word == "it":
        rest = {bare(each) for each in words[place + 1 :]}
        return not announces(words[place:]) and rest.isdisjoint(_EXPLETIVE)
    if word in {"that", "this", "these", "those"}:
        if _general(words, place) is not None:
            return True
        if place == 0 and len(words) > 1 and auxiliary_of(words[1]) is None:
            return False  # "this house would ...": a noun of its own
        return not _describes(words, place)
    return word in _MANY | _PERSON | _OWNED or _general(words, place) is not None


def _describes(words: Sequence[str], place: int) -> bool:
    """True for "this" or "those" before a noun of its own: "those animals"."""
    following = tags(words[place + 1]) if place + 1 < len(words) else frozenset()
    verb = "v" in following and place + 2 == len(words)  # "what would that cost"
    return bool(following & {"n", "s", "P"}) and not following & {"a"} and not verb


def _general(words: Sequence[str], place: int) -> int | None:
    """The end of "such a ban", "this law"; None for any other words."""
    if bare(words[place]) not in {"this", "that", "such", "these", "those"}:
        return None
    end = place + 1
    while end < len(words) and bare(words[end]) in {"a", "an", "kind", "of", "new"}:
        end += 1
    found = end < len(words) and bare(words[end]).removesuffix("s") in _GENERAL
    return end + 1 if found else None


def _named_before(words: Sequence[str], pronoun: str) -> bool:
    """True where another noun phrase than the subject stands before the pronoun."""
    if any(bare(word) in SUBORDINATORS for word in words[1:]):
        return True
    nouns, inside = 0, False
    for i, word in enumerate(words):
        # "schools ban": behind a plural a word that can be a verb is one.
        verb = i > 0 and "s" in tags(words[i - 1]) and "v" in tags(word)
        noun = _noun(word) and not verb
        nouns += noun and not inside
        inside = noun
    return nouns > (0 if pronoun in _OWNED else 1)


def _noun(word: str) -> bool:
    found = tags(word)
    if bare(word) in PREPOSITIONS | POSSESSIVES or not found & {"n", "s", "P"} or "aux" in found:
        return False
    return verb_share(base_of(word, "s") or word) < 0.5


def _thing(words: Sequence[str], earlier: Sequence[str], *, many: bool) -> str | None:
    """What the pronoun stands for: what was proposed where the words speak of an act, else a noun
    of its number.
    """
    proposed = act_of(earlier)
    of_act = not _OF_ACTS.isdisjoint(bare(word) for word in words) or "be" not in earlier
    if proposed is not None and not many and of_act:
        return proposed
    nouns = [each for each in antecedents([earlier]) if not each.lower().startswith("be ")]
    fitting = [each for each in nouns if is_plural_phrase(each) == many]
    subject = topic_of(earlier) if proposed is None else None
    found = fitting[0] if fitting else None
    if subject is not None and (found is None or is_plural_phrase(subject) == many):
        found = subject
    found = found or (proposed if not many else None) or (nouns[0] if nouns else None)
    return None if found is None else mid_sentence(found)


def _put(words: Sequence[str], start: int, end: int, phrase: str) -> str:
    mark = words[end - 1][len(words[end - 1].rstrip(",;:")) :]
    contracted = {"it's": "is", "that's": "is", "they're": "are"}.get(bare(words[start]), "")
    return " ".join(
        [*words[:start], phrase + mark, *([contracted] if contracted else []), *words[end:]]
    )


def _both(words: Sequence[str], earlier: Sequence[str]) -> str:
    return f"{' '.join(earlier)}? {' '.join(words)}"
