"""What stands around the matter of a question, and is taken off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.perspectives.statements import CONDITIONS, auxiliary_of
from perspective_rag.perspectives.words import (
    ARTICLES,
    AUXILIARIES,
    CLOSED,
    CONJUNCTIONS,
    OBJECT_PRONOUNS,
    POSSESSIVES,
    PREPOSITIONS,
    WH_WORDS,
    bare,
    finite_verb,
    readings,
    tags,
)

# Words of talking about a question; a piece that has no others says nothing about its matter.
_TALK = frozenset(
    """
    think say believe agree disagree feel reckon know see tell ask wonder understand explain
    discuss debate comment question answer opinion view thought idea take stance side argument
    point topic motion statement claim resolve proposition poll quick simple serious honest
    random silly stupid dumb weird short curious hot right wrong true false correct fair valid
    sure myth fact fiction reality honestly seriously personally basically generally frankly
    please pls thank thanks cheers ok okay well hi hello hey yo guy folk friend sorry maybe
    perhaps yes no pro con anti favour favor strongly somewhat neutral undecided following
    regard advance lol tbh imo imho bit mind way people justify reason extent degree speak stand
    yay nay humble personal sense actually truth evidence
    """.split()
)
_CLOSED = CLOSED | frozenset("i'm i've i'd let's".split())
_COURTESY = frozenset("please pls thanks thank lol tbh imo imho cheers mate".split())
_LEADS = frozenset(
    "ok okay so well hi hey hello and but also please now um uh like yo honestly seriously"
    " actually oh then look sorry hmm".split()
)
_SURE_LEADS = _LEADS - {"like", "then", "now", "so"}
# Verbs and nouns whose clause says what they are about.
_REPORTS = frozenset(
    "say claim argue think believe disagree insist maintain reckon tell hear read assert"
    " suggest state hold know realise realize feel declare warn write agree admit accept"
    " convince deny guess suppose find decide discuss acknowledge swear announce keep".split()
)
_THOUGHT = frozenset(
    "think believe say feel claim argue reckon guess hear suppose insist agree know swear tell"
    " read".split()
)
_NOUNS = frozenset(
    "idea claim view notion argument belief statement theory opinion proposition fact"
    " suggestion motion proposal myth lie hoax".split()
)
_TRUTHS = frozenset(
    "true false fiction case fact correct likely certain clear obvious doubt possible".split()
)
_THERE = frozenset("it it's there there's".split())
_ASKED_IF = frozenset(
    "wonder know sure ask see unsure say tell decide curious explain check confirm".split()
)
# What may stand between a verb of saying and its clause.
_BETWEEN = (
    OBJECT_PRONOUNS - {"it"} | _COURTESY | frozenset("kindly somewhere recently online".split())
)
SUBJECTS = frozenset("it they he she we you there this that these".split())
_ASKING = frozenset("how what why which who".split())
_PERSONS = frozenset("i you we me us people anyone anybody someone somebody".split())


@dataclass(frozen=True, slots=True)
class Core:
    """The clause that a question is about. ``said``: in the order of a statement."""

    words: list[str]
    said: bool


def lemma_in(word: str, lemmas: frozenset[str]) -> bool:
    """Whether a word is one of the lemmas or a form of one."""
    core = bare(word)
    forms = (lemma for lemma, _ in readings(core))
    return not lemmas.isdisjoint({core, core.removesuffix("s"), *forms})


def is_talk(words: Sequence[str]) -> bool:
    """True for words that say nothing of a matter: "what do you think", "quick question", "is that
    so", "agree or disagree".
    """
    for word in words:
        core = bare(word)
        stem = re.sub(r"(?:n't|'(?:s|m|d|ve|re|ll))$", "", core)
        if core and stem not in _CLOSED and not lemma_in(stem, _TALK):
            return False
    return True


def pieces(words: Sequence[str]) -> list[list[str]]:
    """The words up to each comma, colon and dash."""
    found: list[list[str]] = [[]]
    for word in words:
        found[-1].append(word)
        if word.endswith((",", ";", ":")) or not bare(word):
            found.append([])
    return [piece for piece in found if piece]


def trimmed(words: Sequence[str]) -> list[str]:
    """The words of a sentence without pieces of talk at its ends ("Quick question:", ", don't you
    think?"), courtesy and ", or not".
    """
    if [bare(word) for word in words[:2]] == ["to", "what"] and auxiliary_of(words[3 % len(words)]):
        words = words[3:]  # "To what extent is ..."
    parts = pieces(words)
    while len(parts) > 1 and is_talk(parts[0]):
        parts = parts[1:]
    while len(parts) > 1 and is_talk(parts[-1]) and not _belongs(parts[-1]):
        parts = parts[:-1]
    kept = [word for part in parts for word in part]
    for i in range(3, len(kept) - 2):
        link, following = bare(kept[i]), bare(kept[i + 1])
        adds = (link == "or" and auxiliary_of(following) is not None) or (
            link in {"and", "but"} and following in {"i", "we"}
        )
        depends = [link, following] == ["and", "if"] and bare(kept[i + 2]) in {"so", "yes"}
        if depends or (adds and is_talk(kept[i:])):
            kept = kept[:i]  # "or is that a myth?", "but I am not sure", "and if so, when"
            break
    while len(kept) > 2 and bare(kept[0]) in (_LEADS if auxiliary_of(kept[1]) else _SURE_LEADS):
        kept = kept[1:]
    asks = words[-1].rstrip("\"'”’)").endswith("?")
    while len(kept) > 2:
        plain = [bare(word) for word in kept[-3:]]
        ending = plain[1:] in (["or", "not"], ["or", "no"], ["or", "what"], ["thank", "you"])
        size = 3 if plain == ["yes", "or", "no"] else 2 if ending else 1
        if size == 1 and plain[2] and plain[2] not in _COURTESY:
            break
        kept = kept[:-size]
    if not kept:
        return list(words)
    last = kept[-1].rstrip(",;:")
    return [*kept[:-1], f"{last}?" if asks and not last.rstrip("\"'”’)").endswith("?") else last]


def _belongs(piece: Sequence[str]) -> bool:
    """True for a last piece that is part of the matter: ", or fair?", ", not during it"."""
    plain = [bare(word) for word in piece]
    spoken = any(word not in _CLOSED | {"no"} for word in plain[1:])
    if plain[0] == "or":
        return spoken
    return not spoken and plain[0] in _CLOSED - AUXILIARIES - WH_WORDS - {"and"}


def core_of(words: Sequence[str], *, judged: bool = False) -> Core:
    """The clause inside a question; the words themselves where nothing is wrapped around them.

    ``judged``: another sentence asks whether it is true ("Is that so?").
    """
    said = False
    kept = trimmed(_asked_behind(words))
    if bare(kept[0]) == "that" and bare(words[0]) != "that" and len(kept) > 3:
        kept, said = kept[1:], True  # "Resolved: that ..."
    for _ in range(4):
        inner = _inner(kept, judged)
        if inner is None or len(inner) < 2:
            break
        kept, said = trimmed(_asked_behind(inner)), True
    if len(kept) == 1 and "\u00a0" in kept[0]:  # a quotation
        kept, said = kept[0].strip('"“”?').split("\u00a0"), True
    asks = auxiliary_of(kept[0]) is not None or bare(kept[0]).removesuffix("'s") in WH_WORDS
    return Core(kept, said and not asks)


def _asked_behind(words: Sequence[str]) -> list[str]:
    """The yes/no question behind what only leads to it ("With the World Cup coming, should ...",
    "Dead languages: should ...", "tell me honestly is ..."); a condition stays.
    """
    kept = list(words)
    if auxiliary_of(kept[0]) is not None:
        plain = [bare(word) for word in kept]
        alone = (i + 2 for i in range(2, 5) if plain[i : i + 2] == ["me", "or"])
        return kept[next(alone, 0) :] or kept  # "Is it just me or are ..."
    wh = bare(kept[0]).removesuffix("'s") in WH_WORDS - {"when", "where"}
    condition = bare(kept[0]) in CONDITIONS
    for i in range(len(kept) - 3, 0, -1):
        before = kept[i - 1]
        linked = bare(before) in {"but", "so", "and", "now", "then"} and i > 1
        ends = (kept[i - 2] if linked else before).endswith((",", ";", ":")) or not bare(before)
        spoken = bare(before) not in _CLOSED and not tags(before) & {"n", "s"}
        asks = auxiliary_of(kept[i]) is not None
        late = ends and bare(kept[i]) in _ASKING and auxiliary_of(kept[i + 1]) is not None
        if not (late or (asks and (ends or (spoken and is_talk(kept[:i]))))):
            continue
        if bare(kept[i + 1]) in {"whether", "be"} or (
            wh and (late or bare(kept[i + 1]) not in SUBJECTS)
        ):
            continue
        if is_talk(kept[i:]) and len(kept) - i < 9:
            continue  # ", isn't it?"
        return kept if condition and not linked else kept[i:]
    return kept


def _inner(words: Sequence[str], judged: bool) -> list[str] | None:
    """The clause that a verb of saying, thinking or asking takes: "I wonder whether ...", "Do you
    think that ...", "My boss says ...", "Is it true that ..."; None where there is none.
    """
    plain = [bare(word) for word in words]
    asked = auxiliary_of(words[0]) is not None
    asks = asked or plain[0].removesuffix("'s") in WH_WORDS
    personal = not asked or not _PERSONS.isdisjoint(plain[1:4])
    if plain[0] == "thbt":
        return list(words[1:])
    if plain[:2] == ["should", "i"]:
        return None
    for i in range(min(len(plain) - 1, 60)):
        word, rest = plain[i], list(words[i + 1 :])
        last = i - 1
        while last > 0 and plain[last] in _BETWEEN:
            last -= 1
        before = plain[last] if i else ""
        if word in {"should", "must", "ought"} and not asks:
            return None  # "People should know that ..."
        if word == "whether" or (word == "if" and i and lemma_in(before, _ASKED_IF)):
            return _clause(rest) if personal else None
        if word == "that" and i:
            truth = before in _TRUTHS and not _THERE.isdisjoint(plain[:2])
            reports = personal and (
                lemma_in(before, _REPORTS) or (plain[0] == "how" and "you" in plain[:i])
            )
            noun = before in _NOUNS and i < 9
            if asked and personal and reports and len(rest) > 2:
                return rest
            adds = asked and personal and any(lemma_in(each, _THOUGHT) for each in plain[2:4])
            if (truth or reports or noun or adds) and _is_clause(rest):
                return rest
        thinks = i and lemma_in(word, _THOUGHT) and not words[i].endswith((",", ":"))
        if thinks and i < 9 and before != "to" and plain[i + 1] != "that":
            if plain[i + 1] in OBJECT_PRONOUNS - {"it", "her"} and len(rest) > 3:
                rest = rest[1:]
            if bare(rest[0]) == "like" and len(rest) > 3:  # "feel like"
                rest = rest[1:]
            if bare(rest[0]) in {"that", "if"} | _BETWEEN - OBJECT_PRONOUNS:
                continue
            wh = plain[0] in WH_WORDS and plain[1] != "else"
            wh = wh and (plain[0] != "why" or "you" in plain[:4])  # "Why do critics say ..."
            by_person = personal and (not asked or i < 7) and not wh
            noun = before in ARTICLES | POSSESSIVES
            if by_person and not noun and _is_clause(rest, strictly=not judged):
                return rest
    if plain[:1] == ["that"] and len(plain) > 3 and "det" in tags(plain[1]):
        return list(words[1:])  # a motion: "That the council be dissolved"
    return None


def _clause(words: list[str]) -> list[str]:
    return words[2:] if [bare(word) for word in words[:2]] == ["or", "not"] else words


def _is_clause(words: Sequence[str], *, strictly: bool = False) -> bool:
    if len(words) < 2 or bare(words[0]) in PREPOSITIONS - {"that"} | CONJUNCTIONS | WH_WORDS:
        return False
    if auxiliary_of(words[0]) is not None:
        return not strictly or len(words) > 3
    contracted = any(bare(word).endswith(("n't", "'re", "it's")) for word in words)
    return contracted or finite_verb(words, trusted=not strictly) is not None or "be" in words
