""" "A or B" and given options as sides."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.perspectives.kinds import DISPUTED
from perspective_rag.perspectives.statements import (
    affirmed,
    auxiliary_of,
    said,
    statement_of,
    subject_end,
    without_asking,
)
from perspective_rag.perspectives.words import (
    ARTICLES,
    AUXILIARIES,
    BE,
    DEGREES,
    DO,
    MODALS,
    NUMBERS,
    PLURAL_PRONOUNS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    WH_WORDS,
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
from perspective_rag.perspectives.wrapping import is_talk

MOST = 8
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_PLURAL = {singular: plural for plural, singular in _SINGULAR.items()}
_OPENS_CLAUSE = SUBORDINATORS | {"whether", "until", "why"}
_VERSUS = frozenset("vs versus v".split())
_COMPARED = (["compared", "with"], ["compared", "to"], ["as", "opposed", "to"], ["or", "rather"])
_JOINS = frozenset("and or either maybe perhaps just".split())
_PERMISSIONS = frozenset("allowed permitted banned forbidden prohibited legal illegal".split())
_NO_OPTION = frozenset("not no neither both none".split())


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
        return _predicates("is", ["it"], ["better", "to", *words[start:]])
    plain = [word for word in words if bare(word) not in {"either", "rather", "instead"}]
    end = subject_end(plain, auxiliary)
    if end is None:
        return []
    subject, predicate = plain[1:end], plain[end:]
    if _joined_by_or(predicate):
        return _predicates(auxiliary, subject, predicate)
    permits = any(bare(word) in _PERMISSIONS for word in predicate[:3])
    if permits or "or" in map(bare, predicate) or not _joined_by_or(subject):
        return []
    options = split_options(subject)
    adverb = any(tags(each[-1]) == {"r"} for each in options)  # "culturally or legally free art"
    return [] if adverb else [clause(each, auxiliary, predicate) for each in options]


def _joined_by_or(words: Sequence[str]) -> bool:
    """Whether an "or" joins what is asked, rather than parts of a clause within it ("until they die
    or leave"), examples ("such as A or B") or words before one noun ("their racial or ethnic ...").
    """
    plain = [bare(word) for word in words]
    place = plain.index("or") if "or" in plain else 0
    if not 0 < place < len(words) - 1 or not _OPENS_CLAUSE.isdisjoint(plain[1:place]):
        return False
    alike = tags(plain[place - 1]) & tags(plain[place + 1])
    before = plain[place - 2] if place > 1 else ""
    permits = any(word in _PERMISSIONS for word in plain[: place - 1])
    permits = permits and "p" not in tags(plain[place + 1])
    to_do = before == "to" and "v" in alike and place + 2 < len(words)
    aside = words[place - 1].endswith(",") and words[place + 1].endswith(",")
    shares = before in POSSESSIVES and "a" in alike
    return not (permits or to_do or aside or shares or "such" in plain[:place])


def _clauses(words: Sequence[str], cuts: Sequence[int]) -> list[str]:
    """ "Do tenants need more, or is the law too hard": whole questions joined by "or"."""
    starts = [0, *(cut + 1 for cut in cuts)]
    pieces = [list(words[a:b]) for a, b in zip(starts, [*cuts, len(words)], strict=True)]
    first = pieces[0]
    end = subject_end(first, auxiliary_of(first[0]) or "")
    made = []
    for piece in pieces if end is not None else ():
        plain = [bare(word) for word in piece]
        later = piece is not first
        if plain[-2:-1] == ["do"] and plain[-1] in {"it", "so", "that", "this"}:
            piece = [*piece[:-2], *first[end:]]  # "should private firms do it"
        elif later and len(piece) < 4 and plain[0] in DO and "v" not in tags(piece[-1]):
            piece = [*piece, *first[end:]]  # "or do humans?"
        if later and plain[1] in {"it", "they"} and bare(first[1]) not in PRONOUNS:
            announced = "that" in plain or any(
                plain[i] == "to" and verb_share(plain[i + 1]) > 0.3
                for i in range(2, len(plain) - 1)
            )
            piece = piece if announced else [piece[0], *first[1:end], *piece[2:]]
        found = statement_of(" ".join(piece).rstrip(","))
        made += [found.text] if found else []
    return made if len(made) == len(pieces) else []


def clause(
    subject: Sequence[str], auxiliary: str, predicate: Sequence[str], *, agrees: bool = False
) -> str:
    """A statement of a subject; its auxiliary is put in number with it unless it ``agrees``."""
    if not agrees:
        auxiliary = (_PLURAL if _plural(subject) else _SINGULAR).get(auxiliary, auxiliary)
    return upper_first(said(subject, auxiliary, affirmed(without_asking(predicate))))


def _plural(subject: Sequence[str]) -> bool:
    gerund = "g" in tags(subject[0]) and len(subject) > 1
    head = next((i for i, word in enumerate(subject) if i and bare(word) in PREPOSITIONS), None)
    many = bare(subject[0]) in PLURAL_PRONOUNS or "and" in map(bare, subject)
    return many or (not gerund and is_plural(subject[(head or len(subject)) - 1]))


def split_options(words: Sequence[str]) -> list[list[str]]:
    """The options of "A, B or C"."""
    parts: list[list[str]] = [[]]
    for word in words:
        if bare(word) in _VERSUS | {"or"}:
            parts.append([])
            continue
        parts[-1].append(word.strip("?!,;") if "." in bare(word) else word.strip("?!.,;"))
        if word.endswith((",", ";")):
            parts.append([])
    unique: dict[str, list[str]] = {}
    for part in parts:
        while part and bare(part[0]) in _JOINS:
            part = part[1:]
        part = [word for word in part if word]
        if part and bare(part[-1]) not in _NO_OPTION:
            unique.setdefault(" ".join(part).lower(), part)
    return list(unique.values()) if 1 < len(unique) <= MOST else []


def _predicates(auxiliary: str, subject: Sequence[str], predicate: Sequence[str]) -> list[str]:
    """ "Should SUBJECT X or Y": Y takes the place of the last part of X that is of its kind."""
    items = split_options(predicate)
    if not items:
        return []
    first, rest = items[0], items[1:]
    cut = _parallel(first, rest[-1], auxiliary)
    if cut is None:
        return []
    own, last = first[cut:], rest[-1]
    tail: list[str] = []  # "earlier or later in the day", "protect or destroy the village"
    if len(own) == 1 and len(last) > 1 and all(len(item) == 1 for item in rest[:-1]):
        kind, following = tags(own[0]) & tags(last[0]), bare(last[1])
        verbs = "v" in kind and "det" in tags(following)
        links = PREPOSITIONS - {"as", "like", "than"}
        described = kind & set("arp#") and following in links
        tail = last[1:] if verbs or described else []
    filled = [item if cut else _object_named(item, first) for item in rest]
    made = [[*first, *tail], *(_counted(first, item) or [*first[:cut], *item] for item in filled)]
    return [clause(subject, auxiliary, each, agrees=True) for each in made]


def _counted(first: Sequence[str], item: Sequence[str]) -> list[str] | None:
    """ "to 80 percent" with another number; None for an item that is none."""
    counts = [i for i, word in enumerate([*first, *item]) if "#" in tags(word) or word in NUMBERS]
    if len(item) > 1 or len(counts) < 2 or counts[-1] < len(first):
        return None
    return [*first[: counts[-2]], item[0], *first[counts[-2] + 1 :]]


def _parallel(first: Sequence[str], last: Sequence[str], auxiliary: str) -> int | None:
    """Index in the first option of the part that the last one replaces: the last part of the same
    kind, or as many words; None where there is none.
    """
    head, found = bare(last[0]), tags(last[0])
    behind = 0 if auxiliary in BE else min(1, len(first) - 1)  # the verb
    following = tags(last[1]) if len(last) > 1 else frozenset[str]()
    opens = verb_share(head) > 0.5 or head in {"be", "have", "do"}
    opens |= "v" in found and bool(following & {"prep", "det", "pron"})
    to_do = [i + 1 for i, word in enumerate(first[:-1]) if bare(word) == "to"]
    if opens and to_do and (auxiliary in BE or bare(first[0]) == "be"):
        return to_do[-1]
    if opens and auxiliary not in BE and "prep" not in found:
        second = tags(first[min(1, len(first) - 1)])
        return 1 if bare(first[0]) in {"be", "have"} and "p" in found & second else 0
    if head == "to":
        return to_do[-1] - 1 if to_do else None
    if found & {"a", "p", "r"} and not found & {"n", "s", "prep"}:
        own = [i for i, word in enumerate(first) if tags(word) & {"a", "p", "r"} and i >= behind]
        return behind if not own else own[-1] if len(last) == 1 else own[0]
    kind = "prep" if "prep" in found else "det" if head in ARTICLES | POSSESSIVES else ""
    if kind:
        alike = (i for i, word in enumerate(first) if kind in tags(word) and i >= behind)
        return max(alike, default=behind)
    return len(first) - min(len(last), max(1, len(first) - behind))


def _object_named(item: Sequence[str], first: Sequence[str]) -> list[str]:
    """ "smother them" with the object of "protect their children"."""
    for i, word in enumerate(item):
        owner = bare(word) == "her" and i + 1 < len(item)
        if bare(word) in SUBORDINATORS or owner or bare(item[i - 1]) == "as":
            break
        if i and bare(word) in {"it", "them", "him", "her"}:
            until = (j for j, each in enumerate(first) if j > 1 and "prep" in tags(each))
            start = 1 + (first[1:2] == ["back"])
            return [*item[:i], *first[start : next(until, len(first))], *item[i + 1 :]]
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
        words = pieces[i]
        cut = next((k + 1 for k, word in enumerate(words) if k and word.endswith(",")), len(words))
        compared = next((k + 1 for k, word in enumerate(words[1:4], 1) if _compares(word)), cut)
        if cut == len(words) and bare(words[compared % cut]) not in PREPOSITIONS:
            cut = compared  # "which is better A or B"
        listed = "or" in map(bare, words[cut + 1 :])
        if listed and bare(words[cut]) not in AUXILIARIES | WH_WORDS | {"and"}:
            return _answers(words[:cut], _options(words[cut:]))  # "Which is better, A or B"
    if asked or not pieces:
        return []
    return (_poles(*pieces[-2:]) if len(pieces) > 1 else []) or _versus(pieces[-1])


def _compares(word: str) -> bool:
    core = bare(word)
    return core in DEGREES or (core.endswith(("er", "est")) and tags(core) == {"a"})


def _asks(word: str) -> bool:
    return bare(word).removesuffix("'s") in WH_WORDS


def _pieces(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """The parts of the sentences between dashes, colons and semicolons, and behind a list."""
    found: list[list[str]] = []
    for sentence in sentences:
        found.append([])
        for word in sentence:
            current = found[-1]
            listed = _asks(word) and not _VERSUS.union(["or"]).isdisjoint(map(bare, current))
            if not bare(word) or (listed and current[-1].endswith(",")):
                found.append([])
            if bare(word):
                found[-1].append(word.rstrip("?!;:"))
            if word.endswith((":", ";")):
                found.append([])
        if found[-1] and "." not in bare(found[-1][-1]):
            found[-1][-1] = found[-1][-1].rstrip(".")
    return [piece for piece in found if piece]


def _options(words: Sequence[str]) -> list[list[str]]:
    """The options of a list, or none where it reads as a sentence or as no list."""
    options = split_options(words)
    return _with_noun(options) if all(len(each) < 13 for each in options) else []


def _with_noun(options: list[list[str]]) -> list[list[str]]:
    """ "electric" and "petrol cars" as "electric cars" and "petrol cars"."""
    noun = options[-1][1:] if options and len(options[-1]) == 2 else []
    describes = [[tag for _, tag in readings(bare(each[0]))[:1]] == ["a"] for each in options]
    pairs = zip(options, describes, strict=True)
    return [[*each, *noun] if describing and len(each) == 1 else each for each, describing in pairs]


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
    if verb is None:  # "which makes people happier"
        lexical = 1 if len(words) > 2 and verb_share(words[1]) > 0.5 else finite_verb(words)
        if lexical is None or lexical + 1 >= len(words) or head not in {"which", "what", "who"}:
            return []
        base = base_of(words[lexical], "z") or words[lexical]
        verbs = [base if _plural(option) else words[lexical] for option in options]
        pairs = zip(options, verbs, strict=True)
        return [upper_first(" ".join([*o, v, *words[lexical + 1 :]])) for o, v in pairs]
    auxiliary, rest = bare(words[verb]), words[verb + 1 :]
    if not rest:
        return []
    if head in {"how", "where", "when"}:
        return _ways(words[verb:], options, head) if verb == 1 and auxiliary in MODALS else []
    if head == "whose":
        owned = auxiliary in BE and all(option[-1].rstrip("'’").endswith("s") for option in options)
        return [clause(rest, auxiliary, [*o, *words[1:verb]]) for o in options] if owned else []
    if auxiliary in BE:
        return [clause(option, auxiliary, rest) for option in options]
    if bare(rest[0]) in {"you", "people"} and len(rest) == 2:
        return [clause(option, "is", ["better"]) for option in options]  # "do you prefer"
    if auxiliary not in MODALS or [bare(word) for word in rest[:2]] == ["be", "done"]:
        return []
    acts = verb_share(rest[0]) > 0.7 or bare(rest[0]) in {"be", "have", "do"}
    named = len(rest) > 1 and tags(rest[0]) & {"v", "a"} and "s" not in tags(rest[0])
    if (acts or (head == "who" and named)) and bare(rest[0]) not in PRONOUNS:
        return [clause(option, auxiliary, rest) for option in options]
    return _objects(auxiliary, rest, options)


def _objects(auxiliary: str, rest: Sequence[str], options: Sequence[Sequence[str]]) -> list[str]:
    """ "Which should we ban: cars or planes" answered: "We should ban cars"."""
    more = [" more"] if {"more", "better"} & {bare(word) for word in rest} else [""]
    words = [word for word in rest if bare(word) not in {"more", "better", "rather", "first"}]
    own = 1 if bare(words[0]) in PRONOUNS else len(words)
    verb = next((i for i, word in enumerate(words) if i and verb_share(word) > 0.5), own)
    verb = min(verb, own)
    if verb >= len(words):
        return []
    stem = " ".join([*words[:verb], auxiliary, *words[verb:]])
    return [upper_first(f"{stem} {mid_sentence(' '.join(each))}{more[0]}") for each in options]


def _ways(asked: Sequence[str], options: Sequence[Sequence[str]], head: str) -> list[str]:
    """ "how should Argentina close its deficit" answered: "Argentina should close its deficit with
    spending cuts".
    """
    found = statement_of(" ".join(asked))
    made = []
    for option in options if found else ():
        kind, own = tags(option[0]), tags(options[0][0])
        link = ["by"] if "g" in kind and "n" not in kind else ["with"]
        if "prep" in own or head != "how":
            link = [] if "prep" in kind or "prep" not in own else [options[0][0]]
        made.append(" ".join([found.text if found else "", *link, mid_sentence(" ".join(option))]))
    return made


def _poles(topic: Sequence[str], ends: Sequence[str]) -> list[str]:
    """ "Zoos: cruel or educational?" as statements about the topic; empty for anything else."""
    options = split_options(ends) if "or" in map(bare, ends) else []
    if len(options) != 2 or len(topic) > 8 or auxiliary_of(topic[0]):
        return []
    for option in options:
        kind = tags(option[0])
        named = bare(option[0]) in ARTICLES | {"too"}
        judges = DISPUTED.search(option[0])
        colour = len(option) == 1 and "n" in kind and not judges  # "Wine: red or white?"
        if not named and (not kind & {"a", "p"} or colour or is_plural(option[-1])):
            return []
    return [clause(topic, "is", option) for option in options]


def _versus(words: Sequence[str]) -> list[str]:
    """ "A vs B", "A compared with B" or a bare "A or B": each said to be better than the other."""
    plain = [bare(word) for word in words]
    if auxiliary_of(words[0]) is not None or _asks(words[0]) or is_talk(words):
        return []
    joints = [*([word] for word in _VERSUS), *_COMPARED]
    if "or" in plain and len(plain) < 9 and finite_verb(words) is None:
        joints.append(["or"])
    marks = [
        (i, i + len(each))
        for each in joints for i in range(1, len(plain)) if plain[i : i + len(each)] == each
    ]  # fmt: skip
    if not marks or plain[0] == "either":
        return []
    left, right = list(words[: marks[0][0]]), list(words[marks[0][1] :])
    ends = (i for i, word in enumerate(right) if i and bare(word) in {"for", "in", "as", "when"})
    place = next(ends, len(right))
    right, tail = right[:place], right[place:]
    if not right or bare(right[0]) in _NO_OPTION or max(len(left), len(right)) > 8:
        return []
    options = split_options([*left, "or", *right])
    if len(left) > 1 and {"a"} & tags(left[-1]) & tags(right[0]) and len(right) == 1:
        return _poles(left[:-1], [left[-1], "or", *right])  # "School uniform good or bad"
    if len(options) > 2:
        return [clause(option, "is", ["the", "best", *tail]) for option in options]
    left = [*left[:-1], left[-1].rstrip(",")]
    left, right = _with_noun([left, right])
    if not right[0][:1].isupper():
        left = mid_sentence(" ".join(left)).split(" ")
    return [
        clause(a, "is", ["better", "than", *b, *tail]) for a, b in ((left, right), (right, left))
    ]
