"""BM25: its words and its index."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import MissingDependency, count
from perspective_rag.flow.driver import in_thread
from perspective_rag.local.indexes import indexable, passing
from perspective_rag.perspectives.words import word_band
from perspective_rag.storage.folders import check_sealed, folder_in_work, remove_left, seal
from perspective_rag.types import Hit, Passage, Vector

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


_log = logging.getLogger(__name__)


class BM25Store:
    """Searches passages by BM25 (Lucene's variant, k1 1.5, b 0.75) on words of two letters or more.

    Titles are read with the texts, English stop words left out, words reduced to their stems
    (Snowball, English). A word of a query that no passage and no English dictionary holds counts as
    the word of the passages that it is most likely a misspelling of. Only passages that share a
    word with the query are found.

    Args:
        passages: At least one; with different ids.
        plain: Read texts without titles, and whole words as they stand.

    Raises:
        ConfigError: There are no passages, or two share an id.
        MissingDependency: bm25s is not installed.
    """

    takes_vector = False

    def __init__(self, passages: Sequence[Passage], *, plain: bool = False) -> None:
        self._words = Words(plain=plain)
        self._passages = indexable(passages)
        self._index: Any = None
        tokens = self._words.of_texts(
            [each.text if plain else each.titled for each in self._passages]
        )
        if tokens.vocab:  # bm25s cannot index texts without a single word
            self._index = bm25s_package().BM25()
            self._index.index(tokens, show_progress=False)

    @classmethod
    def cached(
        cls,
        passages: Sequence[Passage],
        folder: str | os.PathLike[str],
        *,
        fingerprint: str,
        plain: bool = False,
        whole: bool = False,
    ) -> BM25Store:
        """The store of passages from a folder, made and kept there when it is not in it yet.

        The index is mapped into memory. One that cannot be read, or whose files are not what was
        written, is made anew; one that cannot be written is logged and not kept.

        Args:
            passages: As for the constructor.
            folder: Where indexes are kept; this one lies in a folder named after ``fingerprint``.
            fingerprint: That of the passages, ``Corpus.fingerprint``.
            plain: As for the constructor.
            whole: Read and check the whole index, also where its dates say that nothing was written
                since.

        Returns:
            The store.

        Raises:
            ConfigError: There are no passages, or two share an id.
            MissingDependency: bm25s is not installed.
        """
        bm25s = bm25s_package()
        kept = Path(folder) / f"{'bm25' if plain else 'bm25-stems'}-{fingerprint}"
        remove_left(kept)
        store = cls.__new__(cls)
        store._words = Words(plain=plain)
        store._passages = indexable(passages)
        if kept.is_dir():
            try:
                check_sealed(kept, whole=whole)
                store._index = bm25s.BM25.load(kept, mmap=True, show_progress=False)
                if store._index.scores["num_docs"] == len(store._passages):
                    return store
            except Exception as error:  # whatever a damaged file makes of bm25s
                _log.warning("%s cannot be read and is made anew: %r", kept, error)
            shutil.rmtree(kept, ignore_errors=True)
        store = cls(passages, plain=plain)
        if store._index is not None:
            store._keep(kept)
        return store

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages for a text.

        Args:
            text: What is searched for.
            vector: Not used.
            k: Maximum number of hits.
            filter: A predicate on passages, or a mapping of metadata fields to the values they must
                equal.

        Returns:
            Hits with their BM25 scores, best first; fewer than k where fewer share a word with the
            text.
        """
        wanted = count("k", k)
        kept = passing(self._passages, filter)
        words = [] if self._index is None else self._words.of_query(text, self._index)
        known = self._index.get_tokens_ids(words) if words else []
        if not known:
            return []
        scores = self._index.get_scores_from_ids(known)
        positions = np.flatnonzero(scores) if kept is None else kept[scores[kept] > 0]
        best = positions[np.argsort(-scores[positions], kind="stable")[:wanted]]
        return [Hit(self._passages[i], float(scores[i])) for i in best]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same as ``search``, in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def __len__(self) -> int:
        return len(self._passages)

    def _keep(self, folder: Path) -> None:
        """Writes the index, where it can be written."""
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            # Written beside its place and moved there whole: a folder of that name is complete.
            with folder_in_work(folder) as new:
                self._index.save(new, show_progress=False)
                seal(new)
        except OSError as error:
            _log.warning("%s cannot be written, the index is not kept: %s", folder, error)
