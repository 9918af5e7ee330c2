"""English words: the closed classes, what a word can be, its forms, and the verb of a statement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE = _words("is are was were am")
HAVE = _words("has have had")
DO = _words("do does did")
MODALS = _words("should must can could will would shall may might ought")
AUXILIARIES = BE | HAVE | DO | MODALS
SUBJECT_PRONOUNS = _words("i you we he she it they there")
PLURAL_PRONOUNS = _words("i you we they")
PRONOUNS = SUBJECT_PRONOUNS | _words("this that these those one")
OBJECT_PRONOUNS = _words("me you him her it us them")
ANYONES = _words(
    "everyone everybody everything someone somebody anyone anybody nobody nothing something"
    " anything"
)
POSSESSIVES = _words("my your his her its our their whose")
ARTICLES = _words("a an the")
POINTERS = _words("this that these those")
DETERMINER_WORDS = ARTICLES | POINTERS | POSSESSIVES | _words(
    "any every each some no all both either neither many much several few most another such what"
    " enough various certain other"
)  # fmt: skip
PREPOSITIONS = _words(
    "of in on at by for with from to into onto about over under between among through during before"
    " after against without within across behind beyond near around outside inside upon toward"
    " towards despite per via regarding concerning including following amid off above below beside"
    " besides unlike versus vs throughout until till since as than like"
)
CONJUNCTIONS = _words("and or but nor")
RELATIVES = _words("who that which whom whose where")
WH_WORDS = _words("what which who whom whose when where why how")
# Each of these opens a clause with a verb of its own: "people who are ill should stay home".
SUBORDINATORS = _words(
    "who which that whose whom if when because unless although though while where"
)
ADVERBS = _words(
    "too very so really still ever always never not already just even actually truly also now often"
    " sometimes usually rarely seldom simply merely quite rather almost no-longer once again fully"
    " only genuinely seriously ultimately inherently necessarily generally currently fundamentally"
)
DEGREES = _words("more less most least better worse best worst far much")
CLOSED = (
    AUXILIARIES | WH_WORDS | PREPOSITIONS | PRONOUNS | DETERMINER_WORDS | CONJUNCTIONS | ANYONES
    | OBJECT_PRONOUNS | SUBORDINATORS | ADVERBS | DEGREES
    | _words("be been being else yet not cannot whether own etc here others")
)  # fmt: skip
"""Words of the closed classes."""

EDGES = " ,;:.!?\"'“”‘’()[]…–—-*"


def bare(word: str) -> str:
    """A word in lower case without the punctuation around it."""
    return word.strip(EDGES).lower().replace("’", "'")


def upper_first(text: str) -> str:
    """The text with its first letter raised, also behind an opening quotation mark."""
    start = 1 if text[:1] in "“\"'‘(" else 0
    first = text[start:].partition(" ")[0]
    if first[:1].islower() and any(c.isupper() for c in first[1:]):
        return text  # "iPhone"
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def mid_sentence(text: str) -> str:
    """A text as it stands within a sentence: its first letter lowered unless it opens a name."""
    first = text.partition(" ")[0]
    core = bare(first)
    ordinary = bool(tags(core) - {"P"}) and core.removesuffix("'s") not in vocabulary().names
    if core == "i" or not ordinary or (not first[1:].replace("'", "").islower() and len(core) > 1):
        return text
    return text[:1].lower() + text[1:]


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
    irregular: Mapping[str, Sequence[tuple[str, str]]]
    names: Mapping[str, str]


@cache
def vocabulary() -> Vocabulary:
    """The English words, read once."""
    lemmas: dict[str, Entry] = {}
    irregular: dict[str, list[tuple[str, str]]] = {}
    names: dict[str, str] = {}
    text = files("perspective_rag.perspectives").joinpath("english_words.txt").read_text("utf-8")
    for line in text.splitlines():
        word, _, about = line.partition(" ")
        if about == "P":
            names[word.lower()] = word
        elif word != "#":
            lemmas[word] = entry = _entry(*about.split(" "))
            for form, tag in ((entry.past, "d"), (entry.participle, "p"), (entry.plural, "s")):
                if form and form != word:
                    irregular.setdefault(form, []).append((word, tag))
    return Vocabulary(lemmas, irregular, names)


def _entry(classes: str, band: str, *extras: str) -> Entry:
    share = float(classes[-1]) / 10 if classes[-1].isdigit() else float("v" in classes)
    plural = next((extra[1:] for extra in reversed(extras) if extra.startswith("+")), "")
    verb = next((extra for extra in reversed(extras) if not extra.startswith("+")), "")
    past, _, participle = verb.partition("/")
    kinds = classes.rstrip("0123456789")
    return Entry(kinds, share, int(band), past, participle or past, plural)


@lru_cache(maxsize=8192)
def tags(word: str) -> frozenset[str]:
    """What a word can be.

    n, s: a noun, a plural noun; v, z, d, p, g: a verb's base, third person, past, participle,
    -ing; a: adjective; r: adverb; P: a name; #: a number; and det, prep, pron, conj, aux, wh for
    the closed classes. Empty for a word that is not known.
    """
    if "\u00a0" in word:  # a quotation
        return frozenset("n")
    word = bare(word)
    found = {tag for tag, words in _CLASSES if word in words}
    if word and (word[0].isdigit() or word[0] in "$£€"):
        found.add("#")
    if word not in _ONLY_CLOSED:
        found.update(tag for _, tag in readings(word) if tag != "x")
    if word in vocabulary().names:
        found.add("P")
    return frozenset(found)


_ONLY_CLOSED = CONJUNCTIONS | ARTICLES | OBJECT_PRONOUNS | SUBJECT_PRONOUNS | _words(
    "of to in on at by for with from not if as than is are was were be"
)  # fmt: skip
_CLASSES = (
    ("det", DETERMINER_WORDS),
    ("prep", PREPOSITIONS),
    ("pron", PRONOUNS | OBJECT_PRONOUNS | ANYONES),
    ("conj", CONJUNCTIONS),
    ("aux", AUXILIARIES | {"cannot"}),
    ("wh", WH_WORDS),
    ("r", ADVERBS),
)
NUMBERS = _words("two three four five six seven eight nine ten twelve fifteen twenty thirty fifty")
_LONGEST = 40  # letters; what is longer is no word


@lru_cache(maxsize=8192)
def readings(word: str) -> tuple[tuple[str, str], ...]:
    """The lemmas that a word in lower case can be a form of, each with its tag."""
    if not word or len(word) > _LONGEST:
        return ()
    return tuple(dict.fromkeys(_listed(word) or _by_look(word)))


def _listed(word: str) -> list[tuple[str, str]]:
    """The lemmas of the vocabulary among them."""
    known = vocabulary()
    found: list[tuple[str, str]] = []
    if entry := known.lemmas.get(word):
        for each in entry.classes:
            if each != "v" or entry.verb_share >= 0.05 or len(entry.classes) == 1:
                found.append((word, each))
        found += [(word, "s")] if entry.plural == word else []
        found += [(word, "d"), (word, "p")] if entry.past == word else []
    found += known.irregular.get(word, ())
    for lemma, kind, forms in _regular(word):
        entry = known.lemmas.get(lemma)
        if entry is not None and kind in entry.classes:
            found += [(lemma, tag) for tag in forms]
    return found


_FORMS = (("ed", "v", "dp"), ("ing", "v", "g"), ("er", "a", "a"), ("est", "a", "a"))


def _regular(word: str) -> list[tuple[str, str, str]]:
    """The lemmas a regular form can come from, with their class and the tags of the form."""
    found: list[tuple[str, str, str]] = []
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        stems = [word[:-1]]
        if word.endswith("ies"):
            stems.insert(0, word[:-3] + "y")
        elif word.endswith("es") and word[:-2].endswith(("s", "x", "z", "ch", "sh", "o")):
            stems.insert(0, word[:-2])
        forms = (("n", "s" if len(word) > 2 else ""), ("v", "z" if len(word) > 2 else ""))
        found += [(stem, kind, form) for stem in stems for kind, form in forms]
    for ending, kind, form in _FORMS:
        if not word.endswith(ending) or len(word) < len(ending) + (2 if kind == "v" else 3):
            continue
        cut = word[: -len(ending)]
        stems = [cut + "e"] if doubles(cut) else [cut, cut + "e"]
        if cut.endswith("i") and ending != "ing":
            stems.append(cut[:-1] + "y")
        if cut.endswith("y") and ending == "ing":
            stems.append(cut[:-1] + "ie")
        if len(cut) > 2 and cut[-1] == cut[-2]:
            stems.append(cut[:-1])
        found += [(stem, kind, form) for stem in stems if kind == "v" or len(stem) < 8]
    return found


_ENDINGS = dict(
    pair.split("=")
    for pair in (
        "ise=v ize=v ify=v able=a ible=a ful=a less=a ous=a ive=a ical=a ary=a ish=a proof=a"
        " friendly=a free=a ly=r ness=n ment=n tion=n sion=n ism=n ist=n ity=n ship=n hood=n er=n"
        " or=n"
    ).split()
)
_PREFIXES = "over under non un re de anti pre out mis dis".split()


def _by_look(word: str) -> list[tuple[str, str]]:
    """What an unknown word looks like by its parts."""
    if "-" in word:
        return [(word, tag) for _, tag in readings(word.rpartition("-")[2]) if tag != "v"]
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix)
        if len(prefix) + 3 < len(word) != len(rest) and rest in vocabulary().lemmas:
            return [(word, tag) for _, tag in readings(rest)]
    if len(word) < 5:
        return []
    for ending, tag in _ENDINGS.items():
        if word.endswith(ending):
            return [(word, tag)]
    if word.endswith(("ised", "ized", "ified", "ated")):
        return [(word, "d"), (word, "p")]
    return [(word, "g")] if word.endswith("ing") else []


def base_of(word: str, tag: str) -> str | None:
    """The lemma of a word read with a tag ("leaves" as z: "leave"), the commonest; or None."""
    known = vocabulary().lemmas

    def commonness(lemma: str) -> float:
        entry = known.get(lemma)
        return -1.0 if entry is None else entry.band * (0.2 + entry.verb_share)

    options = [lemma for lemma, each in readings(bare(word)) if each == tag]
    return max(options, key=commonness, default=None)


def verb_share(word: str) -> float:
    """The share of a base form's uses that are verbs; 0 for what is no base form."""
    word = bare(word)
    entry = vocabulary().lemmas.get(word)
    if entry is not None:
        return entry.verb_share
    return 0.9 if (word, "v") in readings(word) else 0.0


def is_manner(word: str) -> bool:
    """True for an adverb such as "greatly", which is nothing else."""
    core = bare(word)
    return core.endswith("ly") and "r" in tags(core) and not tags(core) & {"a", "n"}


def is_known(word: str) -> bool:
    """True for a word of the vocabulary, a regular form of one, a number or a closed-class word."""
    word = bare(word).removesuffix("'s").removesuffix("'")
    return bool(readings(word) or tags(word)) if word else True


def is_plural(noun: str) -> bool:
    """True for the plural of a noun ("zoos", "children", "people")."""
    word = bare(noun).rpartition("-")[2]
    found = readings(word)
    if word in _ALWAYS_PLURAL:
        return True
    if word.endswith(("ics", "news", "itis")):
        return False
    if any(tag == "s" for _, tag in found):
        return word not in _SINGULAR_S and any(t == "s" and lemma != word for lemma, t in found)
    unknown = not found and word.endswith("s") and not noun[:1].isupper()
    return unknown and not word.endswith(("ss", "us", "is"))


_ALWAYS_PLURAL = _words("people police cattle women men children elderly poor rich")
_SINGULAR_S = _words("means series species chess lens bus gas")


def word_band(word: str) -> float:
    """How common a listed word is, 0 to 9; an inflected form as common as its lemma is in that
    class; -1 for a word that is not listed.
    """
    best = -1.0
    for lemma, tag in _listed(word):
        entry = vocabulary().lemmas.get(lemma)
        if entry is not None:
            verbal = lemma != word and tag in "zdpg"
            share = min(1.0, 0.3 + entry.verb_share) if verbal else 1.0
            best = max(best, entry.band * share)
    return best


_IRREGULAR = {
    "be": ("is", "was", "been"),
    "have": ("has", "had", "had"),
    "do": ("does", "did", "done"),
    "go": ("goes", "went", "gone"),
}
_VOWELS = "aeiou"


def doubles(stem: str) -> bool:
    """True for a short stem whose last letter is doubled before "ed", "ing" and "er" ("ban")."""
    return re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", stem) is not None


def inflected(verb: str, tag: str) -> str:
    """A form of a base form: z, third person; d, past; p, participle; g, -ing; v, itself."""
    lower = verb.lower()
    if tag in "zdp" and lower in _IRREGULAR:
        return _IRREGULAR[lower]["zdp".index(tag)]
    y = verb.endswith("y") and verb[-2:-1] not in _VOWELS
    if tag == "v":
        return verb
    if tag == "z":
        if y:
            return verb[:-1] + "ies"
        echo = verb[-1:] == "o" and verb[-2:-1] not in _VOWELS
        return verb + ("es" if echo or verb.endswith(("s", "sh", "ch", "x", "z")) else "s")
    if tag in "dp":
        entry = vocabulary().lemmas.get(lower)
        known = (entry.past if tag == "d" else entry.participle) if entry else ""
        return known or (verb[:-1] + "ied" if y else verb + ("d" if verb.endswith("e") else "ed"))
    if lower.endswith("ie"):
        return verb[:-2] + "ying"
    if lower.endswith("e") and not lower.endswith(("ee", "oe", "ye")) and lower != "be":
        return verb[:-1] + "ing"
    # "banned" and "cut" say whether the last letter is doubled, where the vocabulary knows.
    doubled = inflected(verb, "p").startswith(verb + verb[-1:]) or doubles(lower)
    return verb + (verb[-1] if doubled and lower != "be" else "") + "ing"


_NEVER = -9.0
_SURE, _LIKELY, _POSSIBLE = 3.4, 1.95, -1.0
# Verbs that another base form may follow: "help reduce", "let go".
BEFORE_BASE = _words("help let make dare go come get be have do need")
_TIMES = _words("today now nowadays everywhere here")


def finite_verb(words: Sequence[str], *, trusted: bool = False) -> int | None:
    """Index of the verb that carries a statement ("are" in "Zoos are cruel", "drink" in "Fans
    drink too much"), outside relative clauses; None where none is plausible. ``trusted``:
    the words are known to be a statement, so that a less likely verb will do.
    """
    blocked = relative_parts(words) if len(words) > 2 else frozenset[int]()
    for i in range(1, len(words)):
        if i not in blocked and _auxiliary_here(words, i):
            earlier = _lexical_verb(words[:i], blocked, least=_SURE)
            return i if earlier is None else earlier
    found = _lexical_verb(words, blocked, least=_LIKELY)
    if found is None and trusted:
        found = _lexical_verb(words, blocked, least=_POSSIBLE)
    return found


def _auxiliary_here(words: Sequence[str], i: int) -> bool:
    word = bare(words[i])
    noun = word in {"will", "can", "must", "might", "may"} and closed_before(words, i)
    return (word in AUXILIARIES or word == "cannot") and not noun


def _lexical_verb(words: Sequence[str], blocked: frozenset[int], *, least: float) -> int | None:
    """The first word that reads as a finite verb after what reads as a subject."""
    behind = blocked | {k for k in range(1, len(words)) if bare(words[k]) in PREPOSITIONS}
    first = min(behind, default=len(words))  # before it stands the head of the subject
    for i in range(1, len(words)):
        if i in blocked or closed_before(words, i):
            continue
        if _finite_score(words, i, min(first, i)) >= least:
            return i
    return None


def _finite_score(words: Sequence[str], i: int, head: int) -> float:
    """How well a word reads as a finite verb that agrees with ``words[head - 1]`` or the word
    before it.
    """
    word, before = bare(words[i]), bare(words[i - 1])
    found = tags(word)
    following = words[i + 1] if i + 1 < len(words) else ""
    manner = before.endswith("ly") and "r" in tags(before) and "n" not in tags(before)
    lead = words[i - 2] if (manner or before in ADVERBS | _TIMES) and i > 1 else words[i - 1]
    plural = is_plural(words[head - 1]) or is_plural(lead) or bare(lead) in PLURAL_PRONOUNS
    plural |= lead.istitle() and lead.endswith("s") and bare(words[i - 2]) == "the"  # "the Beatles"
    share = 0.0
    if "v" in found and plural:
        share = verb_share(word)
    elif "z" in found and not (plural and is_plural(lead) and is_plural(words[head - 1])):
        share = max(verb_share(lemma) for lemma, tag in readings(word) if tag == "z")
        if "s" in found and verb_share(following) > 0.5:
            share -= 0.5  # "Smoking bans hurt pubs"
    elif "d" in found:
        part = "p" in found and "prep" in tags(following) and bare(following) != "to"
        share = 0.15 if part else 0.8
    if share <= 0.0:
        return _NEVER
    return 3.0 * share + min(before_verb(words, i), 1.0) + after_verb(following, words[i])


def relative_parts(words: Sequence[str]) -> frozenset[int]:
    """The words that belong to a relative clause up to its verb, and the article after that."""
    blocked: set[int] = set()
    waiting = False
    for i in range(1, len(words)):
        word, before = bare(words[i]), tags(words[i - 1])
        opens = (word in RELATIVES and (before & {"n", "s", "pron", "P"} or not before)) or (
            word in SUBJECT_PRONOUNS and before & {"n", "s"}
        )
        following = tags(words[i + 1]) if i + 1 < len(words) else frozenset[str]()
        if opens and not words[i - 1].endswith(","):
            waiting = True
            blocked.add(i)
        elif waiting:
            blocked.add(i)
            # "study" in "who study a subject" is mostly a noun.
            verb = bare(words[i - 1]) in {"who", "which", "that"} and "v" in tags(words[i])
            if _finite(words[i]) or (verb and "det" in following):
                waiting = False
                if following & {"det", "a", "p", "prep", "r"}:
                    blocked.add(i + 1)
    # A clause without an end blocks nothing: then it was no relative clause.
    return frozenset() if waiting else frozenset(blocked)


def _finite(word: str) -> bool:
    found = tags(word)
    if "aux" in found or bare(word).endswith("n't"):
        return True
    if "v" in found and verb_share(word) >= 0.3:
        return True
    if "z" in found:
        return any(tag == "z" and verb_share(lemma) >= 0.3 for lemma, tag in readings(bare(word)))
    return "d" in found and "n" not in found


def closed_before(words: Sequence[str], i: int) -> bool:
    """True where no predicate can start after the word before: "the", "of", "and", "zoo's"."""
    before, word = words[i - 1], bare(words[i - 1])
    if before.endswith(("'s", "’s", "s'", "s’")) and "\u00a0" not in before:
        return True
    stops = word in ARTICLES | POSSESSIVES | CONJUNCTIONS | PREPOSITIONS
    return stops or (word in DETERMINER_WORDS and word not in POINTERS and i == 2)


def before_verb(words: Sequence[str], i: int) -> float:
    """How well the word before fits a verb."""
    before = words[i - 1]
    word, found = bare(before), tags(before)
    if word in ANYONES or "pron" in found:
        return 1.5
    if word in ADVERBS:
        return 0.3
    if is_plural(before):
        return 1.0
    if "P" in found or (before[:1].isupper() and words[i].islower()):
        return 0.8
    if found & {"n", "g"} or not found:
        return 0.5
    if "a" in found:
        return -1.2 if "det" not in tags(words[i - 2]) else -0.6
    return 0.0


def after_verb(following: str, verb: str) -> float:
    """How well the word after fits a verb."""
    word, found = bare(following), tags(following)
    if not following or verb.endswith((",", ";")):
        return 0.0
    if word in {"be", "been"}:
        return -3.0
    if found & {"det", "pron", "wh", "#"}:
        return 1.0
    if found & {"prep", "r"} or word in DEGREES:
        return 0.5
    if is_plural(following) or "P" in found:
        return 0.7
    if "v" in found and "n" not in found:
        return -1.0 if bare(verb) not in BEFORE_BASE else 0.5
    return 0.4 if "a" in found else 0.2
