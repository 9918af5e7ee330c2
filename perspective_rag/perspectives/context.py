"""The sentences of a question, and what its pronouns stand for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perspective_rag.perspectives.clauses import auxiliary_of, subject_end
from perspective_rag.perspectives.words import (
    ADVERBS,
    ARTICLES,
    DETERMINER_WORDS,
    EDGES,
    POSSESSIVES,
    PREPOSITIONS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    finite_verb,
    is_plural,
    tags,
    upper_first,
)

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof rev hon gen sen rep st mt vs v no e.g i.e cf approx etc inc ltd co jr sr"
    " u.s u.k u.n e.u d.c".split()
)
# Adjectives and verbs after which "it" announces a clause: "it is wrong to lie".
_ANNOUNCES = frozenset("to that for if when whether who what how".split())
_DO_SO = frozenset("so it this that".split())
_TAIL = frozenset("now today here everywhere lately recently again".split())


def sentences(words: Sequence[str]) -> list[list[str]]:
    """The sentences of a text given as words, each with its end mark."""
    found: list[list[str]] = []
    current: list[str] = []
    for i, word in enumerate(words):
        current.append(word)
        following = words[i + 1] if i + 1 < len(words) else ""
        if _ends(word, following):
            found.append(current)
            current = []
    if current:
        found.append(current)
    return [each for each in found if any(bare(word) for word in each)]


def _ends(word: str, following: str) -> bool:
    closed = word.rstrip("\"'”’)]")
    if closed.endswith(("?", "!", "…")):
        return True
    if closed.endswith(";") or word in {"-", "–", "—"}:
        return auxiliary_of(following) is not None if following else False
    if not closed.endswith("."):
        return False
    core = closed.rstrip(".").lower().lstrip("\"'“(")
    short = core in _ABBREVIATIONS or (len(core) == 1 and core.isalpha()) or "." in core
    if not short:
        return True
    return core not in {"vs", "v", "mr", "mrs", "ms", "dr", "e.g", "i.e", "st", "prof"} and bool(
        following[:1].isupper() and bare(following) in _STARTERS
    )


_STARTERS = frozenset(
    "is are should do does did can could would will what which who how why when it they this these"
    " the i my we but and so".split()
)


def resolved(text: str, antecedents: Sequence[str]) -> str | None:
    """A statement with its pronouns replaced by what they stand for; unchanged where it has none to
    replace, None where one stands for nothing that is known.
    """
    words = text.split(" ")
    if bare(words[-1]) in _DO_SO and bare(words[-2]) == "do":
        return None
    first = bare(words[0])
    if first in {"this", "that", "these", "those"} and _alone(words):
        return None  # what was said before as a whole
    if first == "they":
        noun = _fitting(antecedents, plural=True)
    elif first == "it":
        if announces(words):
            return _objects(words, antecedents)
        noun = _fitting(antecedents, plural=False)
    elif first in {"he", "she"}:
        noun = _fitting(antecedents, plural=False)
    else:
        return _objects(words, antecedents)
    if noun is None:
        return None
    named = _objects([*noun.split(" "), *words[1:]], antecedents)
    return None if named is None else upper_first(named)


def announces(words: Sequence[str]) -> bool:
    """True where "it" announces a clause or a time: "It is wrong to lie"."""
    rest = [bare(word) for word in words[1:]]
    if any(word in _ANNOUNCES for word in rest[1:]):
        return True
    return any("g" in tags(word) for word in rest[2:4]) or "time" in rest or "late" in rest


def _alone(words: Sequence[str]) -> bool:
    """True for "this" or "these" without a noun of their own."""
    return len(words) > 1 and bool(tags(words[1]) & {"aux"})


def _objects(words: Sequence[str], antecedents: Sequence[str]) -> str | None:
    """The words with "it" and "them" behind a verb replaced, where the sentence does not say what
    they are.
    """
    kept = list(words)
    for i, word in enumerate(words):
        core = bare(word)
        if i == 0 or core not in {"it", "them"}:
            continue
        earlier = words[:i]
        if core == "it" and (announces(words[i:]) or bare(words[i - 1]) == "as"):
            continue
        if any(bare(each) in SUBORDINATORS for each in earlier) or _noun_before(earlier, core):
            continue
        noun = _fitting(antecedents, plural=core == "them")
        if noun is None:
            if antecedents:
                return None
            continue
        kept[i] = word.lower().replace(core, noun, 1)
    return " ".join(kept)


def _noun_before(words: Sequence[str], pronoun: str) -> bool:
    """True where an object before the pronoun can be what it stands for."""
    verb = finite_verb(words)
    later = words[(verb or 0) + 1 :]
    wanted = "s" if pronoun == "them" else "n"
    return any(wanted in tags(word) and "v" not in tags(word) for word in later)


def _fitting(antecedents: Sequence[str], *, plural: bool) -> str | None:
    for noun in antecedents:
        if is_plural_phrase(noun) == plural:
            return noun
    return None


def is_plural_phrase(phrase: str) -> bool:
    words = phrase.split(" ")
    if len(words) > 1 and words[0].endswith("ing") and "g" in tags(words[0]):
        return False  # doing something is one thing
    head = next((i for i, word in enumerate(words) if i and bare(word) in PREPOSITIONS), len(words))
    return is_plural(words[head - 1]) or " and " in f" {phrase} "


def antecedents(context: Sequence[Sequence[str]]) -> list[str]:
    """What pronouns after these sentences can stand for, likeliest first: their subjects, the last
    sentence's first, then the other nouns.
    """
    subjects: list[str] = []
    others: list[str] = []
    for sentence in reversed(context):
        words = [word.rstrip("?!.;") for word in sentence]
        if not words:
            continue
        lead = _leading(words)
        words = words[lead:]
        if not words:
            continue
        auxiliary = auxiliary_of(words[0])
        verb: int | None
        if auxiliary is not None:
            words, verb = words[1:], (subject_end(words, auxiliary) or 2) - 1
        else:
            verb = finite_verb(words, trusted=True)
        found = _nouns(words[(verb + 1) if verb is not None and lead == 0 else 0 :])
        doing = _considered(words)
        if doing:
            subjects.append(doing)
        if verb is not None and lead == 0:
            if _brings_up(words[verb:]):
                subjects += found[:1]  # what the sentence brings up is what comes next
            phrase = noun_phrase(words[:verb])
            if phrase:
                subjects.append(phrase)
        others += found
    return list(dict.fromkeys([*subjects, *others]))


def _considered(words: Sequence[str]) -> str | None:
    """What "I'm thinking of becoming a vegetarian" considers doing: "becoming a vegetarian"."""
    plain = [bare(word) for word in words]
    for i, word in enumerate(plain[:6]):
        opens = plain[i : i + 2] in (["thinking", "of"], ["thinking", "about"], ["plan", "on"])
        start = i + 2 if opens else i + 1 if word == "considering" else 0
        if start and start < len(words) and plain[start].endswith("ing"):
            return " ".join(word.strip(",;:.") for word in words[start:])
    return None


_BRINGS = ("introduc", "propos", "consider", "adopt", "discuss", "debat")


def _brings_up(words: Sequence[str]) -> bool:
    """True where somebody introduces or considers something: "are introducing uniforms"."""
    for word, following in pairwise(words[:6]):
        if bare(word).startswith(_BRINGS):
            passive = bare(word).endswith("ed") and bare(following) in PREPOSITIONS
            return not passive and "v" not in tags(following)
    return False


def _leading(words: Sequence[str]) -> int:
    """How many words open a sentence before a noun phrase of interest: "With", "What's wrong
    with", "What do you think about".
    """
    first = bare(words[0])
    if first in PREPOSITIONS and first not in {"that", "like"}:
        return 1
    if first.removesuffix("'s") in WH_WORDS:
        places = [
            i for i, word in enumerate(words[:8]) if bare(word) in {"with", "about", "of", "on"}
        ]
        return places[0] + 1 if places else len(words)
    return 0


def noun_phrase(words: Sequence[str]) -> str | None:
    """The words as a noun phrase without adverbs at its end; None for pronouns."""
    kept = [word.strip(",;:") for word in words]
    while kept and (bare(kept[-1]) in ADVERBS | _TAIL or "r" in tags(kept[-1]) - {"n"}):
        if tags(kept[-1]) & {"n", "s", "P"}:
            break
        kept.pop()
    if not kept or bare(kept[0]) in {"i", "we", "you", "he", "she", "it", "they", "there", "who"}:
        return None
    if bare(kept[0]) in {"my", "our", "your"}:
        kept[0] = "the"
    found = [tags(word) & {"n", "s", "P", "g"} or not tags(word) for word in kept]
    return " ".join(_plain(kept)) if any(found) else None


def _plain(words: Sequence[str]) -> list[str]:
    return [word if word in {"I"} else word.strip("\"'") for word in words]


def _nouns(words: Sequence[str]) -> list[str]:
    """The noun phrases of some words: an article or adjectives, and the nouns behind them."""
    found: list[str] = []
    current: list[str] = []
    for word in [*words, ""]:
        kind = tags(word)
        core = bare(word)
        after_name = bool(current) and current[-1][:1].isupper() and word.islower()
        moving = "g" in kind and bool(current) and ("n" not in kind or after_name)
        content = (not moving and bool(kind & {"n", "s", "P", "#", "a"})) or (
            bool(core) and (not kind or "-" in core)  # "lab-grown" describes a noun
        )
        opens = core in ARTICLES | POSSESSIVES
        stop = not content or core in DETERMINER_WORDS | PREPOSITIONS or "aux" in kind
        if current and (stop or opens):
            phrase = noun_phrase(current)
            if phrase and not all(bare(each) in ARTICLES for each in current):
                found.append(phrase)
            current = []
        if (content and not stop) or opens:
            current.append(word)
        if word and word[-1] in ",;:" and current:
            phrase = noun_phrase(current)
            if phrase:
                found.append(phrase)
            current = []
    return [each.strip(EDGES) for each in _with_objects(found, words)]


_TAKES = frozenset(
    "law laws ban bans tax taxes bill rule rules limit limits right rights fee fees duty plan plans"
    " proposal campaign subsidy subsidies sanction sanctions".split()
)


def _with_objects(phrases: Sequence[str], words: Sequence[str]) -> list[str]:
    """The phrases, a law or a tax with what it is against or on: "a tax on sugar"."""
    text = " ".join(word.strip(",;:") for word in words)
    made = []
    for i, phrase in enumerate(phrases):
        following = phrases[i + 1] if i + 1 < len(phrases) else ""
        for link in ("on", "against", "for", "of"):
            joined = f"{phrase} {link} {following}"
            if following and phrase.split(" ")[-1] in _TAKES and joined in text:
                phrase = joined
                break
        made.append(phrase)
    return made
