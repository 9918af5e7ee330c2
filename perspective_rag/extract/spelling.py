"""Misspelt words of a question, mended where one letter makes a common word."""

from __future__ import annotations

from collections.abc import Iterator

from perspective_rag.extract.english import (
    ANYONES,
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINER_WORDS,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    upper_first,
)
from perspective_rag.extract.lexicon import vocabulary, word_band

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
