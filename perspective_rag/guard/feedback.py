"""What to search for next, from what was found and judged: contrastive relevance feedback."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from perspective_rag.text import topic_words, words

_LEAST_LETTERS = 4


def feedback_terms(
    texts: Sequence[str], weights: Sequence[float], *, known: str, count: int = 10
) -> list[str]:
    """At most ``count`` words that tell the weighty texts from all of them, the most telling first.

    A word's value is p(w | weighty) log(p(w | weighty) / p(w | all)): the relevance model of
    Lavrenko and Croft (SIGIR 2001; RM3 adds its words to the query) with P(support) for the
    relevance of a text, less what every text about the question says (the divergence of Carpineto
    et al., TOIS 2001). Words that begin like one of ``known``, what was already searched for, short
    ones and numbers are left out. ``weights`` are at least 0; where none is above, there are no
    words. Linear in the words of the texts.
    """
    total = sum(weights)
    if not total > 0.0:
        return []
    weighty: defaultdict[str, float] = defaultdict(float)
    everywhere: defaultdict[str, float] = defaultdict(float)
    for text, weight in zip(texts, weights, strict=True):
        told = [word for word in words(text) if len(word) >= _LEAST_LETTERS and word.isalpha()]
        for word, number in Counter(told).items():
            weighty[word] += weight / total * number / len(told)
            everywhere[word] += number / len(told) / len(texts)
    searched = {_beginning(word) for word in words(known)}
    values = {
        word: share * math.log(share / everywhere[word])
        for word, share in weighty.items()
        if share > everywhere[word] and _beginning(word) not in searched and topic_words(word)
    }
    return sorted(values, key=lambda word: (-values[word], word))[:count]


def _beginning(word: str) -> str:
    return word[:5]  # "tax", "taxes"; "ban", "banned": one word to a search that reads stems
