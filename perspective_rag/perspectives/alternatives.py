""" "A or B" and given options as sides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perspective_rag.perspectives.clauses import auxiliary_of, statement_of, subject_end
from perspective_rag.perspectives.negation import affirmed, without_asking
from perspective_rag.perspectives.words import (
    ARTICLES,
    AUXILIARIES,
    BASE_VERBS,
    BE,
    DO,
    MODALS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    as_inflected,
    bare,
    base_of,
    finite_verb,
    is_plural,
    mid_sentence,
    tags,
    upper_first,
    verb_share,
)

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
    # Of "choose whether they have a boy or a girl" the "or" belongs to the clause.
    own = next((i for i, word in enumerate(words) if i and bare(word) == "whether"), len(words))
    places = [i for i in places if i < own and not _inside(words, i)]
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


_ASKS = frozenset("which what who how where when whose what's who's".split())
_DASHES = frozenset("- – — : ;".split())
_VERSUS = frozenset("vs versus v".split())
_COMPARED = (("compared", "with"), ("compared", "to"), ("as", "opposed"), ("as", "against"),
             ("or", "rather"))  # fmt: skip
_PREFERS = frozenset("prefer like choose pick favour favor want recommend".split())


def listed_options(sentences: Sequence[Sequence[str]]) -> list[str]:
    """A statement for each option that a question lists before or behind it: "Which is the best
    source of power: wind, sun or nuclear?", "Trams or buses: how should cities move people?", "Cats
    vs dogs". Empty where it lists fewer than two.
    """
    pieces = _pieces(sentences)
    asked = [i for i, piece in enumerate(pieces) if bare(piece[0]) in _ASKS]
    for i in asked:
        for j in (i + 1, i - 1):
            if not 0 <= j < len(pieces) or j in asked:
                continue
            options = _options(pieces[j])
            if options:
                return _answers(pieces[i], options)
    if asked:
        for i in asked:
            cut = _comma_list(pieces[i])
            if cut:
                return _answers(pieces[i][:cut], _options(pieces[i][cut:]))
        return []
    return versus(pieces[-1]) if pieces else []


def _pieces(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The parts of the sentences between dashes, colons and semicolons."""
    found: list[list[str]] = []
    for sentence in sentences:
        current: list[str] = []
        for word in sentence:
            if word in _DASHES:
                found.append(current)
                current = []
                continue
            if bare(word) in _ASKS and current and current[-1].endswith(",") and _listing(current):
                found.append(current)
                current = []
            current.append(word)
            if word.endswith((":", ";")) and len(word) > 1:
                current[-1] = word[:-1]
                found.append(current)
                current = []
        found.append(current)
    cleaned = [[word.rstrip("?!") for word in piece] for piece in found]
    return [each for piece in cleaned if (each := _without_dot(piece))]


def _listing(words: Sequence[str]) -> bool:
    """True for words that name options: "Marvel vs DC"."""
    return bool({bare(word) for word in words} & (_VERSUS | {"or"}))


def _without_dot(piece: Sequence[str]) -> list[str]:
    words = [word for word in piece if bare(word)]
    if words and words[-1].endswith(".") and bare(words[-1]).count(".") == 0:
        words[-1] = words[-1].rstrip(".")
    return words


def _options(words: Sequence[str]) -> list[list[str]]:
    """The options of a list, or none where it reads as a sentence or as no list."""
    joined = {bare(word) for word in words}
    if not (joined & (_VERSUS | {"or", "and"})) and not any(w.endswith(",") for w in words):
        return []
    plain = [bare(word) for word in words]
    if "and" in plain and not joined & (_VERSUS | {"or"}):
        place = len(plain) - 1 - plain[::-1].index("and")
        words = [*words[:place], "or", *words[place + 1 :]]
    options = split_options(words)
    return options if 2 <= len(options) <= MOST and all(len(o) < 13 for o in options) else []


def _comma_list(words: Sequence[str]) -> int | None:
    """Index behind the comma where a list of options starts: "Which is better, A or B"."""
    if "or" not in [bare(word) for word in words]:
        return None
    for i, word in enumerate(words[:-2]):
        if word.endswith(",") and i > 1:
            head = bare(words[i + 1])
            return i + 1 if head not in AUXILIARIES and head not in _ASKS | {"and"} else None
    return None


def _answers(asked: Sequence[str], options: Sequence[Sequence[str]]) -> list[str]:
    """The question answered with each option; none where its form is not known."""
    words = _expanded([word.rstrip(",") for word in asked])
    head = bare(words[0])
    verb = next((i for i, w in enumerate(words) if i and bare(w) in AUXILIARIES), None)
    lexical = finite_verb(words) if verb is None else None
    if verb is None and lexical is None and len(words) > 2 and verb_share(words[1]) > 0.5:
        lexical = 1  # "which make better pets"
    if head in {"how", "where", "when"}:
        return _ways(words, verb, options)
    if head == "whose":
        return _owners(words, verb, options)
    if verb is None:
        if lexical is None or len(words) - lexical < 2:
            return []
        return [_with_verb(option, words[lexical:]) for option in options]
    auxiliary, rest = bare(words[verb]), words[verb + 1 :]
    if not rest:
        return []
    noun = words[1:verb]
    if auxiliary in BE:
        return [clause(_named(o, rest), auxiliary, rest) for o in options]
    if [bare(word) for word in rest[:2]] == ["be", "done"]:
        return []  # what is to be done is no option's predicate
    if auxiliary in MODALS and (_opens_predicate(rest) or (head == "who" and _does(rest))):
        return [clause(option, auxiliary, rest) for option in options]
    return _objects(auxiliary, rest, options, noun)


def _owners(words: Sequence[str], verb: int | None, options: Sequence[Sequence[str]]) -> list[str]:
    """ "whose job is it" answered: "It is the state's job". Options without an owner give none."""
    if verb is None or verb < 2 or bare(words[verb]) not in BE or len(words) == verb + 1:
        return []
    owned = [option[-1].rstrip("’'").lower().endswith(("'s", "’s", "s")) for option in options]
    if not all(owned):
        return []
    return [clause(words[verb + 1 :], bare(words[verb]), [*o, *words[1:verb]]) for o in options]


def answer_with(asked: Sequence[str], option: Sequence[str]) -> str | None:
    """A "which", "who" or "how" question answered with one option; None for any other question."""
    words = [word.rstrip("?!.") for word in asked]
    if bare(words[0]).removesuffix("'s") not in _ASKS or len(words) < 3:
        return None
    made = _answers(words, [list(option)])
    return made[0] if made else None


def _expanded(words: Sequence[str]) -> list[str]:
    """ "What's" as "What is"."""
    first = words[0]
    if first.lower().endswith(("'s", "’s")):
        return [first[:-2], "is", *words[1:]]
    return list(words)


def _named(option: Sequence[str], rest: Sequence[str]) -> Sequence[str]:
    """An adjective with the noun it describes: "keto" of "the healthiest diet"."""
    nouns = [word for word in rest if tags(word) & {"n", "s"} and "a" not in tags(word)]
    only_adjective = len(option) == 1 and tags(option[0]) in (frozenset("a"), frozenset("aP"))
    if only_adjective and nouns and bare(rest[0]) == "the" and len(rest) == 3:
        return ["the", *option, nouns[0]]
    return option


def _does(rest: Sequence[str]) -> bool:
    """ "own the marbles", not "we blame": a verb and its object."""
    known = "v" in tags(rest[0]) or bare(rest[0]) == "own"
    verb = len(rest) > 1 and known and "s" not in tags(rest[0])
    return verb and bool(tags(rest[1]) & {"det", "prep", "n", "s", "P", "a"})


def _opens_predicate(rest: Sequence[str]) -> bool:
    first = bare(rest[0])
    return first in {"be", "have", "do", "win", "get", "come"} or verb_share(first) > 0.7


def _with_verb(option: Sequence[str], predicate: Sequence[str]) -> str:
    """ "which makes people happier" answered: "City life makes people happier"."""
    verb = bare(predicate[0])
    plural = clause(option, "are", ["x"]).split(" ")[-2] == "are"
    if "z" in tags(verb) and plural:
        verb = base_of(verb, "z") or verb
    return upper_first(" ".join([*option, verb, *predicate[1:]]))


def _objects(
    auxiliary: str, rest: Sequence[str], options: Sequence[Sequence[str]], noun: Sequence[str]
) -> list[str]:
    """ "Which should we ban: cars or planes" answered: "We should ban cars"."""
    words = [word for word in rest if bare(word) not in {"more", "better", "rather", "first"}]
    # "Which can you trust more?": of "You can trust A" and "... B" both may hold.
    more = " more" * (not {"more", "better"}.isdisjoint(map(bare, rest)))
    words = words[:-1] if more and bare(words[-1]) == "of" else words
    if _PREFERS & {bare(word) for word in words} and bare(words[0]) == "you":
        return [clause(option, "is", ["better"]) for option in options]
    if len(words) < 2 or auxiliary not in MODALS:
        return []
    stem = [words[0], auxiliary, *words[1:]] if _is_short_subject(words) else None
    if stem is None:
        verb = next((i for i, w in enumerate(words) if i and verb_share(w) > 0.5), None)
        if verb is None:
            return []
        stem = [*words[:verb], auxiliary, *words[verb:]]
    found = [" ".join([*stem, mid_sentence(" ".join(option))]) for option in options]
    return [upper_first(each) + more for each in found]


def _is_short_subject(words: Sequence[str]) -> bool:
    return bare(words[0]) in {"we", "you", "they", "i", "it"}


def _ways(words: Sequence[str], verb: int | None, options: Sequence[Sequence[str]]) -> list[str]:
    """ "how should Argentina close its deficit" answered: "Argentina should close its deficit with
    spending cuts".
    """
    if verb is None or verb != 1 or bare(words[verb]) not in MODALS:
        return []
    said = statement_of(" ".join(words[verb:]))
    if said is None:
        return []
    made = []
    for option in options:
        first = tags(option[0])
        if "prep" in first or bare(words[0]) != "how":
            link: list[str] = []
        elif "g" in first and "n" not in first:
            link = ["by"]
        else:
            link = ["with"]
        made.append(" ".join([said.text, *link, mid_sentence(" ".join(option))]))
    return made


def versus(words: Sequence[str]) -> list[str]:
    """ "A vs B", "A compared with B" or a bare "A or B": each said to be better than the other."""
    plain = [bare(word) for word in words]
    if not words or auxiliary_of(words[0]) is not None or plain[0] in _ASKS:
        return []
    cut = next((i for i, word in enumerate(plain) if word in _VERSUS), None)
    size = 1
    if cut is None:
        cut = next(
            (i for i in range(len(plain) - 1) if (plain[i], plain[i + 1]) in _COMPARED), None
        )
        size = 3 if cut is not None and plain[cut : cut + 2] == ["as", "opposed"] else 2
    if cut is None and "or" in plain and len(plain) < 9:
        cut, size = plain.index("or"), 1
        if finite_verb(words) is not None or plain[:1] == ["either"]:
            return []
    if not cut:
        return []
    left, right = list(words[:cut]), list(words[cut + size :])
    left = [w.rstrip(",") for w in left]
    if plain[0] == "compare":
        left = left[1:]
    place = next(
        (i for i, w in enumerate(right) if i and bare(w) in {"for", "in", "as", "when"}), None
    )
    tail = right[place:] if place else []
    right = right[:place] if place else right
    if not left or not right or len(left) > 8 or len(right) > 8:
        return []
    if any(bare(w) in _VERSUS | {"or"} for w in right) or left[-1].endswith(","):
        options = split_options([*left, "or", *right])
        return [clause(option, "is", ["the", "best", *tail]) for option in options]
    left = mid_sentence(" ".join(left)).split(" ")
    sides = ((left, right), (right, left))
    return [clause(a, "is", ["better", "than", *b, *tail]) for a, b in sides]
