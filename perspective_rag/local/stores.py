"""Stores in memory: by BM25, and by vectors with NumPy or FAISS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perspective_rag.errors import ConfigError, MissingDependency, count
from perspective_rag.flow.driver import in_thread
from perspective_rag.maths.vectors import as_matrix, as_vector, normalised
from perspective_rag.perspectives.words import word_band
from perspective_rag.storage.folders import open_sealed, write_sealed
from perspective_rag.storage.stored_passages import StoredPassages
from perspective_rag.types import Hit, Matrix, Passage, Vector

Positions = NDArray[np.int64]
"""Rows of a store's passages, ascending, shape (m,)."""

_CHUNK = 16_384
_SHORTEST, _LONG = 4, 9
"""Letters of a word from which one letter, and from which two letters may be wrong."""


def indexable(passages: Sequence[Passage]) -> Sequence[Passage]:
    """The passages as a list, or as they are where they lie in a folder and have distinct ids.

    Raises ConfigError when there are none or two share an id.
    """
    if isinstance(passages, StoredPassages):
        return passages
    kept = list(passages)
    if not kept:
        raise ConfigError("there are no passages to index")
    seen: set[str] = set()
    for passage in kept:
        if passage.id in seen:
            raise ConfigError(f"two passages have the id {passage.id!r}; ids must be distinct")
        seen.add(passage.id)
    return kept


def passing(passages: Sequence[Passage], filter: Any) -> Positions | None:
    """Positions of the passages that pass a filter, or None for all of them."""
    if filter is None:
        return None
    test = predicate(filter)
    if isinstance(passages, StoredPassages):
        passages = passages.in_memory()
    return np.array([i for i, passage in enumerate(passages) if test(passage)], dtype=np.int64)


def predicate(filter: Any) -> Callable[[Passage], bool]:
    """Whether a passage passes a filter: a predicate on passages, or a mapping of metadata fields
    to the values they must equal. Raises ConfigError for anything else.
    """
    if isinstance(filter, Mapping):
        wanted = dict(filter)
        absent = object()
        return lambda passage: all(
            passage.metadata.get(name, absent) == value for name, value in wanted.items()
        )
    if callable(filter):
        return lambda passage: bool(filter(passage))
    raise ConfigError(
        "filter must be a predicate on passages or a mapping of metadata fields to values,"
        f" got {type(filter).__name__}"
    )


class _PassageStore:
    """A store of passages in memory."""

    _passages: Sequence[Passage]

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages for a query.

        Args:
            text: What is searched for, in a store of words.
            vector: The query's vector, shape (d,), in a store of vectors.
            k: Maximum number of hits.
            filter: A predicate on passages, or a mapping of metadata fields to the values they must
                equal.

        Returns:
            Hits with their BM25 scores or cosines, best first; fewer than k where fewer pass the
            filter or, in a store of words, share a word with the text.

        Raises:
            ConfigError: A store of vectors gets no vector or one of another length, or the filter
                is something else.
        """
        found = self._best(text, vector, count("k", k), filter)
        return [Hit(self._passages[position], float(score)) for position, score in found]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same as ``search``, in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def __len__(self) -> int:
        return len(self._passages)

    def _best(
        self, text: str, vector: Vector | None, k: int, filter: Any
    ) -> Iterable[tuple[int, float]]:
        raise NotImplementedError


class NumpyStore(_PassageStore):
    """Searches passages by their cosine to the query vector, without an index.

    Args:
        passages: At least one; with different ids.
        embeddings: Shape (n_passages, d), a row for each passage; may be memory-mapped. A copy is
            kept as unit rows in float32.

    Raises:
        ConfigError: There are no passages, two share an id, or the embeddings do not fit them.
    """

    takes_vector = True

    def __init__(self, passages: Sequence[Passage], embeddings: ArrayLike) -> None:
        self._passages = indexable(passages)
        rows: Any = embeddings if isinstance(embeddings, np.ndarray) else np.asarray(embeddings)
        if rows.ndim != 2 or len(rows) != len(self._passages):
            raise ConfigError(
                f"embeddings must have shape ({len(self._passages)}, d), got shape {rows.shape}"
            )
        self._dimensions: int = rows.shape[1]
        self._create()
        # In pieces, so that a memory-mapped index of float16 is never whole in memory as float64.
        for start in range(0, len(rows), _CHUNK):
            piece = as_matrix(rows[start : start + _CHUNK], f"embeddings from row {start} on")
            self._add(start, np.ascontiguousarray(normalised(piece), dtype=np.float32))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {passage.id: i for i, passage in enumerate(self._passages)}

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """The vectors of passages, found by their ids.

        Args:
            passages: Any passages.

        Returns:
            Unit rows, shape (n_passages, d); NaN for passages that are not in the store.
        """
        result: Matrix = np.full((len(passages), self._dimensions), np.nan, dtype=np.float32)
        for row, passage in zip(result, passages, strict=True):
            position = self._positions.get(passage.id)
            if position is not None:
                row[:] = self._row(position)
        return result

    def _best(
        self, text: str, vector: Vector | None, k: int, filter: Any
    ) -> Iterable[tuple[int, float]]:
        if vector is None:
            raise ConfigError(f"{type(self).__name__} searches by vector: pass an embedder")
        query = as_vector(vector, "the query vector", size=self._dimensions)
        unit = np.ascontiguousarray(normalised(query), dtype=np.float32)
        kept = passing(self._passages, filter)
        most = min(k, len(self._passages) if kept is None else len(kept))
        if most == 0:
            return []
        scores, positions = self._nearest(unit, most, kept)
        return zip(positions.tolist(), np.clip(scores, -1.0, 1.0).tolist(), strict=True)

    def _create(self) -> None:
        self._rows = np.empty((len(self._passages), self._dimensions), dtype=np.float32)

    def _add(self, start: int, rows: Matrix) -> None:
        self._rows[start : start + len(rows)] = rows

    def _nearest(self, unit: Vector, most: int, kept: Positions | None) -> tuple[Vector, Positions]:
        """Scores and positions of the ``most`` best rows among ``kept``, best first."""
        scores = (self._rows if kept is None else self._rows[kept]) @ unit
        best = np.argsort(-scores, kind="stable")[:most]
        return scores[best], best if kept is None else kept[best]

    def _row(self, position: int) -> Vector:
        row: Vector = self._rows[position]
        return row


class FaissStore(NumpyStore):
    """A ``NumpyStore`` on an exact FAISS index (inner product of unit rows).

    Args:
        passages: At least one; with different ids.
        embeddings: Shape (n_passages, d), a row for each passage; may be memory-mapped.

    Raises:
        ConfigError: There are no passages, two share an id, or the embeddings do not fit them.
        MissingDependency: FAISS is not installed.
    """

    def __init__(self, passages: Sequence[Passage], embeddings: ArrayLike) -> None:
        try:
            import faiss
        except ImportError as error:
            raise MissingDependency("local", "searching with FAISS") from error
        self._faiss: Any = faiss
        super().__init__(passages, embeddings)

    def _create(self) -> None:
        self._index: Any = self._faiss.IndexFlatIP(self._dimensions)

    def _add(self, start: int, rows: Matrix) -> None:
        self._index.add(rows)

    def _nearest(self, unit: Vector, most: int, kept: Positions | None) -> tuple[Vector, Positions]:
        how = {}
        if kept is not None:
            how["params"] = self._faiss.SearchParameters(sel=self._faiss.IDSelectorBatch(kept))
        scores, positions = self._index.search(unit[None, :], most, **how)
        return scores[0], positions[0]

    def _row(self, position: int) -> Vector:
        row: Vector = np.asarray(self._index.reconstruct(position))
        return row


class BM25Store(_PassageStore):
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
        self._words = _Words(plain=plain)
        self._passages = indexable(passages)
        self._index: Any = None
        tokens = self._words.of_texts(
            [each.text if plain else each.titled for each in self._passages]
        )
        if tokens.vocab:  # bm25s cannot index texts without a single word
            self._index = self._words.bm25s.BM25()
            self._index.index(tokens, show_progress=False)

    @classmethod
    def cached(
        cls,
        passages: Sequence[Passage],
        folder: str | os.PathLike[str],
        *,
        fingerprint: str,
        plain: bool = False,
    ) -> BM25Store:
        """The store of passages from a folder, made and kept there when it is not in it yet.

        The index is mapped into memory. One that cannot be read, or whose files are not what was
        written, is made anew; one that cannot be written is logged and not kept.

        Args:
            passages: As for the constructor.
            folder: Where indexes are kept; this one lies in a folder named after ``fingerprint``.
            fingerprint: That of the passages, ``Corpus.fingerprint``.
            plain: As for the constructor.

        Returns:
            The store.

        Raises:
            ConfigError: There are no passages, or two share an id.
            MissingDependency: bm25s is not installed.
        """
        kept = Path(folder) / f"{'bm25' if plain else 'bm25-stems'}-{fingerprint}"

        def opened(folder: Path) -> BM25Store | None:
            store = cls.__new__(cls)
            store._words, store._passages = _Words(plain=plain), indexable(passages)
            store._index = store._words.bm25s.BM25.load(folder, mmap=True, show_progress=False)
            return store if store._index.scores["num_docs"] == len(passages) else None

        store = open_sealed(kept, opened)
        if store is None:
            index = (store := cls(passages, plain=plain))._index
            if index is not None:
                write_sealed(kept, lambda new: index.save(new, show_progress=False))
        return store

    def _best(
        self, text: str, vector: Vector | None, k: int, filter: Any
    ) -> Iterable[tuple[int, float]]:
        kept = passing(self._passages, filter)
        words = [] if self._index is None else self._words.of_query(text, self._index)
        known = self._index.get_tokens_ids(words) if words else []
        if not known:
            return []
        scores = self._index.get_scores_from_ids(known)
        positions = np.flatnonzero(scores) if kept is None else kept[scores[kept] > 0]
        best = positions[np.argsort(-scores[positions], kind="stable")[:k]]
        return zip(best.tolist(), scores[best].tolist(), strict=True)


class _Words:
    """Texts as words in lower case, without English stop words, by their stems unless ``plain``.

    Raises MissingDependency without bm25s and what it is used with.
    """

    def __init__(self, *, plain: bool) -> None:
        try:
            import bm25s
            import rapidfuzz  # noqa: F401
            import Stemmer
        except ImportError as error:
            raise MissingDependency("local", "searching with BM25") from error
        self.bm25s: Any = bm25s
        self._stemmer = None if plain else Stemmer.Stemmer("english")

    def of_texts(self, texts: Sequence[str]) -> Any:
        """What a bm25s index is made of."""
        return self.bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False
        )

    def of_query(self, text: str, index: Any) -> list[str]:
        """The words of a query that ``index`` holds, misspelt ones as the nearest that it holds."""
        [words] = self.bm25s.tokenize([text], stopwords="en", return_ids=False, show_progress=False)
        vocabulary = index.vocab_dict
        found = []
        for word in words:
            stem = word if self._stemmer is None else self._stemmer.stemWord(word)
            if stem in vocabulary:
                found.append(stem)
            elif self._stemmer is not None and word_band(word) < 0:
                # In how many texts each word of the index stands, by its number.
                found.extend(nearest_word(stem, vocabulary, np.diff(index.scores["indptr"])))
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
