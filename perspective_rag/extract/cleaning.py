"""A question as the rules read it: one line, at most ``LONGEST`` characters, its case and spelling
mended, words of courtesy taken off.
"""

from __future__ import annotations

import unicodedata

from perspective_rag.extract.english import (
    ARTICLES,
    BASE_VERBS,
    CONJUNCTIONS,
    PREPOSITIONS,
    bare,
    upper_first,
)
from perspective_rag.extract.lexicon import tags, vocabulary
from perspective_rag.extract.spelling import mended

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
