"""The alternatives that an "A or B" question names, by rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perspective_rag.extract.clause import subject_end
from perspective_rag.extract.english import (
    ARTICLES,
    BASE_VERBS,
    BE,
    DO,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    bare,
    upper_first,
)
from perspective_rag.extract.inflection import as_inflected
from perspective_rag.extract.lexicon import is_plural, tags, verb_share
from perspective_rag.extract.polarity import affirmed, without_asking
from perspective_rag.extract.statement import auxiliary_of, statement_of

MOST = 8
_NOT = (("or", "not"), ("or", "no"), ("or", "otherwise"))
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do"}


def without_or_not(words: Sequence[str]) -> list[str]:
    """The words without ", or not" at their end, which adds no side."""
    plain = [bare(word) for word in words]
    if len(words) > 5 and plain[-3] == "or" and auxiliary_of(words[-2]) and plain[-1] in PRONOUNS:
        return [*words[:-4], words[-4].rstrip(",")]  # "or isn't it"
    if len(words) > 2 and tuple(plain[-2:]) in _NOT:
        return [*words[:-3], words[-3].rstrip(",")]
    return list(words)


def named_alternatives(question: str) -> list[str]:
    """A statement for each alternative of an "A or B" question, in its order; none if it names
    fewer than two.

    ``"Is tea or coffee healthier?"`` gives ``"Tea is healthier"`` and ``"Coffee is healthier"``.
    """
    words = question.strip().rstrip("?!. ").split(" ")
    if len(words) < 4 or auxiliary_of(words[0]) is None:
        return []
    places = [i for i, word in enumerate(words) if bare(word) == "or"]
    places = [i for i in places if not _inside(words, i)]
    if not places:
        return []
    clauses = _clauses(words, places)
    if clauses:
        return clauses
    auxiliary = auxiliary_of(words[0]) or ""
    preferred = _preferred(words)
    if preferred:
        return preferred
    plain = [word for word in words if bare(word) not in {"either", "rather", "instead"}]
    end = subject_end(plain, auxiliary)
    if end is None:
        return []
    places = [i for i, word in enumerate(plain) if bare(word) == "or"]
    if not places:
        return []
    if places[-1] < end:
        return _subjects(auxiliary, plain[1:end], plain[end:])
    if places[-1] == len(plain) - 1:
        return []
    return _predicates(auxiliary, plain[1:end], plain[end:])


def _inside(words: Sequence[str], place: int) -> bool:
    """True for an "or" within a part of what is asked: examples ("such as A or B"), another name
    (", or WHO,"), "to prevent or limit it", "their racial or ethnic origin", "until they die or
    leave".
    """
    if place + 1 >= len(words) or auxiliary_of(words[place + 1]) is not None:
        return False
    plain = [bare(word) for word in words[max(0, place - 6) : place]]
    before, after = tags(words[place - 1]), tags(words[place + 1])
    examples = ("such", "as") in pairwise(plain)
    named = words[place - 1].endswith(",") and words[place + 1].endswith(",")
    verbs = plain[-2:-1] == ["to"] and "v" in before and "v" in after and bare(words[0]) in BE
    verbs = verbs and place + 2 < len(words)
    described = plain[-2:-1] and plain[-2] in POSSESSIVES and "a" in before & after
    clause = not {"until", "unless", "if", "because", "why"}.isdisjoint(plain[1:])
    return bool(examples or named or verbs or described or clause)


def _clauses(words: Sequence[str], places: Sequence[int]) -> list[str]:
    """ "Do tenants need more, or is the law too hard": whole questions joined by "or"."""
    cuts = [i for i in places if i + 2 < len(words) and auxiliary_of(words[i + 1]) is not None]
    if not cuts:
        return []
    pieces, start = [], 0
    for cut in cuts:
        pieces.append(words[start:cut])
        start = cut + 1
    pieces.append(words[start:])
    first = pieces[0]
    end = subject_end(first, auxiliary_of(first[0]) or "")
    if end is not None:
        pieces = [first, *(_elided(piece, first[end:]) for piece in pieces[1:])]
    found = [statement_of(" ".join(piece).rstrip(",")) for piece in pieces]
    subject = " ".join(first[1:end])
    texts = [each.text for each in found if each] if all(found) else []
    return [_subject_named(text, subject) for text in texts] if end is not None else texts


def _subject_named(text: str, subject: str) -> str:
    """ "It is fair" as "The system is fair", of a question whose first part has that subject."""
    pronoun, _, rest = text.partition(" ")
    words = rest.split(" ")
    announced = any(
        bare(word) == "that" or (bare(word) == "to" and verb_share(words[i + 1]) > 0.3)
        for i, word in enumerate(words[:-1])
    )
    pointing = pronoun in {"It", "They"} and bare(subject) not in PRONOUNS and not announced
    return upper_first(f"{subject} {rest}") if pointing else text


def _preferred(words: Sequence[str]) -> list[str]:
    """ "Would you rather live in a city or in the country": which of the two is better."""
    opening = [bare(word) for word in words[:4]]
    if opening[:3] == ["would", "you", "rather"]:
        wish = words[3:]
    elif opening == ["would", "you", "prefer", "to"] or opening == ["do", "you", "prefer", "to"]:
        wish = words[4:]
    else:
        return []
    return _predicates("is", ["it"], ["better", "to", *wish], fixed=3)


def _elided(piece: Sequence[str], predicate: Sequence[str]) -> list[str]:
    """ "should private firms do it" with the predicate that "do it" stands for."""
    if len(piece) < 4 and tags(piece[-1]) & {"n", "s", "P"} and bare(piece[0]) in DO:
        return [*piece, *predicate]  # "Does nature rule the world, or do humans?"
    plain = [bare(word) for word in piece[-2:]]
    if plain[:1] == ["do"] and plain[-1] in {"it", "so", "that", "this"}:
        return [*piece[:-2], *predicate]
    return list(piece)


def _subjects(auxiliary: str, subject: Sequence[str], predicate: Sequence[str]) -> list[str]:
    """ "Is A or B PREDICATE"."""
    options = split_options(subject)
    adverb = any(tags(each[-1]) == {"r"} for each in options)  # "culturally or legally free art"
    if not 2 <= len(options) <= MOST or adverb:
        return []
    return [clause(option, auxiliary, predicate) for option in options]


def clause(
    subject: Sequence[str], auxiliary: str, predicate: Sequence[str], *, agrees: bool = False
) -> str:
    """A statement of a subject; its auxiliary is put in number with it unless it ``agrees``."""
    predicate = affirmed(without_asking(predicate))
    if not agrees:
        number = _PLURAL if _plural(subject) else _SINGULAR
        auxiliary = number.get(auxiliary, auxiliary)
    if auxiliary not in DO:
        return upper_first(" ".join([*subject, auxiliary, *predicate]))
    verb = as_inflected(predicate[0], auxiliary)
    return upper_first(" ".join([*subject, verb, *predicate[1:]]))


def _plural(subject: Sequence[str]) -> bool:
    head = next((i for i, word in enumerate(subject) if i and bare(word) in PREPOSITIONS), None)
    noun = subject[(head or len(subject)) - 1]
    gerund = "g" in tags(subject[0]) and len(subject) > 1
    pronoun = bare(subject[0]) in {"we", "you", "they", "i"}
    return pronoun or (not gerund and is_plural(noun)) or "and" in [bare(w) for w in subject]


def split_options(words: Sequence[str]) -> list[list[str]]:
    """The options of "A, B or C"; a comma counts only where an "or" or another comma follows."""
    parts: list[list[str]] = [[]]
    for word in words:
        if bare(word) in {"or", "vs", "versus", "v"}:
            parts.append([])
        elif word.endswith((",", ";")):
            parts[-1].append(word.rstrip(",;"))
            parts.append([])
        else:
            parts[-1].append(word)
    kept = [_trimmed(part) for part in parts]
    unique = {" ".join(part).lower(): part for part in reversed(kept) if part}
    return list(reversed(list(unique.values())))


def _trimmed(part: Sequence[str]) -> list[str]:
    words = [
        word.strip("?!.") if not word.lower().endswith(("u.s.", "u.k.")) else word for word in part
    ]
    words = [word for word in words if word]
    while words and bare(words[0]) in {"and", "or", "either", "maybe", "perhaps", "is", "just"}:
        words = words[1:]
    return words


def _predicates(
    auxiliary: str, subject: Sequence[str], predicate: Sequence[str], *, fixed: int = 0
) -> list[str]:
    """ "Should SUBJECT X or Y": Y takes the place of the last part of X that is of its kind."""
    items = split_options(predicate)
    if not 2 <= len(items) <= MOST:
        return []
    first, rest = items[0], items[1:]
    own = "would" if fixed else auxiliary
    cut = _parallel(first[max(0, fixed - 1) :], rest[-1], own)
    if cut is None:
        return []
    cut += max(0, fixed - 1)
    stem = first[:cut]
    tail = _shared_tail(first[cut:], rest)
    made = [[*first, *tail]]
    for item in rest:
        filled = _object_named(item, first) if cut == 0 else item
        made.append([*stem, *filled])
    return [clause(subject, auxiliary, each, agrees=True) for each in made]


def _parallel(first: Sequence[str], last: Sequence[str], auxiliary: str) -> int | None:
    """Index in the first option of the part that the last one replaces."""
    head = bare(last[0])
    found = tags(last[0])
    verb = verb_share(head) > 0.5 or head in {"be", "have", "do"} or _verb_here(last)
    if auxiliary not in BE and verb and "prep" not in found:
        if bare(first[0]) in {"be", "have"} and first[0] != last[0] and _past_form(first, head):
            return 1
        return 0
    if head == "to":
        places = [i for i, word in enumerate(first) if bare(word) == "to"]
        return places[-1] if places else None
    if "prep" in found:
        places = [i for i, word in enumerate(first) if "prep" in tags(word)]
        return places[-1] if places else _after_verb(first, auxiliary)
    if head in ARTICLES | POSSESSIVES:
        places = [
            i
            for i, word in enumerate(first)
            if bare(word) in ARTICLES | POSSESSIVES and (i or auxiliary in BE)
        ]
        return places[-1] if places else _after_verb(first, auxiliary)
    if "g" in found and not found & {"n"}:
        places = [i for i, word in enumerate(first) if "g" in tags(word)]
        if places:
            return places[-1]
    if found & {"a", "p", "r"} and not found & {"n", "s"}:
        places = [i for i, word in enumerate(first) if tags(word) & {"a", "p", "r"}]
        if len(last) > 1 and is_plural(last[-1]) and places:
            return places[0] if places[0] or auxiliary in BE else _after_verb(first, auxiliary)
        if places:
            return places[-1] if len(last) == 1 else places[0]
        return _after_verb(first, auxiliary)
    if auxiliary in BE and len(first) <= 2:
        return 0
    if len(last) == 1 and verb_share(head) > 0.2 and _has_article(first):
        return 0 if auxiliary not in BE else None
    size = min(len(last), max(1, len(first) - _after_verb(first, auxiliary)))
    return len(first) - size


def _has_article(first: Sequence[str]) -> bool:
    return len(first) > 2 and bare(first[-2]) in ARTICLES


def _verb_here(words: Sequence[str]) -> bool:
    """True where a word that may be a verb or a noun is followed by what follows a verb."""
    following = tags(words[1]) if len(words) > 1 else frozenset[str]()
    if "v" in tags(words[0]) and bare(words[-1]) in {"it", "them"} and len(words) == 2:
        return True
    return bare(words[0]) in BASE_VERBS and bool(following & {"prep", "det", "pron"})


def _past_form(first: Sequence[str], head: str) -> bool:
    """True where the last option is a participle like the first ("be elected or put")."""
    return len(first) > 1 and "p" in tags(first[1]) and "p" in tags(head)


def _after_verb(first: Sequence[str], auxiliary: str) -> int:
    if auxiliary in BE:
        return 0
    return min(1, len(first) - 1)


def _shared_tail(own: Sequence[str], rest: Sequence[Sequence[str]]) -> list[str]:
    """What follows the last of several single words and belongs to all: "earlier or later in the
    day".
    """
    last = rest[-1]
    alike = len(own) == 1 and all(len(item) == 1 for item in rest[:-1])
    if not alike or len(last) < 2 or not tags(own[0]) & {"a", "r", "p", "v"}:
        return []
    if tags(own[0]) & {"v"} and tags(last[0]) & {"v"} and "det" in tags(last[1]):
        return list(last[1:])
    opens = bare(last[1]) in PREPOSITIONS - {"as", "like", "than"}
    return list(last[1:]) if opens and tags(last[0]) & {"a", "r", "p"} else []


def _object_named(item: Sequence[str], first: Sequence[str]) -> list[str]:
    """ "smother them" with the object of "protect their children"."""
    for i, word in enumerate(item):
        named = bare(word) in {"it", "them", "him", "her"} and bare(item[i - 1]) != "as"
        if i and named and len(first) > 1:
            place = next(
                (j for j, w in enumerate(first) if j > 1 and "prep" in tags(w)), len(first)
            )
            if bare(word) == "her" and i + 1 < len(item):
                continue
            return [*item[:i], *first[1:place], *item[i + 1 :]]
    return list(item)
