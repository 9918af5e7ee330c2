"""The options that a "which", "how" or "versus" question lists, by rule."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.extract.alternatives import MOST, clause, split_options
from perspective_rag.extract.english import (
    AUXILIARIES,
    BE,
    MODALS,
    bare,
    upper_first,
)
from perspective_rag.extract.lexicon import base_of, mid_sentence, tags, verb_share
from perspective_rag.extract.statement import auxiliary_of, statement_of
from perspective_rag.extract.verbs import finite_verb

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
    return [upper_first(" ".join([*stem, mid_sentence(" ".join(option))])) for option in options]


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
