"""Whether a side is fit to be shown: a whole, grammatical statement that stands by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perspective_rag.extract.english import (
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    POSSESSIVES,
    WH_WORDS,
    bare,
)
from perspective_rag.extract.verbs import finite_verb

LONGEST = 60  # words
_DANGLING = (
    ARTICLES | POSSESSIVES | CONJUNCTIONS | frozenset("to of if that than because very too".split())
) - frozenset("her his that its".split())
_CONTRACTED = ("'m", "'re", "'ve", "'ll", "’m", "’re", "’ve", "’ll")
_REPEATABLE = frozenset("had that is very".split())
_PAIRS = (("“", "”"), ("(", ")"), ("[", "]"))


def sound(side: str) -> bool:
    """True for a statement with a verb, without dangling or doubled words, a second question or
    quotation marks left open.
    """
    words = side.split()
    if not 2 <= len(words) <= LONGEST or "?" in side or "…" in side:
        return False
    lower = [bare(word) for word in words]
    if not all(lower) and sum(not word for word in lower) > 1:
        return False
    if lower[0] in AUXILIARIES - {"will", "may", "can", "do", "might", "must"}:
        return False
    if lower[0] in WH_WORDS - {"what", "when", "where", "who"} or lower[-1] in _DANGLING:
        return False
    if any(a == b and a and a not in _REPEATABLE for a, b in pairwise(lower)):
        return False
    if any(side.count(left) != side.count(right) for left, right in _PAIRS):
        return False
    if words[0].lower().endswith(_CONTRACTED) and lower[1] in AUXILIARIES:
        return False  # "I'm is"
    if lower[0] in {"do", "not"}:
        return len(words) > 2
    return finite_verb(words, trusted=True) is not None


def sound_sides(sides: Sequence[str]) -> bool:
    """True for at least two sound sides that differ in more than case and punctuation."""
    keys = {" ".join(bare(word) for word in side.split()) for side in sides}
    return len(sides) > 1 and len(keys) == len(sides) and all(sound(side) for side in sides)
