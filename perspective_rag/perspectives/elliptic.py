"""Follow-ups without a verb of their own: "and in Europe?", "what about the cost?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from perspective_rag.perspectives.clauses import auxiliary_of, subject_end
from perspective_rag.perspectives.words import (
    ARTICLES,
    DETERMINER_WORDS,
    PREPOSITIONS,
    WH_WORDS,
    bare,
    is_plural,
    mid_sentence,
    tags,
    vocabulary,
)

MOST_WORDS = 8

PEOPLE = frozenset(
    """
    children kids teenagers teens adolescents adults women men girls boys parents mothers fathers
    teachers students pupils workers employees employers patients doctors nurses elderly seniors
    pensioners people voters citizens immigrants migrants refugees tenants owners drivers families
    babies toddlers minors consumers customers users athletes prisoners disabled poor rich animals
    pets visitors tourists farmers residents boyfriends husbands wives smokers drinkers vegetarians
    cyclists pedestrians commuters family child teenager adult student
    """.split()
)
_ASPECTS = frozenset(
    """
    cost costs price money privacy safety security health environment climate economy jobs freedom
    rights democracy justice equality fairness ethics law laws science evidence history education
    culture religion tradition technology inflation growth poverty crime pollution emissions waste
    energy biodiversity nature welfare risk risks benefits effects alternatives exceptions
    enforcement responsibility trust quality time future progress innovation competition taxes
    """.split()
)
_PLACES = frozenset(
    """
    africa america asia australia europe britain england scotland wales ireland france germany
    italy spain portugal poland sweden norway denmark finland netherlands belgium austria
    switzerland greece turkey russia ukraine china japan korea india pakistan brazil mexico canada
    argentina egypt nigeria kenya israel iran us usa uk eu u.s u.k london paris berlin california
    """.split()
)
_NOT_ALONE = frozenset("than as like versus vs of".split())
_OPENING = (PREPOSITIONS | {"except"}) - _NOT_ALONE
_CONDITIONS = frozenset("if when unless once while because until provided assuming".split())
_ABOUT = re.compile(
    r"^(?:(?:and )?(?:what|how) about|what of|as for|regarding|concerning|as to|about)"
    r" (?P<rest>.+)$",
    re.IGNORECASE,
)
_TAIL = frozenset("then too instead though either again".split())

Sort = Literal["number", "name", "people", "other"]


def with_preposition(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The question before with this phrase: in the place of its own with the same preposition where
    the two are of one sort, else behind it ("and for teenagers?", "what about in Europe?").
    """
    words = _plain(_rest(words) or words)
    if words and bare(words[0]) in {"even", "also", "only", "just", "especially", "not"}:
        words = words[1:]
    first = bare(words[0]) if words else ""
    if not 2 <= len(words) <= MOST_WORDS or first not in _OPENING:
        return None
    if _asks(words) or first in {"about", "regarding", "concerning"}:
        return None
    head, tail = _split(earlier)
    place = _same_preposition(head, first, _sort(words[1:]))
    if place is None:
        return " ".join([*head, *words]) + tail
    start, end = place
    return " ".join([*head[:start], *words, *head[end:]]) + tail


def condition(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "And if it is voluntary?", "even when they are older?": behind the question before."""
    plain = [bare(word) for word in words]
    if plain[:2] in (["what", "if"], ["how", "about"]) and plain[1:2] == ["if"]:
        words, plain = words[1:], plain[1:]
    leading = 1 if plain[0] in {"even", "only", "but", "especially"} else 0
    if len(words) < leading + 3 or plain[leading] not in _CONDITIONS:
        return None
    if plain[leading] == "when" and auxiliary_of(words[leading + 1]):
        return None  # "When did Ghana become independent?"
    if any(word.endswith(",") for word in words):
        return None  # "If robots do the work, should ...": a question of its own
    head, tail = _split(earlier)
    return " ".join([*head, *words]) + tail


def about(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The question before of something else, or seen from another side: "what about circuses?",
    "and the cost?".
    """
    rest = _rest(words)
    if rest is None and not opened:
        return None
    phrase = _plain(words if rest is None else rest)
    if not 1 <= len(phrase) <= MOST_WORDS or _asks(phrase):
        return None
    first = tags(phrase[0])
    if first & {"prep", "wh", "conj"} or bare(phrase[0]) in {"it", "that", "this", "they", "them"}:
        return None
    if rest is None and not _is_phrase(phrase):
        return None
    if "g" in first and "n" not in first and len(phrase) > 1:
        return None  # "what about banning cars?" stands alone
    head, tail = _split(earlier)
    place = _replaced(head, phrase)
    if place is not None:
        start, end = place
        return " ".join([*head[:start], *phrase, *head[end:]]) + tail
    if bare(phrase[-1]) in _PLACES:
        return with_preposition(["in", *phrase], earlier, opened)
    seen = mid_sentence(" ".join(phrase))
    return f"considering {seen}, {mid_sentence(' '.join(head))}{tail}"


def _rest(words: Sequence[str]) -> list[str] | None:
    match = _ABOUT.match(" ".join(words))
    return match["rest"].split(" ") if match else None


def _plain(words: Sequence[str]) -> list[str]:
    kept = [word.strip(",;:") for word in words]
    while len(kept) > 1 and bare(kept[-1]) in _TAIL:
        kept.pop()
    if kept[-2:] == ["as", "well"]:
        kept = kept[:-2]
    return [word for word in kept if word]


def _asks(words: Sequence[str]) -> bool:
    return any(auxiliary_of(word) or bare(word) in WH_WORDS for word in words)


def _is_phrase(words: Sequence[str]) -> bool:
    """True for what is a noun phrase by its last word, and opens no sentence."""
    last = tags(words[-1])
    opens = bare(words[0]) in ARTICLES or not (tags(words[0]) & {"pron", "aux", "r"})
    found = tags(words[0])
    base = "v" in found and (found == {"v"} or (len(words) > 2 and not found & {"n", "a", "det"}))
    return opens and not base and (bool(last & {"n", "s", "P", "g"}) or not last)


def _split(earlier: Sequence[str]) -> tuple[list[str], str]:
    """The question up to a colon, and the rest as it stood."""
    for i, word in enumerate(earlier[:-1]):
        if word.endswith(":"):
            return [*earlier[:i], word[:-1]], f": {' '.join(earlier[i + 1 :])}"
    return list(earlier), ""


def _same_preposition(head: Sequence[str], wanted: str, sort: Sort) -> tuple[int, int] | None:
    """Where the last phrase with this preposition and of this sort begins and ends."""
    border = _subject_end(head)
    for start in range(len(head) - 2, 0, -1):
        if bare(head[start]) != wanted:
            continue
        end = border if border is not None and start < border else len(head)
        found = _sort(head[start + 1 : end])
        alike = {found, sort} <= {"people", "other"} if wanted == "for" else found == sort
        return (start, end) if alike else None
    return None


def _subject_end(head: Sequence[str]) -> int | None:
    auxiliary = auxiliary_of(head[0])
    return None if auxiliary is None else subject_end(head, auxiliary)


def _sort(words: Sequence[str]) -> Sort:
    """Number, name, people or another noun phrase, by the phrase up to its own preposition."""
    until = next((i for i, word in enumerate(words) if i and _joins(word)), len(words))
    core = [word for word in words[:until] if bare(word) not in ARTICLES] or list(words)
    if any("#" in tags(word) or bare(word) in _NUMBERS for word in core):
        return "number"
    if _is_name(core[-1]):
        return "name"
    return "people" if bare(core[-1]) in PEOPLE else "other"


def _joins(word: str) -> bool:
    return bare(word) in PREPOSITIONS


_NUMBERS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty hundred thousand".split()
)


def _is_name(word: str) -> bool:
    core = bare(word)
    if word[:1].isupper():
        return True
    return not tags(word) - {"P"} and (core in _PLACES or core in vocabulary().names)


def _replaced(head: Sequence[str], phrase: Sequence[str]) -> tuple[int, int] | None:
    """The part of the question before that a phrase of the same sort takes the place of."""
    last = bare(phrase[-1])
    if last in _ASPECTS or last.removesuffix("s") in _ASPECTS:
        return None
    sort = _sort(phrase)
    if sort == "name":
        return _last_name(head)
    border = _subject_end(head)
    subject = (1, border) if border is not None else None
    same_head = subject and last == bare(head[subject[1] - 1])
    if sort == "people" and not same_head:
        return _last_people(head, border)
    if subject is None or bare(phrase[0]) == "the":
        return subject if same_head else None
    own = head[1 : subject[1]]
    return subject if same_head or _form(own) == _form(phrase) else None


def _form(words: Sequence[str]) -> str:
    if bare(words[0]) in {"a", "an"}:
        return "a"
    if bare(words[0]) == "the":
        return "the"
    until = next((i for i, word in enumerate(words) if i and _joins(word)), len(words))
    if is_plural(words[until - 1]):
        return "people" if bare(words[until - 1]) in PEOPLE else "many"
    return "gerund" if "g" in tags(words[0]) and until > 1 else "one"


def _last_name(head: Sequence[str]) -> tuple[int, int] | None:
    for end in range(len(head), 1, -1):
        if not _is_name(head[end - 1]) or bare(head[end - 1]) == "i":
            continue
        start = end - 1
        while start > 1 and _is_name(head[start - 1]):
            start -= 1
        return (start - 1 if start > 1 and bare(head[start - 1]) == "the" else start), end
    return None


def _last_people(head: Sequence[str], border: int | None) -> tuple[int, int] | None:
    """The last noun phrase of people, with its article and adjectives."""
    for end in range(len(head), 1, -1):
        if bare(head[end - 1]) not in PEOPLE:
            continue
        start = end - 1
        least = 1 if border is None or end <= border else border
        while start > least and (
            bare(head[start - 1]) in DETERMINER_WORDS or tags(head[start - 1]) & {"a", "#"}
        ):
            start -= 1
        return start, end
    return None
