"""BM25, over words and as the published code runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from perspective_rag import BM25Store, ConfigError, Passage
from perspective_rag.extend import Matrix


@dataclass(frozen=True, slots=True)
class LexicalRetriever:
    """A scorer of texts: ``score(corpus, queries)`` has shape (n_queries, n_corpus)."""

    name: str
    score: Callable[[Sequence[str], Sequence[str]], Matrix]


def bm25() -> LexicalRetriever:
    """bm25s: Lucene's variant, words in lower case, English stop words left out."""

    def score(corpus: Sequence[str], queries: Sequence[str]) -> Matrix:
        store = BM25Store(
            [Passage(str(place), text) for place, text in enumerate(corpus)], plain=True
        )
        scores = np.zeros((len(queries), len(corpus)))
        for row, text in zip(scores, queries, strict=True):
            for hit in store.search(text, None, k=len(corpus)):
                row[int(hit.passage.id)] = hit.score
        return scores

    return LexicalRetriever("bm25", score)


def bm25_okapi() -> LexicalRetriever:
    """rank_bm25's Okapi on what lies between spaces, case kept: the published code's BM25."""
    try:
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise ConfigError(
            "the retriever 'bm25-okapi' needs rank_bm25: pip install 'perspective-rag[bench]'"
        ) from error

    def score(corpus: Sequence[str], queries: Sequence[str]) -> Matrix:
        index = BM25Okapi([text.split(" ") for text in corpus])
        return np.stack([index.get_scores(text.split(" ")) for text in queries])

    return LexicalRetriever("bm25-okapi", score)
