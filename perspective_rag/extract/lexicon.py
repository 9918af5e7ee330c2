"""What an English word can be: its classes, its base form, its inflections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from perspective_rag.extract.english import (
    ADVERBS,
    ANYONES,
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINER_WORDS,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    SUBJECT_PRONOUNS,
    WH_WORDS,
    bare,
)

LONGEST = 40  # letters; what is longer is no word


@dataclass(frozen=True, slots=True)
class Entry:
    """A lemma: its classes (likeliest first), the share of its base form's uses that are verbs, how
    common it is (0 to 9), and the inflections that are not regular ("" where they are).
    """

    classes: str
    verb_share: float
    band: int
    past: str = ""
    participle: str = ""
    plural: str = ""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one language: lemmas, irregular forms with their lemma and tag, and names."""

    lemmas: Mapping[str, Entry]
    irregular: Mapping[str, tuple[tuple[str, str], ...]]
    names: Mapping[str, str]


@cache
def vocabulary() -> Vocabulary:
    """The English words, read once."""
    lemmas: dict[str, Entry] = {}
    irregular: dict[str, list[tuple[str, str]]] = {}
    names: dict[str, str] = {}
    text = files("perspective_rag.extract").joinpath("english_words.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        word, classes, *rest = line.split(" ")
        if classes == "P":
            names[word.lower()] = word
            continue
        entry = _entry(classes, rest)
        lemmas[word] = entry
        for form, tag in ((entry.past, "d"), (entry.participle, "p"), (entry.plural, "s")):
            if form and form != word:
                irregular.setdefault(form, []).append((word, tag))
    return Vocabulary(lemmas, {form: tuple(found) for form, found in irregular.items()}, names)


def _entry(classes: str, rest: list[str]) -> Entry:
    share = float(classes[-1]) / 10 if classes[-1].isdigit() else float("v" in classes)
    past = participle = plural = ""
    for extra in rest[1:]:
        if extra.startswith("+"):
            plural = extra[1:]
        else:
            past, _, participle = extra.partition("/")
    return Entry(
        classes.rstrip("0123456789"), share, int(rest[0]), past, participle or past, plural
    )


@lru_cache(maxsize=8192)
def tags(word: str) -> frozenset[str]:
    """What a word can be.

    n, s: a noun, a plural noun; v, z, d, p, g: a verb's base, third person, past, participle,
    -ing; a: adjective; r: adverb; P: a name; #: a number; q: quoted words; and det, prep, pron,
    conj, aux, wh for the closed classes. Empty for a word that is not known.
    """
    if "\u00a0" in word:
        return frozenset("n")
    word = bare(word)
    found = {tag for tag, words in _CLOSED if word in words}
    if word and (word[0].isdigit() or word[0] in "$£€"):
        found.add("#")
    if word not in _ONLY_CLOSED:
        found.update(tag for _, tag in readings(word) if tag != "x")
    if word in vocabulary().names:
        found.add("P")
    return frozenset(found)


_ONLY_CLOSED = (
    CONJUNCTIONS
    | ARTICLES
    | OBJECT_PRONOUNS
    | SUBJECT_PRONOUNS
    | frozenset("of to in on at by for with from not if as than is are was were be".split())
)
_CLOSED = (
    ("det", DETERMINER_WORDS),
    ("prep", PREPOSITIONS),
    ("pron", PRONOUNS | OBJECT_PRONOUNS | ANYONES),
    ("conj", CONJUNCTIONS),
    ("aux", AUXILIARIES | {"cannot"}),
    ("wh", WH_WORDS),
    ("r", ADVERBS),
)


@lru_cache(maxsize=8192)
def readings(word: str) -> tuple[tuple[str, str], ...]:
    """The lemmas that a word in lower case can be a form of, each with its tag."""
    if not word or len(word) > LONGEST:
        return ()
    return tuple(dict.fromkeys(_listed(word) or _by_look(word)))


def _listed(word: str) -> list[tuple[str, str]]:
    """The lemmas of the vocabulary among them."""
    known = vocabulary()
    found: list[tuple[str, str]] = []
    if entry := known.lemmas.get(word):
        for each in entry.classes:
            rare = each == "v" and entry.verb_share < 0.05 and len(entry.classes) > 1
            if not rare:
                found.append((word, each))
        if entry.plural == word:
            found.append((word, "s"))
        if entry.past == word:
            found += [(word, "d"), (word, "p")]
    found += known.irregular.get(word, ())
    for lemma, kind in _regular(word):
        entry = known.lemmas.get(lemma)
        if entry is None or kind not in entry.classes:
            continue
        if word.endswith("s") and len(word) > 2:
            found.append((lemma, "s" if kind == "n" else "z"))
        elif word.endswith("ed"):
            found += [(lemma, "d"), (lemma, "p")]
        elif word.endswith("ing"):
            found.append((lemma, "g"))
        else:
            found.append((lemma, "a"))
    return found


def _regular(word: str) -> list[tuple[str, str]]:
    """The lemmas a regular form can come from, each with the class it then has."""
    stems: list[tuple[str, str]] = []
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        options = [word[:-1]]
        if word.endswith("ies"):
            options = [word[:-3] + "y", word[:-1]]
        elif word.endswith("es"):
            hissing = word[:-2].endswith(("s", "x", "z", "ch", "sh", "o"))
            options = [word[:-2], word[:-1]] if hissing else [word[:-1]]
        stems += [(stem, kind) for stem in options for kind in "nv"]
    for ending in ("ed", "ing"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            cut = word[: -len(ending)]
            options = [cut, cut + "e"]
            if ending == "ed" and cut.endswith("i"):
                options.append(cut[:-1] + "y")
            if ending == "ing" and cut.endswith("y"):
                options.append(cut[:-1] + "ie")
            if len(cut) > 2 and cut[-1] == cut[-2]:
                options.append(cut[:-1])
            stems += [(stem, "v") for stem in options]
    for ending in ("er", "est"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            cut = word[: -len(ending)]
            options = [cut, cut + "e"]
            if cut.endswith("i"):
                options.append(cut[:-1] + "y")
            if cut[-1] == cut[-2]:
                options.append(cut[:-1])
            stems += [(stem, "a") for stem in options if len(stem) < 8]
    return stems


_ENDINGS = (
    ("ise", "v"), ("ize", "v"), ("ify", "v"),
    ("able", "a"), ("ible", "a"), ("ful", "a"), ("less", "a"), ("ous", "a"), ("ive", "a"),
    ("ical", "a"), ("ary", "a"), ("ish", "a"), ("proof", "a"), ("friendly", "a"), ("free", "a"),
    ("ly", "r"), ("ness", "n"), ("ment", "n"), ("tion", "n"), ("sion", "n"), ("ism", "n"),
    ("ist", "n"), ("ity", "n"), ("ship", "n"), ("hood", "n"), ("er", "n"), ("or", "n"),
)  # fmt: skip


def _by_look(word: str) -> list[tuple[str, str]]:
    """What an unknown word looks like by its ending."""
    if "-" in word:
        last = word.rpartition("-")[2]
        return [(word, tag) for _, tag in readings(last) if tag != "v"] if last else []
    for prefix in ("over", "under", "non", "un", "re", "de", "anti", "pre", "out", "mis", "dis"):
        if word.startswith(prefix) and len(word) > len(prefix) + 3:
            rest = word[len(prefix) :]
            if rest in vocabulary().lemmas:
                return [(word, tag) for _, tag in readings(rest)]
    if len(word) < 5:
        return []
    for ending, tag in _ENDINGS:
        if word.endswith(ending):
            return [(word, tag)]
    if word.endswith(("ised", "ized", "ified", "ated")):
        return [(word, "d"), (word, "p")]
    if word.endswith("ing"):
        return [(word, "g")]
    return []


def base_of(word: str, tag: str) -> str | None:
    """The lemma of a word read with a tag ("leaves" as z: "leave"), the commonest; or None."""
    options = [lemma for lemma, each in readings(bare(word)) if each == tag]
    known = vocabulary().lemmas
    return max(options, key=lambda lemma: _commonness(known.get(lemma)), default=None)


def _commonness(entry: Entry | None) -> float:
    return -1.0 if entry is None else entry.band * (0.2 + entry.verb_share)


def verb_share(word: str) -> float:
    """The share of a base form's uses that are verbs; 0 for what is no base form."""
    word = bare(word)
    entry = vocabulary().lemmas.get(word)
    if entry is not None:
        return entry.verb_share
    return 0.9 if (word, "v") in readings(word) else 0.0


def is_known(word: str) -> bool:
    """True for a word of the vocabulary, a regular form of one, a number or a closed-class word."""
    word = bare(word).removesuffix("'s").removesuffix("'")
    return bool(readings(word) or tags(word)) if word else True


def is_plural(noun: str) -> bool:
    """True for the plural of a noun ("zoos", "children", "people")."""
    word = bare(noun).rpartition("-")[2]
    found = {tag for _, tag in readings(word)}
    if "s" in found:
        other = any(tag == "s" and lemma != word for lemma, tag in readings(word))
        plural = other and word not in _SINGULAR_S
        return (plural or word in _ALWAYS_PLURAL) and not word.endswith(_SINGULAR_ENDINGS)
    if word in _ALWAYS_PLURAL:
        return True
    unknown = not found and word.endswith("s") and not noun[:1].isupper()
    return unknown and not word.endswith(("ss", "us", "is", *_SINGULAR_ENDINGS))


_ALWAYS_PLURAL = frozenset("people police cattle women men children elderly poor rich".split())
_SINGULAR_S = frozenset("means series species chess lens bus gas".split())
_SINGULAR_ENDINGS = ("ics", "news", "itis")


def own_band(word: str) -> int:
    """How common a lemma is, 0 to 9; -1 for a word that is no lemma."""
    entry = vocabulary().lemmas.get(word)
    return -1 if entry is None else entry.band


def word_band(word: str) -> float:
    """How common a listed word is, 0 to 9; an inflected form as common as its lemma is in that
    class; -1 for a word that is not listed.
    """
    known = vocabulary().lemmas
    best = -1.0
    for lemma, tag in _listed(word):
        entry = known.get(lemma)
        if entry is None:
            continue
        verbal = lemma != word and tag in "zdpg"
        best = max(best, entry.band * min(1.0, 0.3 + entry.verb_share) if verbal else entry.band)
    return best


def mid_sentence(text: str) -> str:
    """A text as it stands within a sentence: its first letter lowered unless it opens a name."""
    first = text.partition(" ")[0]
    core = bare(first)
    ordinary = bool(tags(core) - {"P"}) and core.removesuffix("'s") not in vocabulary().names
    if core == "i" or not ordinary or (not first[1:].replace("'", "").islower() and len(core) > 1):
        return text
    return text[:1].lower() + text[1:]
