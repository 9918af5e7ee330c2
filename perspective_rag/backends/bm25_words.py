"""The words that BM25 counts: of texts, and of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perspective_rag.errors import MissingDependency
from perspective_rag.extract.lexicon import word_band

_SHORTEST, _LONG = 4, 9
"""Letters of a word from which one letter, and from which two letters may be wrong."""


class Words:
    """Texts as words in lower case, without English stop words, by their stems unless ``plain``.

    Raises MissingDependency without bm25s and what it is used with.
    """

    def __init__(self, *, plain: bool) -> None:
        self._bm25s = bm25s_package()
        self._plain = plain
        self._stemmer = None if plain else _stemmer()

    def of_texts(self, texts: Sequence[str]) -> Any:
        """What a bm25s index is made of."""
        return self._bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False
        )

    def of_query(self, text: str, index: Any) -> list[str]:
        """The words of a query that ``index`` holds, misspelt ones as the nearest that it holds."""
        [words] = self._bm25s.tokenize(
            [text], stopwords="en", return_ids=False, show_progress=False
        )
        vocabulary = index.vocab_dict
        found = []
        for word in words:
            stem = word if self._stemmer is None else self._stemmer.stemWord(word)
            if stem in vocabulary:
                found.append(stem)
            elif not self._plain and word_band(word) < 0:
                found.extend(nearest_word(stem, vocabulary, _frequencies(index)))
        return [word for word in found if word]


def nearest_word(
    word: str, vocabulary: Mapping[str, int], frequencies: Sequence[int] | Any
) -> list[str]:
    """The word of a vocabulary that a misspelt one most likely stands for, in a list; else empty.

    One letter may be wrong, missing, too many or exchanged with its neighbour, in words of nine
    letters or more two; the first letter and at least four letters must be there. Of several the
    nearest, of these the most frequent: ``frequencies[vocabulary[w]]``, then the first in order.
    """
    if len(word) < _SHORTEST or not word.isalpha():
        return []
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    same_start = [each for each in vocabulary if each[:1] == word[0] and each.isalpha()]
    most = 2 if len(word) >= _LONG else 1
    near = extract(word, same_start, scorer=OSA.distance, score_cutoff=most, limit=None)
    ranked = sorted(
        (distance, -int(frequencies[vocabulary[each]]), each) for each, distance, _ in near
    )
    return [each for _, _, each in ranked[:1]]


def _frequencies(index: Any) -> Any:
    """In how many texts each word of an index stands, by its number."""
    return np.diff(index.scores["indptr"])


def bm25s_package() -> Any:
    """The package bm25s; raises MissingDependency without it."""
    try:
        import bm25s
    except ImportError as error:
        raise MissingDependency("local", "searching with BM25") from error
    return bm25s


def _stemmer() -> Any:
    try:
        import rapidfuzz  # noqa: F401
        import Stemmer
    except ImportError as error:
        raise MissingDependency("local", "searching with BM25") from error
    return Stemmer.Stemmer("english")
