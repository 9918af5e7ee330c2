"""Texts that say the same in nearly the same words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from perspective_rag.flow.cancelling import check_wanted
from perspective_rag.text import text_key, words

_SHINGLE = 3
_SIMILAR = 0.8
_OVERLAP = 0.25
# Below this, one other word can change what is said.
_LEAST_WORDS = 12
# A shingle that very many texts share (a banner, a footer) tells nothing apart.
_COMMON = 50
_NEGATIONS = frozenset(
    """not no never nor neither none nobody nothing nowhere cannot without hardly t against oppose
    opposes opposed wrong false unlikely fail fails failed""".split()
)


def first_copies(texts: Sequence[str]) -> list[int]:
    """For each text the place of the first one that it repeats, its own where it repeats none.

    A text repeats an earlier one that has the same words, or, from 12 words on, whose sets of
    three-word sequences have a Jaccard similarity of at least 0.8 with its own (Broder 1997),
    while both hold the same numbers and negations: "should be closed" is no copy of "should not be
    closed". Linear in the words, but for texts that share sequences.
    """
    first: list[int] = []
    by_key: dict[str, int] = {}
    by_shingle: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    shingles: list[frozenset[tuple[str, ...]]] = []
    telling: list[Counter[str]] = []
    for place, text in enumerate(texts):
        check_wanted()
        tokens = words(text)
        own = _shingles(tokens)
        shingles.append(own)
        telling.append(Counter(w for w in tokens if w in _NEGATIONS or w.isdigit()))
        key = text_key(text)
        same = by_key.get(key) if key else None
        if same is None and own:
            shared = Counter(i for each in own for i in by_shingle[each])
            same = min((i for i, n in shared.items() if _alike(n, own, shingles[i])
                        and telling[i] == telling[place]), default=None)  # fmt: skip
        if same is None:
            by_key.setdefault(key, place)
            for each in own:
                if len(by_shingle[each]) < _COMMON:
                    by_shingle[each].append(place)
        first.append(place if same is None else same)
    return first


def overlaps(texts: Sequence[str]) -> list[frozenset[int]]:
    """For each text the places of the others with which it shares a quarter of its three-word
    sequences, or of theirs: windows of one document that overlap, or quotations.

    Texts below 12 words overlap with none. Linear in the words, but for texts that share sequences.
    """
    shingles = [_shingles(words(text)) for text in texts]
    by_shingle: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    found: list[set[int]] = [set() for _ in texts]
    for place, own in enumerate(shingles):
        shared = Counter(i for each in own for i in by_shingle[each])
        for other, number in shared.items():
            if number >= _OVERLAP * min(len(own), len(shingles[other])):
                found[place].add(other)
                found[other].add(place)
        for each in own:
            if len(by_shingle[each]) < _COMMON:
                by_shingle[each].append(place)
    return [frozenset(each) for each in found]


def _shingles(tokens: Sequence[str]) -> frozenset[tuple[str, ...]]:
    if len(tokens) < _LEAST_WORDS:
        return frozenset()
    last = len(tokens) - _SHINGLE + 1
    return frozenset(tuple(tokens[i : i + _SHINGLE]) for i in range(last))


def _alike(shared: int, one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    return shared >= _SIMILAR * (len(one) + len(other) - shared)
