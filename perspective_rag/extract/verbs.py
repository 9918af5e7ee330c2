"""The verb of an English clause, and how well a word reads as one."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.extract.english import (
    ADVERBS,
    ANYONES,
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    DEGREES,
    DETERMINER_WORDS,
    POINTERS,
    POSSESSIVES,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    bare,
)
from perspective_rag.extract.lexicon import is_plural, readings, tags, verb_share

_NEVER = -9.0
_SURE, _LIKELY, _POSSIBLE = 3.4, 1.95, -1.0
# Verbs that another base form may follow: "help reduce", "let go".
BEFORE_BASE = frozenset("help let make dare go come get be have do need".split())
_PLURAL_PRONOUNS = frozenset("we you they i".split())
_TIMES = frozenset("today now nowadays everywhere here".split())


def finite_verb(words: Sequence[str], *, trusted: bool = False) -> int | None:
    """Index of the verb that carries a statement ("are" in "Zoos are cruel", "drink" in "Fans
    drink too much"), outside relative clauses; None where none is plausible. ``trusted``:
    the words are known to be a statement, so that a less likely verb will do.
    """
    blocked = relative_parts(words) if len(words) > 2 else frozenset[int]()
    for i in range(1, len(words)):
        if i not in blocked and _auxiliary_here(words, i):
            earlier = _lexical_verb(words[:i], blocked, least=_SURE)
            return i if earlier is None else earlier
    found = _lexical_verb(words, blocked, least=_LIKELY)
    if found is None and trusted:
        found = _lexical_verb(words, blocked, least=_POSSIBLE)
    return found


def _auxiliary_here(words: Sequence[str], i: int) -> bool:
    word = bare(words[i])
    if word not in AUXILIARIES and word not in {"cannot"}:
        return False
    noun = word in {"will", "can", "must", "might", "may"} and closed_before(words, i)
    return not noun and (i + 1 < len(words) or (i == len(words) - 1 and i > 0))


def _lexical_verb(words: Sequence[str], blocked: frozenset[int], *, least: float) -> int | None:
    """The first word that reads as a finite verb after what reads as a subject."""
    behind = blocked | {k for k in range(1, len(words)) if bare(words[k]) in PREPOSITIONS}
    first = min(behind, default=len(words))  # before it stands the head of the subject
    for i in range(1, len(words)):
        if i in blocked or closed_before(words, i):
            continue
        score = _finite_score(words, i, min(first, i))
        if score >= least:
            return i
    return None


def _finite_score(words: Sequence[str], i: int, head: int) -> float:
    """How well a word reads as a finite verb that agrees with ``words[head - 1]`` or the word
    before it.
    """
    word, before = bare(words[i]), bare(words[i - 1])
    found = tags(word)
    following = words[i + 1] if i + 1 < len(words) else ""
    manner = before.endswith("ly") and "r" in tags(before) and "n" not in tags(before)
    skip = (manner or before in ADVERBS | _TIMES) and i > 1
    lead = words[i - 2] if skip else words[i - 1]
    plural = is_plural(words[head - 1]) or is_plural(lead) or bare(lead) in _PLURAL_PRONOUNS
    share = 0.0
    if "v" in found and plural:
        share = verb_share(word)
    elif "z" in found and not (plural and is_plural(lead) and is_plural(words[head - 1])):
        lemmas = [lemma for lemma, tag in readings(word) if tag == "z"]
        share = max(verb_share(lemma) for lemma in lemmas)
        if "s" in found and verb_share(following) > 0.5:
            share -= 0.5  # "Smoking bans hurt pubs"
    elif "d" in found:
        part = "p" in found and "prep" in tags(following) and bare(following) != "to"
        share = 0.15 if part else 0.8
    if share <= 0.0:
        return _NEVER
    return 3.0 * share + min(before_verb(words, i), 1.0) + after_verb(following, words[i])


def relative_parts(words: Sequence[str]) -> frozenset[int]:
    """The words that belong to a relative clause up to its verb, and the article after that."""
    blocked: set[int] = set()
    waiting = False
    for i in range(1, len(words)):
        word, before = bare(words[i]), tags(words[i - 1])
        noun_before = bool(before & {"n", "s", "pron", "P"}) or not before
        opens = (word in RELATIVES and noun_before) or (
            word in SUBJECT_PRONOUNS and bool(before & {"n", "s"})
        )
        if opens and not words[i - 1].endswith(","):
            waiting = True
            blocked.add(i)
        elif waiting:
            blocked.add(i)
            if _finite(words[i]) or _verb_after_relative(words, i):
                waiting = False
                if i + 1 < len(words) and _object_opens(words[i + 1]):
                    blocked.add(i + 1)
    # A clause without an end blocks nothing: then it was no relative clause.
    return frozenset() if waiting else frozenset(blocked)


def _verb_after_relative(words: Sequence[str], i: int) -> bool:
    """True for "study" in "who study a subject", though it is mostly a noun."""
    follows = bare(words[i - 1]) in {"who", "which", "that"} and i + 1 < len(words)
    return follows and "v" in tags(words[i]) and "det" in tags(words[i + 1])


def _finite(word: str) -> bool:
    found = tags(word)
    if found & {"aux"}:
        return True
    if "v" in found and verb_share(word) >= 0.3:
        return True
    if "z" in found:
        return any(tag == "z" and verb_share(lemma) >= 0.3 for lemma, tag in readings(bare(word)))
    return bool(found & {"d"}) and "n" not in found


def _object_opens(word: str) -> bool:
    return bool(tags(word) & {"det", "a", "p", "prep", "r"})


def closed_before(words: Sequence[str], i: int) -> bool:
    """True where no predicate can start after the word before: "the", "of", "and", "zoo's"."""
    before = words[i - 1]
    word = bare(before)
    if before.endswith(("'s", "’s", "s'", "s’")) and "\u00a0" not in before:
        return True
    stopped = word in ARTICLES | POSSESSIVES | CONJUNCTIONS | PREPOSITIONS
    return stopped or (word in DETERMINER_WORDS and word not in POINTERS and i == 2)


def in_name(words: Sequence[str], i: int) -> bool:
    """True for a word with a capital behind another one: "Die Hard"."""
    return words[i][:1].isupper() and words[i - 1][:1].isupper() and i > 1


def before_verb(words: Sequence[str], i: int) -> float:
    before = words[i - 1]
    word, found = bare(before), tags(before)
    if word in ANYONES or "pron" in found:
        return 1.5
    if word in ADVERBS:
        return 0.3
    if is_plural(before):
        return 1.0
    if found & {"P"} or (before[:1].isupper() and words[i].islower()):
        return 0.8
    if found & {"n", "g"} or not found:
        return 0.5
    if "a" in found:
        return -1.2 if "det" not in tags(words[i - 2]) else -0.6
    return 0.0


def after_verb(following: str, verb: str) -> float:
    word, found = bare(following), tags(following)
    if not following or verb.endswith((",", ";")):
        return 0.0
    if word in {"be", "been"}:
        return -3.0
    if found & {"det", "pron", "wh", "#"}:
        return 1.0
    if found & {"prep", "r"} or word in DEGREES:
        return 0.5
    if is_plural(following) or "P" in found:
        return 0.7
    if "v" in found and "n" not in found:
        return -1.0 if bare(verb) not in BEFORE_BASE else 0.5
    return 0.4 if "a" in found else 0.2
