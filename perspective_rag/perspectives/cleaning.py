"""Spelling, punctuation and language of a question."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from perspective_rag.perspectives.words import (
    CLOSED,
    bare,
    doubles,
    is_known,
    tags,
    upper_first,
    vocabulary,
    word_band,
)

LONGEST = 2000
"""Characters that the rules read; of a longer text, its last sentences or its first question."""
LANGUAGES = ("en",)
"""The languages that the rules read."""

MOST = 8  # unknown words of one question that are looked into
_SHORTEST, _LONGEST = 3, 18
_SHORTEST_PLAIN = 5  # of a word that is no function word
_SEEN, _COMMON, _PLAIN, _NAME, _FUNCTION = 2, 3, 5, 6, 20
_LONG = 8  # letters; a word of so many is hardly a name that is like another word
_SOUNDS = ("aeiouy", "ckqsz", "bp", "dt", "fv", "gj", "mn")
_KINDS = ("aeiou", "bcdfghjklmnpqrstvwxyz")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NOT = "is are was were do does did has have had should could would must".split()
_WRITTEN_OUT = {f"{stem}nt": f"{stem}n't" for stem in _NOT} | dict(
    pair.split("=")
    for pair in (
        "cant=can't wont=won't aint=ain't whats=what's whos=who's thats=that's theres=there's"
        " hes=he's shes=she's youre=you're theyre=they're im=I'm ive=I've u=you ur=your r=are"
        " shld=should shd=should shud=should wud=would cud=could teh=the becuase=because abt=about"
        " ppl=people govt=government pls=please plz=please thx=thanks"
    ).split()
)
_DERIVED = "r rs er ers or ors ist ists ism ly ness able ish less ful wise al ize ise".split()


def shortened(text: str) -> tuple[str, bool]:
    """The part of a text that is read, and whether something was left out."""
    text = text[-20 * LONGEST :] if "?" in text[-LONGEST:] else text[: 20 * LONGEST]
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text, False
    tail = text[-LONGEST:]
    if "?" not in tail and "?" in text[:LONGEST]:
        return text[: text.index("?") + 1], True
    start = max(tail.rfind(end, 0, LONGEST // 2) for end in (". ", "? ", "! "))
    return tail[start + 2 :] if start >= 0 else tail.partition(" ")[2] or tail, True


def cleaned(text: str) -> str:
    """The text with plain quotation marks, one mark where there were several, no pictures, sentence
    case, and its misspelt words mended.
    """
    words = [kept for word in _double_quoted(text.split()) if (kept := _plain(word))]
    letters = [c for word in words for c in word if c.isalpha()]
    upper = sum(c.isupper() for c in letters)
    shouted = len(words) > 2 and len(letters) > 8 and upper > 0.85 * len(letters)
    titled = not shouted and _titled(words)
    if shouted:
        words = [word.lower() for word in words]
    elif titled:
        words[1:] = [word.lower() if _usual(word) else word for word in words[1:]]
    words = mended(words)
    if shouted or titled or not upper:
        words = [_named(word) for word in words]
    return upper_first(" ".join(words))


def mended(words: list[str]) -> list[str]:
    """The words with lost apostrophes put back and misspelt words replaced by the commonest word
    one letter away. Names, words with capitals and words without such a neighbour stay.
    """
    left = MOST
    kept: list[str] = []
    for word in words:
        core, low = bare(word), word.lower()
        fixed = _WRITTEN_OUT.get(core) if len(core) > 2 or core == word else None
        opens = not kept and word.istitle()
        if fixed is None and left and (word.islower() or opens) and is_unknown(word):
            left -= 1
            fixed = _respelt(core)
            fixed = fixed if word.islower() or fixed in CLOSED else None
        if fixed is None:
            kept.append(word)
        else:
            capital = word[low.find(core)].isupper()
            kept.append(low.replace(core, upper_first(fixed) if capital else fixed, 1))
    return kept


def is_unknown(word: str) -> bool:
    """Whether a word may be misspelt: no listed word, name, or derived from one."""
    core = bare(word.lower())
    if not core.isalpha() or not core.isascii() or not _SHORTEST <= len(core) <= _LONGEST:
        return False
    if word_band(core) >= 0 or core in CLOSED or core in vocabulary().names:
        return False
    stems = ((core[: -len(end)], end) for end in _DERIVED if core.endswith(end))
    return all(word_band(stem) < 0 or (end[0] in "eiy" and doubles(stem)) for stem, end in stems)


def _respelt(core: str) -> str | None:
    """The commonest word that a usual slip makes the misspelt one of."""
    short = len(core) < _SHORTEST_PLAIN
    swapped = (core[:i] + core[i + 1] + core[i] + core[i + 2 :] for i in range(len(core) - 1))
    for options, enough in (
        (_sounded(core), _PLAIN if short else _SEEN),
        (swapped, _FUNCTION if short else _SEEN),
        (_neighbours(core), _FUNCTION if short else _COMMON),
    ):
        best = max(options, key=_rank, default="")
        if _rank(best) >= enough:
            return best
    return None


def _rank(word: str) -> float:
    if word in CLOSED and len(word) > 2:
        return _FUNCTION
    named = word in vocabulary().names and len(word) >= _LONG - 1
    return _NAME if named else word_band(word)


def _sounded(word: str) -> Iterator[str]:
    """With a letter doubled or once only, "ph" for "f", or "y" for "ie" ("energie")."""
    for i, letter in enumerate(word):
        yield word[:i] + letter + word[i:]
        if word[i + 1 : i + 2] == letter:
            yield word[:i] + word[i + 1 :]
        if letter == "f":
            yield word[:i] + "ph" + word[i + 1 :]
    if word.endswith("ie"):
        yield word[:-2] + "y"


def _neighbours(word: str) -> Iterator[str]:
    """With a letter put in, a vowel left out, or one in place of another that sounds like it (in
    long words, of any). What a short word or a name ends in stays.
    """
    for i in range(1, len(word)):
        sounds = _KINDS if len(word) >= _LONG else _SOUNDS if len(word) >= _SHORTEST_PLAIN else ()
        alike = next((each for each in sounds if word[i] in each), "")
        yield from (word[:i] + letter + word[i:] for letter in _LETTERS)
        yield from (word[:i] + letter + word[i + 1 :] for letter in alike)
        vowel = word[i] in "aeiou" and len(word) > _SHORTEST_PLAIN
        if i + 1 < len(word) and (vowel or len(word) >= _LONG):
            yield word[:i] + word[i + 1 :]
    yield from (word + letter for letter in _LETTERS)


_QUOTES = str.maketrans({"‘": "'", "’": "'", "`": "'", "´": "'", "„": "“", "«": "“", "»": "”"})
_PAIRS = {"“": "”", '"': '"', "(": ")", "[": "]"}
_SPACE = "\u00a0"


def glued(text: str) -> list[str]:
    """The words of a text, with what stands in brackets left out; a quotation is one word, and an
    aside such as ", e.g. aspartame," one with the word before, so that no rule reads into them.
    """
    joined: list[str] = []
    closing = ""
    for i, c in enumerate(text):
        if closing and c == closing:
            closing = ""
        elif not closing and c in _PAIRS and _PAIRS[c] in text[i + 1 : i + 200]:
            closing = _PAIRS[c]
        joined.append(_SPACE if closing and c == " " else c)
    kept: list[str] = []
    aside = False
    for word in "".join(joined).split(" "):
        end = word[len(word.rstrip(".,;:?!")) :]
        opens = bool(kept) and kept[-1].endswith(",") and bare(word) in {"e.g", "i.e", "eg", "ie"}
        if kept and word[:1] in "([" and word and word[: len(word) - len(end)][-1:] in ")]":
            kept[-1] += end
        elif opens or aside:
            kept[-1] += _SPACE + word
            aside = not word.endswith(",")
        else:
            kept.append(word)
    return [word for word in kept if word]


def unglued(text: str) -> str:
    """The text with plain spaces again."""
    return text.replace(_SPACE, " ")


def _double_quoted(words: list[str]) -> list[str]:
    """The words with single quotation marks around several words made double ones."""
    kept = [word.translate(_QUOTES) for word in words]
    opened = -1
    for i, word in enumerate(kept):
        opened = i if word[:1] == "'" and len(word) > 1 and opened < 0 else opened
        if opened >= 0 and word.rstrip(".,;:?!")[-1:] == "'" and len(word) > 1:
            left, _, right = word.rpartition("'")
            kept[i] = left + "”" + right
            kept[opened] = "“" + kept[opened].removeprefix("'")
            opened = -1
    return kept


def _plain(word: str) -> str:
    """A word without pictures, its repeated end marks reduced to one."""
    if not word.isascii():
        word = "".join(c for c in word if unicodedata.category(c) not in {"So", "Sk", "Cs", "Cf"})
    core = word.rstrip("?!")
    marks = word[len(core) :]
    return core + ("?" if "?" in marks else "!") if len(marks) > 1 else word


def _titled(words: list[str]) -> bool:
    """True where nearly every longer word has a capital."""
    longer = [word for word in words[1:] if len(bare(word)) > 3]
    capital = sum(word[:1].isupper() and not word.isupper() for word in longer)
    if any(word.islower() and not tags(word) & {"det", "prep", "conj"} for word in words):
        return False
    return len(longer) > 2 and capital >= 0.8 * len(longer) and sum(map(_usual, longer)) >= 2


def _usual(word: str) -> bool:
    """True for a word that is no name."""
    core = bare(word)
    known = core == "be" or bool(tags(core) - {"P"})
    return known and core not in vocabulary().names and not (word.isupper() and len(core) > 1)


def _named(word: str) -> str:
    """A word in small letters with the capitals of the name that it is."""
    core = bare(word)
    stem = core.partition("'")[0]
    if stem == "i":
        return word.replace(core, core.capitalize(), 1)
    name = vocabulary().names.get(core.removesuffix("'s"))
    if name is None or tags(core) - {"P", "n", "s"}:
        return word
    return word.replace(core.removesuffix("'s"), name, 1)


# Frequent words of other languages that are no English words.
_FOREIGN = frozenset(
    """
    à ich der das und nicht ein eine einen einer ist sind soll sollte sollten kann wird werden
    mit für über noch oder aber warum wenn dem des im du wir ihr sie es mehr als bei het een van
    niet moet moeten mag kan zijn wordt voor naar deze uit waarom hoe wie geen wel le les des du
    et est sont une un pas pour avec sur dans qui ce cette doit peut pourquoi comment où quel
    mais nous vous ils elles être on el los las una del con por para es debe deben puede pueden
    qué cómo pero más muy se al lo su os uma dos das não são deve podem porque quem mas mais
    muito il gli che non è può perché chi ma più della delle nel och att det som inte på för med
    av ett ska vi eller skal ikke til jeg vil må er nie jest czy się na że jak ale bir bu için
    mı mi yang dan untuk apakah tidak itu ang ng mga ba ay na ya wa kwa ja että onko pitäisikö
    voiko nem egy hogy kell az je jsou
    """.split()
)
_BOTH = frozenset(
    "is in an die was a me on as do no of to so over will men he by we had at all for i am it"
    " us or per via".split()
)


def is_english(text: str) -> bool:
    """True for a text that reads as English, or is too short or too full of names to tell.

    Letters of other scripts, frequent words of other languages, and a lack of English ones speak
    against it.
    """
    letters = [c for c in text if c.isalpha()]
    other = sum(not (c.isascii() or "LATIN" in unicodedata.name(c, "")) for c in letters)
    if not letters:
        return True
    words = [w for each in text.replace("-", " ").split() if (w := bare(each)) and w[0].isalpha()]
    own = CLOSED - _BOTH
    english = sum(word in own or word.partition("'")[0] in own for word in words)
    foreign = sum(word in _FOREIGN - CLOSED for word in words)
    stems = ((word, word.removesuffix("'s")) for word in words)
    odd = [word for word, stem in stems if not is_known(stem) and stem not in vocabulary().names]
    accented = sum(not word.isascii() for word in odd)
    if other > 0.3 * len(letters) or "¿" in text or "¡" in text:
        return False
    if (accented and foreign + accented > english) or (foreign >= 2 and foreign > english):
        return False
    if english:
        return not (len(odd) + foreign > 0.6 * len(words) and english < 0.15 * len(words))
    if foreign and len(odd) + foreign >= 0.5 * len(words):
        return len(words) < 2
    return len(words) < 3 or len(odd) < 0.6 * len(words)


def caution(question: str, *, found: bool, judge: object | None) -> str:
    """What a question in another language than English gets, in a sentence or two; empty where
    nothing is to be said.

    ``found``: it has perspectives; ``judge`` is the one that looked at them, if any did, whose
    ``languages`` say what it knows (none: nobody has said).
    """
    if is_english(shortened(question)[0]):
        return ""
    said = []
    if not found:
        said.append(
            "The rules read English only: the question was searched as it is, and no sides were "
            "looked for. Name them yourself, or pass an extractor that reads the language."
        )
    languages = tuple(getattr(judge, "languages", ()))
    if languages:
        known = "English" if languages == LANGUAGES else ", ".join(languages)
        said.append(f"The judge knows {known} only: its verdicts here are guesses.")
    return " ".join(said)
