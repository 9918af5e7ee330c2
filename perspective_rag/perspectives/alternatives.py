""" "A or B" and given options as sides."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.perspectives.statements import (
    affirmed,
    auxiliary_of,
    statement_of,
    subject_end,
    without_asking,
)
from perspective_rag.perspectives.words import (
    ARTICLES,
    AUXILIARIES,
    BE,
    DO,
    MODALS,
    PLURAL_PRONOUNS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    base_of,
    finite_verb,
    inflected,
    is_plural,
    mid_sentence,
    tags,
    upper_first,
    verb_share,
)
from perspective_rag.perspectives.wrapping import is_talk

MOST = 8
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_PLURAL = {singular: plural for plural, singular in _SINGULAR.items()}
_OPENS_CLAUSE = frozenset("whether until unless if because why who that which when".split())
_VERSUS = frozenset("vs versus v".split())
_COMPARED = (["compared", "with"], ["compared", "to"], ["as", "opposed", "to"], ["or", "rather"])
_NO_OPTION = frozenset("not no neither both none".split())
_JOINS = frozenset("and or either maybe perhaps just".split())


def named_alternatives(question: str) -> list[str]:
    """A statement for each alternative of an "A or B" question, in its order; none if it names
    fewer than two.

    ``"Is tea or coffee healthier?"`` gives ``"Tea is healthier"`` and ``"Coffee is healthier"``.
    """
    words = question.strip().rstrip("?!. ").split(" ")
    auxiliary = auxiliary_of(words[0])
    if auxiliary is None:
        return []
    cuts = [
        i for i, word in enumerate(words[:-2]) if bare(word) == "or" and auxiliary_of(words[i + 1])
    ]
    if cuts:
        return _clauses(words, cuts)
    wish = [bare(word) for word in words[:4]]
    if wish[:3] == ["would", "you", "rather"] or wish[1:] == ["you", "prefer", "to"]:
        start = 3 if wish[2] == "rather" else 4
        return _predicates("is", ["it"], ["better", "to", *words[start:]], fixed=2)
    plain = [word for word in words if bare(word) not in {"either", "rather", "instead"}]
    end = subject_end(plain, auxiliary)
    last = max((i for i, word in enumerate(plain) if bare(word) == "or"), default=0)
    if end is None or not last or last == len(plain) - 1:
        return []
    if last < end:
        options = split_options(plain[1:end])
        named = all(tags(each[-1]) != {"r"} for each in options) and _own(plain[1:end])
        return [clause(each, auxiliary, plain[end:]) for each in options] if named else []
    return _predicates(auxiliary, plain[1:end], plain[end:]) if _own(plain[end:]) else []


def _own(words: Sequence[str]) -> bool:
    """Whether the "or" of some words joins what is asked, rather than parts of a clause within it
    or of examples ("such as A or B", "until they die or leave").
    """
    place = next(i for i, word in enumerate(words) if bare(word) == "or")
    before = [bare(word) for word in words[:place]]
    examples = "such" in before[:-1] and before[before.index("such") + 1] == "as"
    aside = (
        place > 0
        and words[place - 1].endswith(",")
        and words[min(place + 1, len(words) - 1)].endswith(",")
    )
    near, after = [tags(word) for word in words[max(0, place - 2) : place]], tags(words[place + 1])
    to_do = before[-2:-1] == ["to"] and "v" in near[-1] & after and place + 2 < len(words)
    described = bool(before[-2:-1]) and before[-2] in POSSESSIVES and "a" in near[-1] & after
    if to_do or described:
        return False
    return not examples and not aside and _OPENS_CLAUSE.isdisjoint(before[1:])


def _clauses(words: Sequence[str], cuts: Sequence[int]) -> list[str]:
    """ "Do tenants need more, or is the law too hard": whole questions joined by "or"."""
    starts = [0, *(cut + 1 for cut in cuts)]
    pieces = [list(words[a:b]) for a, b in zip(starts, [*cuts, len(words)], strict=True)]
    first = pieces[0]
    end = subject_end(first, auxiliary_of(first[0]) or "")
    if end is None:
        return []
    subject = first[1:end]
    made = []
    for piece in pieces:
        plain = [bare(word) for word in piece]
        if plain[-2:-1] == ["do"] and plain[-1] in {"it", "so", "that", "this"}:
            piece = [*piece[:-2], *first[end:]]  # "should private firms do it"
        elif (
            piece is not first and len(piece) < 4 and plain[0] in DO and "v" not in tags(piece[-1])
        ):
            piece = [*piece, *first[end:]]  # "or do humans?"
        if piece is not first and plain[1] in {"it", "they"} and bare(subject[0]) not in PRONOUNS:
            announced = any(
                plain[i] == "that" or (plain[i] == "to" and verb_share(plain[i + 1]) > 0.3)
                for i in range(2, len(plain) - 1)
            )
            piece = piece if announced else [piece[0], *subject, *piece[2:]]
        found = statement_of(" ".join(piece).rstrip(","))
        if found is None:
            return []
        made.append(found.text)
    return made


def clause(
    subject: Sequence[str], auxiliary: str, predicate: Sequence[str], *, agrees: bool = False
) -> str:
    """A statement of a subject; its auxiliary is put in number with it unless it ``agrees``."""
    predicate = affirmed(without_asking(predicate))
    if not agrees:
        number = _PLURAL if _plural(subject) else _SINGULAR
        auxiliary = number.get(auxiliary, auxiliary)
    if auxiliary in DO:
        predicate = [
            inflected(predicate[0], {"does": "z", "did": "d"}.get(auxiliary, "v")),
            *predicate[1:],
        ]
        return upper_first(" ".join([*subject, *predicate]))
    return upper_first(" ".join([*subject, auxiliary, *predicate]))


def _plural(subject: Sequence[str]) -> bool:
    gerund = "g" in tags(subject[0]) and len(subject) > 1
    head = next((i for i, word in enumerate(subject) if i and bare(word) in PREPOSITIONS), None)
    noun = subject[(head or len(subject)) - 1]
    many = bare(subject[0]) in PLURAL_PRONOUNS or "and" in map(bare, subject)
    return many or (not gerund and is_plural(noun))


def split_options(words: Sequence[str]) -> list[list[str]]:
    """The options of "A, B or C"."""
    parts: list[list[str]] = [[]]
    for word in words:
        if bare(word) in _VERSUS | {"or"}:
            parts.append([])
            continue
        parts[-1].append(word.strip("?!,;") if bare(word).count(".") else word.strip("?!.,;"))
        if word.endswith((",", ";")):
            parts.append([])
    unique: dict[str, list[str]] = {}
    for part in parts:
        while part and bare(part[0]) in _JOINS:
            part = part[1:]
        part = [word for word in part if word]
        if part and bare(part[-1]) not in _NO_OPTION:
            unique.setdefault(" ".join(part).lower(), part)
    return list(unique.values())


def _predicates(
    auxiliary: str, subject: Sequence[str], predicate: Sequence[str], *, fixed: int = 0
) -> list[str]:
    """ "Should SUBJECT X or Y": Y takes the place of the last part of X that is of its kind."""
    items = split_options(predicate)
    if not 2 <= len(items) <= MOST:
        return []
    first, rest = items[0], items[1:]
    cut = _parallel(first[fixed:], rest[-1], "would" if fixed else auxiliary)
    if cut is None:
        return []
    stem = first[: cut + fixed]
    filled = [item if stem[fixed:] else _object_named(item, first) for item in rest]
    made = [[*first, *_shared_tail(first[cut + fixed :], rest)], *([*stem, *i] for i in filled)]
    return [clause(subject, auxiliary, each, agrees=True) for each in made]


def _parallel(first: Sequence[str], last: Sequence[str], auxiliary: str) -> int | None:
    """Index in the first option of the part that the last one replaces: the last part of the same
    kind; None where the two are too unlike.
    """
    head, found = bare(last[0]), tags(last[0])
    behind = 0 if auxiliary in BE else min(1, len(first) - 1)  # the verb
    following = tags(last[1]) if len(last) > 1 else frozenset[str]()
    opens = verb_share(head) > 0.5 or head in {"be", "have", "do"}
    opens |= "v" in found and bool(following & {"prep", "det", "pron"})
    to_do = [i + 1 for i, word in enumerate(first[:-1]) if bare(word) == "to"]
    if opens and to_do and (auxiliary in BE or bare(first[0]) == "be"):
        return to_do[-1]
    if auxiliary not in BE and opens and "prep" not in found:
        passive = bare(first[0]) in {"be", "have"} and len(first) > 1 and "p" in found
        return 1 if passive and "p" in tags(first[1]) else 0

    def places(kinds: frozenset[str] | set[str]) -> list[int]:
        return [i for i, word in enumerate(first) if tags(word) & kinds and i >= behind]

    if head == "to":
        return max((i for i, word in enumerate(first) if bare(word) == "to"), default=None)
    if "prep" in found:
        return max(places({"prep"}), default=behind)
    if head in ARTICLES | POSSESSIVES:
        own = [i for i in places({"det"}) if bare(first[i]) in ARTICLES | POSSESSIVES]
        return max(own, default=behind)
    if "g" in found and "n" not in found and (own := places({"g"})):
        return own[-1]
    if found & {"a", "p", "r"} and not found & {"n", "s"}:
        own = places({"a", "p", "r"})
        if not own or (len(last) > 1 and is_plural(last[-1])):
            return own[0] if own else behind
        return own[-1] if len(last) == 1 else own[0]
    if auxiliary in BE and len(first) <= 2:
        return 0
    if len(last) == 1 and verb_share(head) > 0.2 and bare(first[-2 % len(first)]) in ARTICLES:
        return None if auxiliary in BE else 0
    return len(first) - min(len(last), max(1, len(first) - behind))


def _shared_tail(own: Sequence[str], rest: Sequence[Sequence[str]]) -> list[str]:
    """What follows the last of several single words and belongs to all: "earlier or later in the
    day", "protect or destroy the village".
    """
    last, alike = rest[-1], len(own) == 1 and all(len(item) == 1 for item in rest[:-1])
    if not alike or len(last) < 2:
        return []
    kind, following = tags(own[0]) & tags(last[0]), tags(last[1])
    verbs = "v" in kind and "det" in following
    said = kind & {"a", "r", "p"} and bare(last[1]) in PREPOSITIONS - {"as", "like", "than"}
    return list(last[1:]) if verbs or said else []


def _object_named(item: Sequence[str], first: Sequence[str]) -> list[str]:
    """ "smother them" with the object of "protect their children"."""
    for i, word in enumerate(item):
        if bare(word) in SUBORDINATORS or (bare(word) == "her" and i + 1 < len(item)):
            break
        if i and bare(word) in {"it", "them", "him", "her"} and bare(item[i - 1]) != "as":
            until = (j for j, each in enumerate(first) if j > 1 and "prep" in tags(each))
            return [*item[:i], *first[1 : next(until, len(first))], *item[i + 1 :]]
    return list(item)


def listed_options(sentences: Sequence[Sequence[str]]) -> list[str]:
    """A statement for each option that a question lists before or behind it: "Which is the best
    source of power: wind, sun or nuclear?", "Trams or buses: how should cities move people?", "Cats
    vs dogs", "Zoos: cruel or educational?". Empty where it lists fewer than two.
    """
    pieces = _pieces(sentences)
    asked = [i for i, piece in enumerate(pieces) if _asks(piece[0])]
    for i in asked:
        for j in (i + 1, i - 1):
            options = _options(pieces[j]) if 0 <= j < len(pieces) and j not in asked else []
            if options:
                return _answers(pieces[i], options)
        cut = _comma_list(pieces[i])
        if cut:
            return _answers(pieces[i][:cut], _options(pieces[i][cut:]))
    if asked or not pieces:
        return []
    return (_poles(*pieces[-2:]) if len(pieces) > 1 else []) or _versus(pieces[-1])


def _asks(word: str) -> bool:
    return bare(word).removesuffix("'s") in WH_WORDS


def _pieces(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The parts of the sentences between dashes, colons and semicolons, and behind a list."""
    found: list[list[str]] = []
    for sentence in sentences:
        current: list[str] = []
        for word in sentence:
            listed = _asks(word) and not _VERSUS.union(["or"]).isdisjoint(map(bare, current))
            if not bare(word) or (listed and current[-1].endswith(",")):
                found.append(current)
                current = []
            if bare(word):
                current.append(word.rstrip("?!;:"))
            if word.endswith((":", ";")):
                found.append(current)
                current = []
        if current and bare(current[-1]).count(".") == 0:
            current[-1] = current[-1].rstrip(".")
        found.append(current)
    return [piece for piece in found if piece]


def _options(words: Sequence[str]) -> list[list[str]]:
    """The options of a list, or none where it reads as a sentence or as no list."""
    plain = [bare(word) for word in words]
    if "and" in plain and _VERSUS.union(["or"]).isdisjoint(plain):
        place = len(plain) - 1 - plain[::-1].index("and")
        words = [*words[:place], "or", *words[place + 1 :]]
    options = split_options(words)
    return options if 2 <= len(options) <= MOST and all(len(each) < 13 for each in options) else []


def _comma_list(words: Sequence[str]) -> int | None:
    """Index behind the comma where a list of options starts: "Which is better, A or B"."""
    first = next((i for i, word in enumerate(words) if i and word.endswith(",")), None)
    if first is None or "or" not in map(bare, words) or first + 2 >= len(words):
        return None
    head = bare(words[first + 1])
    return None if head in AUXILIARIES | WH_WORDS | {"and"} else first + 1


def answer_with(asked: Sequence[str], option: Sequence[str]) -> str | None:
    """A "which", "who" or "how" question answered with one option; None for any other question."""
    words = [word.rstrip("?!.") for word in asked]
    made = _answers(words, [list(option)]) if _asks(words[0]) and len(words) > 2 else []
    return made[0] if made else None


def _answers(asked: Sequence[str], options: Sequence[Sequence[str]]) -> list[str]:
    """The question answered with each option; none where its form is not known."""
    words = [word.rstrip(",") for word in asked]
    if bare(words[0]).endswith("'s"):
        words[:1] = [words[0][:-2], "is"]
    head = bare(words[0])
    verb = next((i for i, word in enumerate(words) if i and bare(word) in AUXILIARIES), None)
    if verb is None:
        lexical = 1 if len(words) > 2 and verb_share(words[1]) > 0.5 else finite_verb(words)
        if lexical is None or lexical + 1 >= len(words) or head not in {"which", "what", "who"}:
            return []
        return [_with_verb(option, words[lexical:]) for option in options]
    auxiliary, rest = bare(words[verb]), words[verb + 1 :]
    if not rest:
        return []
    if head in {"how", "where", "when"}:
        return _ways(words[verb:], options, head) if verb == 1 and auxiliary in MODALS else []
    if head == "whose":
        owned = all(option[-1].rstrip("'’").lower().endswith("s") for option in options)
        fits = owned and auxiliary in BE and verb > 1
        return [clause(rest, auxiliary, [*o, *words[1:verb]]) for o in options] if fits else []
    if auxiliary in BE:
        return [clause(_named(option, rest), auxiliary, rest) for option in options]
    if bare(rest[0]) in {"you", "people"} and verb_share(rest[-1]) > 0.3 and len(rest) == 2:
        return [clause(option, "is", ["better"]) for option in options]  # "do you prefer"
    if auxiliary not in MODALS or [bare(word) for word in rest[:2]] == ["be", "done"]:
        return []
    acts = verb_share(rest[0]) > 0.7 or bare(rest[0]) in {"be", "have", "do"}
    named = len(rest) > 1 and tags(rest[0]) & {"v", "a"} and "s" not in tags(rest[0])
    acts |= head == "who" and bool(named)
    if acts and bare(rest[0]) not in PRONOUNS:
        return [clause(option, auxiliary, rest) for option in options]
    return _objects(auxiliary, rest, options)


def _named(option: Sequence[str], rest: Sequence[str]) -> Sequence[str]:
    """An adjective with the noun it describes: "keto" of "the healthiest diet"."""
    described = len(option) == 1 and tags(option[0]) - {"P"} == {"a"}
    return (
        ["the", *option, rest[2]]
        if described and bare(rest[0]) == "the" and len(rest) == 3
        else option
    )


def _with_verb(option: Sequence[str], predicate: Sequence[str]) -> str:
    """ "which makes people happier" answered: "City life makes people happier"."""
    verb = predicate[0]
    if "z" in tags(verb) and _plural(option):
        verb = base_of(verb, "z") or verb
    return upper_first(" ".join([*option, verb, *predicate[1:]]))


def _objects(auxiliary: str, rest: Sequence[str], options: Sequence[Sequence[str]]) -> list[str]:
    """ "Which should we ban: cars or planes" answered: "We should ban cars"."""
    more = "more" if {"more", "better"} & {bare(word) for word in rest} else ""
    words = [word for word in rest if bare(word) not in {"more", "better", "rather", "first"}]
    own = 1 if bare(words[0]) in PRONOUNS else None
    verbs = (i for i, word in enumerate(words) if i and verb_share(word) > 0.5)
    verb = own or next(verbs, None)
    if verb is None or verb >= len(words):
        return []
    stem = [*words[:verb], auxiliary, *words[verb:]]
    found = [[*stem, mid_sentence(" ".join(option)), more] for option in options]
    return [upper_first(" ".join(filter(None, each))) for each in found]


def _ways(asked: Sequence[str], options: Sequence[Sequence[str]], head: str) -> list[str]:
    """ "how should Argentina close its deficit" answered: "Argentina should close its deficit with
    spending cuts".
    """
    said = statement_of(" ".join(asked))
    links = [tags(option[0]) for option in options]
    if said is None:
        return []
    if "prep" in links[0]:
        options = [
            o if "prep" in kind else [options[0][0], *o]
            for o, kind in zip(options, links, strict=True)
        ]
    by_act = ["by " if "g" in kind and "n" not in kind else "with " for kind in links]
    plain = any("prep" in kind for kind in links) or head != "how"
    return [
        f"{said.text} {'' if plain else by}{mid_sentence(' '.join(option))}"
        for option, by in zip(options, by_act, strict=True)
    ]


def _poles(topic: Sequence[str], ends: Sequence[str]) -> list[str]:
    """ "Zoos: cruel or educational?" as statements about the topic; empty for anything else."""
    options = split_options(ends) if "or" in map(bare, ends) else []
    if len(options) != 2 or len(topic) > 8 or auxiliary_of(topic[0]):
        return []
    said = [tags(option[0]) & {"a", "p"} and not is_plural(option[-1]) for option in options]
    named = [bare(option[0]) in ARTICLES | {"too"} for option in options]
    if not all(one or other for one, other in zip(said, named, strict=True)):
        return []
    colours = all(len(option) == 1 and "n" in tags(option[0]) for option in options)
    return [] if colours else [clause(topic, "is", option) for option in options]


def _versus(words: Sequence[str]) -> list[str]:
    """ "A vs B", "A compared with B" or a bare "A or B": each said to be better than the other."""
    plain = [bare(word) for word in words]
    if auxiliary_of(words[0]) is not None or _asks(words[0]) or is_talk(words):
        return []
    marks = [(i, i + 1) for i, word in enumerate(plain) if word in _VERSUS]
    for joint in _COMPARED:
        marks += [
            (i, i + len(joint)) for i in range(len(plain)) if plain[i : i + len(joint)] == joint
        ]
    if not marks and "or" in plain and len(plain) < 9 and finite_verb(words) is None:
        marks = [(i, i + 1) for i, word in enumerate(plain) if word == "or"]
    if not marks or not marks[0][0] or plain[0] == "either":
        return []
    left, right = list(words[: marks[0][0]]), list(words[marks[0][1] :])
    ends = (i for i, word in enumerate(right) if i and bare(word) in {"for", "in", "as", "when"})
    place = next(ends, len(right))
    right, tail = right[:place], right[place:]
    if not left or not right or bare(right[0]) in _NO_OPTION or max(len(left), len(right)) > 8:
        return []
    options = split_options([*left, "or", *right])
    if len(options) > 2:
        return [clause(option, "is", ["the", "best", *tail]) for option in options]
    left = mid_sentence(" ".join(left).rstrip(",")).split(" ")
    sides = ((left, right), (right, left))
    return [clause(a, "is", ["better", "than", *b, *tail]) for a, b in sides]
