"""Exact search over a corpus that does not fit in memory, for questions that are known beforehand.

The corpus is read from end to end for all queries at once. What stays in memory grows with the
queries, never with the corpus: statistics of the queries' words, or one block of vectors, and the
k best passages of each query.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.berds.corpora import PassageStream
from benchmarks.core.encoders import EncoderSpec
from perspective_rag import Hit, MissingDependency, Passage
from perspective_rag.extend import Embedder, Matrix

K1, B = 1.5, 0.75
_BLOCK = 4096
_SAMPLE = 32

Progress = Callable[[int], None]


class Best:
    """The k best of a stream of (score, place, thing); equal scores keep the stream's order."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._heap: list[tuple[float, int, Any]] = []

    def offer(self, score: float, place: int, thing: Any) -> None:
        """Takes it in if it is among the k best so far; places are distinct."""
        if len(self._heap) < self._k:
            heapq.heappush(self._heap, (score, -place, thing))
        elif (score, -place) > self._heap[0][:2]:
            heapq.heapreplace(self._heap, (score, -place, thing))

    def ranked(self) -> list[tuple[float, int, Any]]:
        """(score, place, thing), best first."""
        return [(score, -place, thing) for score, place, thing in sorted(self._heap, reverse=True)]


def bm25_search(
    stream: PassageStream, queries: Sequence[str], k: int, *, on_progress: Progress | None = None
) -> list[list[Hit]]:
    """The k best passages of each query by BM25, the scores of a ``plain`` ``BM25Store``.

    score = sum over the query's words of ln(1 + (N - n + 0.5) / (n + 0.5)) tf / (tf + k1 (1 - b +
    b |d| / avg)), k1 1.5, b 0.75. Two passes: the words' document frequencies n, then the scores.
    """
    split = _splitter()
    wanted = [[word for word in words if word] for words in split(queries)]
    vocabulary = {word for words in wanted for word in words}
    frequency: Counter[str] = Counter()
    total = length = 0
    for passages in _blocks(stream.passages()):
        for words in split([each.text for each in passages]):
            total, length = total + 1, length + len(words)
            frequency.update(vocabulary.intersection(words))
        _tell(on_progress, len(passages))
    weights = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}
    users: dict[str, list[tuple[int, int]]] = {}
    for number, words in enumerate(wanted):
        for word, times in Counter(words).items():
            users.setdefault(word, []).append((number, times))
    best = [Best(k) for _ in queries]
    average, place = length / max(total, 1), 0
    for passages in _blocks(stream.passages()):
        for passage, words in zip(passages, split([each.text for each in passages]), strict=True):
            scores: dict[int, float] = {}
            norm = K1 * (1 - B + B * len(words) / average) if average else K1
            for word, times in Counter(words).items():
                part = weights.get(word, 0.0) * times / (times + norm)
                for number, asked in users.get(word, ()):
                    scores[number] = scores.get(number, 0.0) + part * asked
            for number, score in scores.items():
                best[number].offer(score, place, passage)
            place += 1
        _tell(on_progress, len(passages))
    return [[Hit(passage, score) for score, _, passage in each.ranked()] for each in best]


class DenseStream:
    """Exact inner-product search over embeddings in a file that grows with one block at a time.

    ``folder`` keeps the vectors as float16, rows in the stream's order; an interrupted run goes on
    after the last whole block. ``spec`` says what is read of a passage. Scores are inner products,
    cosines for models that give unit rows.
    """

    def __init__(
        self,
        stream: PassageStream,
        embedder: Embedder,
        folder: Path,
        *,
        model_name: str,
        spec: EncoderSpec | None = None,
        block: int = _BLOCK,
        on_progress: Progress | None = None,
    ) -> None:
        self._stream, self._embedder, self._block = stream, embedder, block
        self._on_progress = on_progress
        self._read = spec.passage_text if spec is not None else lambda passage: passage.text
        digest = hashlib.sha256(f"{stream.identity}\n{model_name}\n{block}".encode()).hexdigest()
        self._path = folder / f"vectors-{digest[:16]}.f16"
        self._done = self._path.with_suffix(".complete")

    def seconds_to_build(self, passages: Sequence[Passage]) -> float:
        """How long embedding the rest of these passages would take, at the speed measured on a few
        of them; 0 where it is done.
        """
        if self._done.is_file() or not passages:
            return 0.0
        sample = [self._read(each) for each in passages[:: max(len(passages) // _SAMPLE, 1)]]
        size = self._size()  # loads the model
        started = time.perf_counter()
        self._embedder.embed_passages(sample[:_SAMPLE])
        each = (time.perf_counter() - started) / len(sample[:_SAMPLE])
        return each * max(len(passages) - self._blocks_kept(size) * self._block, 0)

    def build(self) -> None:
        """Embeds what is not embedded yet."""
        if self._done.is_file():
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        size = self._size()
        row = 2 * size
        kept = self._blocks_kept(size)
        rows = 0
        with self._path.open("ab") as file:
            file.truncate(kept * row * self._block)
            for number, passages in enumerate(_blocks(self._stream.passages(), self._block)):
                rows += len(passages)
                _tell(self._on_progress, len(passages))
                if number < kept:
                    continue
                found = self._embedder.embed_passages([self._read(each) for each in passages])
                file.write(np.asarray(found, dtype=np.float16).tobytes())
                file.flush()
        self._done.write_text(f"{rows} {size}", encoding="utf-8")

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The k best passages of each query, best first."""
        vectors = self.vectors()
        asked: Matrix = np.asarray(self._embedder.embed_queries(queries), dtype=np.float32)
        best = [Best(k) for _ in queries]
        for start in range(0, len(vectors), self._block):
            scores = asked @ np.asarray(vectors[start : start + self._block], np.float32).T
            for each, found in zip(best, scores, strict=True):
                for place in np.argsort(-found, kind="stable")[:k].tolist():
                    each.offer(float(found[place]), start + place, None)
        ranked = [each.ranked() for each in best]
        texts = self._passages({place for each in ranked for _, place, _ in each})
        return [[Hit(texts[place], score) for score, place, _ in each] for each in ranked]

    def vectors(self) -> Matrix:
        """All rows, shape (n, d), float16, in the file; embeds first what is missing."""
        self.build()
        rows, size = map(int, self._done.read_text(encoding="utf-8").split())
        return np.memmap(self._path, dtype=np.float16, mode="r", shape=(rows, size))

    def _size(self) -> int:
        return int(self._embedder.embed_queries(["size"]).shape[1])

    def _blocks_kept(self, size: int) -> int:
        return self._path.stat().st_size // (2 * size * self._block) if self._path.is_file() else 0

    def _passages(self, wanted: set[int]) -> dict[int, Passage]:
        return {
            place: passage
            for place, passage in enumerate(self._stream.passages())
            if place in wanted
        }


def _blocks(passages: Iterable[Passage], size: int = _BLOCK) -> Iterator[list[Passage]]:
    source = iter(passages)
    while block := list(islice(source, size)):
        yield block


def _tell(on_progress: Progress | None, passages: int) -> None:
    if on_progress is not None:
        on_progress(passages)


def _splitter() -> Callable[[Sequence[str]], list[list[str]]]:
    try:
        import bm25s
    except ImportError as error:
        raise MissingDependency("local", "searching with BM25") from error

    def split(texts: Sequence[str]) -> list[list[str]]:
        words: list[list[str]] = bm25s.tokenize(
            list(texts), stopwords="en", return_ids=False, show_progress=False
        )
        return words

    return split
