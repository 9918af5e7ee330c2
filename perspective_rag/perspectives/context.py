"""The sentences of a question, and what its pronouns stand for."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.perspectives.statements import auxiliary_of, subject_end
from perspective_rag.perspectives.words import (
    ARTICLES,
    AUXILIARIES,
    DETERMINER_WORDS,
    EDGES,
    POSSESSIVES,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    finite_verb,
    is_plural,
    tags,
    upper_first,
)

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st rev gen sen e.g i.e vs v cf approx etc inc ltd jr no".split()
)
_BEFORE_NAMES = frozenset("mr mrs ms dr prof st rev gen sen e.g i.e vs v".split())
_ANNOUNCES = frozenset("to that for if when whether who what how".split())


def sentences(words: Sequence[str]) -> list[list[str]]:
    """The sentences of a text given as words, each with its end mark."""
    found: list[list[str]] = [[]]
    for i, word in enumerate(words):
        found[-1].append(word)
        if _ends(word, words[i + 1] if i + 1 < len(words) else ""):
            found.append([])
    return [each for each in found if any(bare(word) for word in each)]


def _ends(word: str, following: str) -> bool:
    closed = word.rstrip("\"'”’)]")
    if closed.endswith(("?", "!", "…")):
        return True
    core = closed.rstrip(".").lower().lstrip("\"'“(")
    if not closed.endswith(".") or core in _BEFORE_NAMES:
        return False
    short = core in _ABBREVIATIONS or len(core) == 1 or "." in core
    starts = bare(following) in AUXILIARIES | WH_WORDS | SUBJECT_PRONOUNS | DETERMINER_WORDS
    return not short or (following[:1].isupper() and starts)


def resolved(text: str, nouns: Sequence[str]) -> str | None:
    """A statement with its pronouns replaced by what they stand for; unchanged where it has none to
    replace, None where one stands for nothing that is known.
    """
    words = text.split(" ")
    first, second = bare(words[0]), bare(words[1 % len(words)])
    if bare(words[-1]) in {"so", "it", "this", "that"} and bare(words[-2 % len(words)]) == "do":
        return None
    if first in {"this", "that", "these", "those"} and second in AUXILIARIES:
        return None  # what was said before as a whole
    personal = first in {"they", "he", "she"} or (first == "it" and not announces(words))
    if not personal:
        return _objects(words, nouns)
    noun = _fitting(nouns, plural=first == "they")
    named = None if noun is None else _objects([*noun.split(" "), *words[1:]], nouns)
    return None if named is None else upper_first(named)


def announces(words: Sequence[str]) -> bool:
    """True where "it" announces a clause or a time: "It is wrong to lie"."""
    rest = [bare(word) for word in words[1:]]
    doing = any("g" in tags(word) for word in rest[2:4])
    announced = _ANNOUNCES - ({"for"} if "to" not in rest else set())
    return doing or "time" in rest or not announced.isdisjoint(rest[1:])


def _objects(words: Sequence[str], nouns: Sequence[str]) -> str | None:
    """The words with "it" and "them" behind a verb replaced, where the sentence does not say what
    they are.
    """
    kept = list(words)
    for i, word in enumerate(words):
        core = bare(word)
        if i == 0 or core not in {"it", "them"} or bare(words[i - 1]) == "as":
            continue
        inside = any(bare(each) in SUBORDINATORS for each in words[:i])
        if inside or (core == "it" and announces(words[i:])) or _noun_before(words[:i], core):
            continue
        noun = _fitting(nouns, plural=core == "them")
        if noun is None and nouns:
            return None
        kept[i] = word if noun is None else word.lower().replace(core, noun, 1)
    return " ".join(kept)


def _noun_before(words: Sequence[str], pronoun: str) -> bool:
    """True where an object before the pronoun can be what it stands for."""
    wanted = "s" if pronoun == "them" else "n"
    later = words[(finite_verb(words) or 0) + 1 :]
    return any(wanted in tags(word) and "v" not in tags(word) for word in later)


def _fitting(nouns: Sequence[str], *, plural: bool) -> str | None:
    return next((noun for noun in nouns if is_plural_phrase(noun) == plural), None)


def is_plural_phrase(phrase: str) -> bool:
    """Whether a noun phrase stands for several things; doing something is one thing."""
    words = phrase.split(" ")
    if len(words) > 1 and words[0].endswith("ing") and "g" in tags(words[0]):
        return False
    head = next((i for i, word in enumerate(words) if i and bare(word) in PREPOSITIONS), len(words))
    return is_plural(words[head - 1]) or " and " in f" {phrase} "


def antecedents(context: Sequence[Sequence[str]]) -> list[str]:
    """What pronouns after these sentences can stand for, likeliest first: their subjects, the last
    sentence's first, then the other nouns; what somebody is doing or wants to do before its doer
    ("Schools are introducing uniforms").
    """
    subjects: list[str] = []
    others: list[str] = []
    for sentence in reversed(context):
        words = [word.rstrip("?!.;") for word in sentence if bare(word)]
        start = _lead(words)
        if start >= len(words):
            continue
        personal = bare(words[0]).partition("'")[0] in SUBJECT_PRONOUNS
        doing = start if start > 1 else _gerund(words, "prep") if personal else None
        if doing is not None and "g" in tags(words[doing]):
            subjects.append(" ".join(words[doing:]).rstrip(",:"))  # "I'm thinking of moving"
        auxiliary = auxiliary_of(words[start])
        if auxiliary is not None:
            end = subject_end(words[start:], auxiliary) or 0
            subject = words[start + 1 : start + end]
            rest = words[start + end + 1 :]
        else:
            verb = None if start else finite_verb(words, trusted=True)
            subject = words[:verb] if verb else []
            rest = words[start if verb is None else verb + 1 :]
            plain = [bare(word) for word in rest[:4]]
            place = plain.index("to") if "to" in plain else _gerund(rest[:4], "")
            if verb and place is not None and "being" not in plain:
                subjects += _nouns(rest[place:])[:1]
        phrase = noun_phrase(subject)
        subjects += [phrase] if phrase else []
        others += _nouns(rest)
    return list(dict.fromkeys([*subjects, *others]))


def _gerund(words: Sequence[str], behind: str) -> int | None:
    """The place of the first -ing form, that is no noun or stands behind a word with a tag."""
    for i, word in enumerate(words[:7]):
        before = tags(words[i - 1]) if i else frozenset[str]()
        if "g" in tags(word) and (behind in before if behind else "n" not in tags(word)):
            return i
    return None


def _lead(words: Sequence[str]) -> int:
    """How many words open a sentence before a noun phrase of interest: "With", "What's wrong
    with", "What do you think about".
    """
    first = bare(words[0]).removesuffix("'s") if words else ""
    if first in PREPOSITIONS - {"that", "like"}:
        return 1
    if first not in WH_WORDS:
        return 0
    links = (i for i, word in enumerate(words[:8]) if bare(word) in {"with", "about", "of", "on"})
    return next(links, len(words)) + 1


def noun_phrase(words: Sequence[str]) -> str | None:
    """The words as a noun phrase without adverbs at its end; None for pronouns."""
    kept = [word.strip(",;:\"'") for word in words]
    while kept and "r" in tags(kept[-1]) and not tags(kept[-1]) & {"n", "s", "P"}:
        kept.pop()
    if not kept or bare(kept[0]) in SUBJECT_PRONOUNS | {"who"}:
        return None
    if bare(kept[0]) in {"my", "our", "your"}:
        kept[0] = "the"
    nouns = any(tags(word) & {"n", "s", "P", "g"} or not tags(word) for word in kept)
    return " ".join(kept) if nouns else None


def _nouns(words: Sequence[str]) -> list[str]:
    """The noun phrases of some words: an article or adjectives, and the nouns behind them, with
    what "of" or "on" adds ("a tax on sugar").
    """
    found: list[str] = []
    current: list[str] = []
    link = ""
    for i, word in enumerate([*words, ""]):
        kind, core = tags(word), bare(word)
        if i and bare(words[i - 1]) == "to" and "v" in kind:
            continue  # "to talk about taxes"
        joins = core in {"of", "on"} and bool(current)
        named = bool(current) and current[-1][:1].isupper() and word.islower()
        moving = "g" in kind and bool(current) and ("n" not in kind or named)
        content = (bool(core) and not kind) or bool(kind & {"n", "s", "P", "#", "a"})
        content = (content or "-" in core) and not moving and "aux" not in kind
        opens = core in ARTICLES | POSSESSIVES
        stops = not content or core in DETERMINER_WORDS | PREPOSITIONS
        if current and (stops or opens or current[-1][-1] in ",;:"):
            phrase = noun_phrase(current)
            if phrase and bare(phrase) not in ARTICLES:
                found.append(phrase.strip(EDGES))
                if link and len(found) > 1:
                    found[-2:] = [f"{found[-2]} {link} {found[-1]}"]
            current, link = [], core if joins else ""
        if (content and not stops) or opens:
            current.append(word)
    return found
