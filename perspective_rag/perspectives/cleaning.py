"""Spelling, punctuation and language of a question."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from perspective_rag.perspectives.words import (
    ADVERBS,
    ANYONES,
    ARTICLES,
    AUXILIARIES,
    BASE_VERBS,
    CONJUNCTIONS,
    DETERMINER_WORDS,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    is_known,
    tags,
    upper_first,
    vocabulary,
    word_band,
)
from perspective_rag.text import is_language

MOST = 8  # unknown words of one question that are looked into
_SHORTEST, _LONGEST = 3, 18
_SHORTEST_PLAIN = 5  # of a word that is no function word
_COMMON = 3
_FUNCTION = 20
_NAME = 6
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FUNCTION_WORDS = (
    AUXILIARIES | WH_WORDS | PREPOSITIONS | PRONOUNS | DETERMINER_WORDS | CONJUNCTIONS | ANYONES
    | OBJECT_PRONOUNS | SUBORDINATORS
    | frozenset("cannot not be been else yes vs etc too own whether myself yourself".split())
)  # fmt: skip
_APOSTROPHES = {
    **{
        f"{stem}nt": f"{stem}n't"
        for stem in "is are was were do does did has have had should could would must".split()
    },
    "cant": "can't",
    "wont": "won't",
    "aint": "ain't",
    "whats": "what's",
    "whos": "who's",
    "thats": "that's",
    "theres": "there's",
    "hes": "he's",
    "shes": "she's",
    "youre": "you're",
    "theyre": "they're",
    "im": "I'm",
    "ive": "I've",
    "u": "you",
    "ur": "your",
    "r": "are",
    "shld": "should",
    "shd": "should",
    "wud": "would",
    "shud": "should",
    "cud": "could",
    "teh": "the",
    "becuase": "because",
    "abt": "about",
    "ppl": "people",
    "govt": "government",
    "pls": "please",
    "plz": "please",
    "thx": "thanks",
    "alot": "a lot",
}


def mended(words: list[str]) -> list[str]:
    """The words with lost apostrophes put back and misspelt words replaced by the commonest word
    one letter away. Names, words with capitals and words without such a neighbour stay.
    """
    left = MOST
    kept: list[str] = []
    for word in words:
        fixed = _apostrophe(word)
        plain = word.islower() or (not kept and word.istitle())
        if fixed is None and left and plain and is_unknown(word):
            left -= 1
            fixed = _respelt(word.lower())
            if fixed is not None and not word.islower():
                fixed = upper_first(fixed) if bare(fixed) in _FUNCTION_WORDS else None
        kept.append(word if fixed is None else fixed)
    return kept


def _apostrophe(word: str) -> str | None:
    lower = word.lower()
    core = bare(word)
    start = lower.find(core)
    if core not in _APOSTROPHES or (len(core) < 3 and word != core):
        return None
    fixed = _APOSTROPHES[core]
    fixed = fixed[0].upper() + fixed[1:] if word[start].isupper() else fixed
    return word[:start] + fixed + word[start + len(core) :]


def is_unknown(word: str) -> bool:
    """Whether a word may be misspelt: no listed word, name, or derived from one."""
    core = bare(word.lower())
    if not core.isalpha() or not core.isascii() or not _SHORTEST <= len(core) <= _LONGEST:
        return False
    listed = word_band(core) >= 0 or core in _FUNCTION_WORDS
    if listed or core in vocabulary().names:
        return False
    return all(word_band(core[: -len(end)]) < 0 for end in _DERIVED if core.endswith(end))


def _respelt(word: str) -> str | None:
    core = bare(word)
    best = max(_neighbours(core), key=_rank, default="")
    least = _COMMON if len(core) >= _SHORTEST_PLAIN else _FUNCTION
    own = core[:-2] + "y"  # "energie", as it is written in other languages
    if core.endswith("ie") and word_band(own) >= least:
        best = own
    if not best or _rank(best) < least:
        return None
    return word.replace(core, best, 1)


_DERIVED = (
    "r", "rs", "er", "ers", "or", "ors", "ist", "ists", "ism", "ly", "ness", "able", "ish",
    "less", "ful", "wise", "like", "al", "ize", "ise", "y",
)  # fmt: skip


def _rank(word: str) -> float:
    if word in _FUNCTION_WORDS and len(word) > 2:
        return _FUNCTION
    return _NAME if word in vocabulary().names else word_band(word)


def _neighbours(word: str) -> Iterator[str]:
    """Words one change away that begin with the same letter, or swap the first two."""
    for i in range(len(word)):
        if i + 1 < len(word):
            yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        if i:
            yield word[:i] + word[i + 1 :]
            for letter in _LETTERS:
                yield word[:i] + letter + word[i + 1 :]
        for letter in _LETTERS:
            yield word[: i + 1] + letter + word[i + 1 :]


LONGEST = 2000
"""Characters that the rules read; of a longer text, its last sentences or its first question."""

_QUOTES = str.maketrans({"‘": "'", "’": "'", "`": "'", "´": "'", "„": "“", "«": "“", "»": "”"})
_PAIRS = {"“": "”", '"': '"', "(": ")", "[": "]"}
_SPACE = "\u00a0"


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
    words = [_plain(word) for word in _double_quoted(text.split())]
    words = [word for word in words if word]
    shouted = _shouted(words)
    titled = not shouted and _titled(words)
    if shouted:
        words = [word.lower() for word in words]
    elif titled:
        words = [words[0], *(_lowered(word) for word in words[1:])]
    small = shouted or titled or not any(c.isupper() for word in words for c in word)
    words = mended(words)
    if small:
        words = [_named(word) for word in words]
    return upper_first(" ".join(words))


def glued(text: str) -> list[str]:
    """The words of a text, with what stands in brackets left out; a quotation is one word, and an
    aside such as ", e.g. aspartame," one with the word before, so that no rule reads into them.
    """
    joined = _join_pairs(text)
    words = joined.split(" ")
    kept: list[str] = []
    aside = False
    for word in words:
        opens = bare(word) in {"e.g", "i.e", "eg", "ie"} and bool(kept) and kept[-1].endswith(",")
        if word[:1] in "([" and kept and word.rstrip(".,;:?!")[-1:] in ")]":
            end = word.rstrip()[len(word.rstrip(".,;:?!")) :]
            kept[-1] += end
        elif opens or aside:
            kept[-1] += _SPACE + word
            aside = (opens or aside) and not word.endswith(",")
        else:
            kept.append(word)
    return [word for word in kept if word]


def _join_pairs(text: str) -> str:
    """The text with the spaces inside quotation marks and brackets made hard."""
    found: list[str] = []
    closing, opened = "", 0
    for i, c in enumerate(text):
        if not closing and c in _PAIRS and _PAIRS[c] in text[i + 1 : i + 200]:
            closing, opened = _PAIRS[c], i
        elif c == closing and i > opened:
            closing = ""
        found.append(_SPACE if closing and c == " " else c)
    return "".join(found)


def unglued(text: str) -> str:
    """The text with plain spaces again."""
    return text.replace(_SPACE, " ")


def _double_quoted(words: list[str]) -> list[str]:
    """The words with single quotation marks around several words made double ones."""
    kept = [word.translate(_QUOTES) for word in words]
    opened = -1
    for i, word in enumerate(kept):
        if word[:1] == "'" and len(word) > 1 and opened < 0:
            opened = i
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
    if len(marks) > 1:
        return core + ("?" if "?" in marks else "!")
    return word


def _shouted(words: list[str]) -> bool:
    letters = [c for word in words for c in word if c.isalpha()]
    upper = sum(c.isupper() for c in letters)
    return len(words) > 2 and len(letters) > 8 and upper > 0.85 * len(letters)


def _titled(words: list[str]) -> bool:
    """True where nearly every longer word has a capital."""
    longer = [word for word in words[1:] if len(bare(word)) > 3]
    capital = sum(word[:1].isupper() and not word.isupper() for word in longer)
    usual = sum(_usual(word) for word in longer)
    small = ARTICLES | PREPOSITIONS | CONJUNCTIONS
    if any(word.islower() and bare(word) not in small for word in words):
        return False
    return len(longer) > 2 and capital >= 0.8 * len(longer) and usual >= 2


def _usual(word: str) -> bool:
    """True for a word that is no name."""
    core = bare(word)
    known = core in BASE_VERBS or bool(tags(core) - {"P"})
    return known and core not in vocabulary().names


def _lowered(word: str) -> str:
    return word.lower() if _usual(word) and not word.isupper() else word


def _named(word: str) -> str:
    """A word in small letters with the capitals of the name that it is."""
    core = bare(word)
    if core in {"i", "i'm", "i've", "i'd", "i'll"}:
        return word.replace(core, core.capitalize(), 1)
    name = vocabulary().names.get(core.removesuffix("'s"))
    if name is None or _usual(core) or tags(core) - {"P", "n", "s"}:
        return word
    return word.replace(core.removesuffix("'s"), name, 1)


LANGUAGES = ("en",)
"""The languages that the rules read."""

_NEITHER = frozenset(
    "is in an die was a me on as do no of to so over will men he by we had den must all at for i or"
    " am it us or per via sei la que tu elle sin pro plus son do has via".split()
)
_ENGLISH = (
    AUXILIARIES | WH_WORDS | PREPOSITIONS | PRONOUNS | DETERMINER_WORDS | OBJECT_PRONOUNS
    | ANYONES | ADVERBS
    | frozenset("be been being not and but if whether think good bad people because".split())
) - _NEITHER  # fmt: skip
# Frequent words of other languages that are no English words.
_FOREIGN = frozenset(
    """
    à doit devons hij ich mij der das und nicht ein eine einen einem einer ist sind soll
    sollte
    sollten sollen kann muss darf wird werden wurde haben auf mit von zum zur für über auch
    noch oder aber warum wie wer wo wenn
    dem des im ich du wir ihr sie es man mehr als nach bei sein mein gibt geworden zu
    het een van en niet moet moeten mag kan zijn wordt worden voor naar ook nog deze dit deze
    uit
    waarom hoe wie wat wil wij zij jij mijn onze meer dan bij geen wel heeft hebben zou tegen
    le les des du et est sont une un pas pour avec sur dans qui ce cette ces doit doivent faut
    peut peuvent pourquoi comment où quel quelle mais ou plus nous vous ils elles être avoir
    il on
    el los las una del con por para es son debe deben debería deberían puede pueden qué cómo
    quién
    cuál pero más muy ser hay está están este esta como se al lo su sus nos si
    os uma do da dos das não em no na com por são deve devem deveria pode podem porque quem
    qual
    mas mais muito ser há está é ou se ao
    il lo gli di che non è sono dovrebbe dovrebbero deve può perché chi quale ma più con per
    della delle degli nel nella alla uno questo questa
    och att det som är inte på för med av ett ska borde kan vi ni han hon eller skal skulle
    ikke og
    av til fra jeg vil bør må hvorfor hvordan hvem hva hvad er
    nie jest czy się na do że to jak ale powinien powinna powinno powinny być dla od przez
    mi ve bir bu için değil mı mu mü gerek olmalı ne nasıl neden
    yang dan di untuk apakah tidak dengan ini itu harus akan bisa ada dari adalah boleh perlu
    ang ng mga sa ba dapat hindi ay kung
    na ya wa kwa je ni za katika
    on ei ja että onko pitäisikö voiko mitä miksi kuka se
    van nem egy hogy kell az vagy miért
    je se že měl měla mělo jsou není proč jak
    có không nên phải là của và được cho người
    """.split()
) - _ENGLISH - frozenset(
    "do no on as man per plus son es in do wie ni ay se do mais mas il wo so dan sa al lo si bin za"
    " ja je ya na mi to an of ve".split()
)  # fmt: skip


def is_english(text: str) -> bool:
    """True for a text that reads as English, or is too short or too full of names to tell.

    Letters of other scripts, frequent words of other languages, and a lack of English ones speak
    against it.
    """
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return True
    if sum(not _latin(c) for c in letters) > 0.3 * len(letters):
        return False
    parts = text.replace("-", " ").split()
    words = [word for each in parts if (word := bare(each)) and word[0].isalpha()]
    english = sum(word in _ENGLISH or word.partition("'")[0] in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    strange = sum(_strange(word) for word in words)
    accented = sum(not word.isascii() and _strange(word) for word in words)
    if accented and foreign + accented > english:
        return False
    if foreign >= 2 and foreign > english:
        return False
    if "¿" in text or "¡" in text:
        return False
    if english:
        return not (strange + foreign > 0.6 * len(words) and english < 0.15 * len(words))
    if foreign and strange + foreign >= 0.5 * len(words):
        return len(words) < 2
    return len(words) < 3 or strange < 0.6 * len(words)


def _latin(letter: str) -> bool:
    return letter.isascii() or "LATIN" in unicodedata.name(letter, "")


def _strange(word: str) -> bool:
    """A word that the English vocabulary lacks."""
    stem = word.removesuffix("'s")
    return not is_known(stem) and stem not in vocabulary().names


def check_language(language: str) -> bool:
    """True when the rules read this language."""
    return any(is_language(language, known) for known in LANGUAGES)


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
