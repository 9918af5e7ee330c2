"""What a retriever is to this benchmark, and the retrievers over a store, a stream or a file."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.berds.corpora import PassageStream
from benchmarks.berds.questions import Question
from benchmarks.berds.streamed import DenseStream, bm25_search
from perspective_rag import CapabilityError, CorpusError, FaissStore, Hit, Passage
from perspective_rag.extend import Embedder, Matrix, Store, Vector
from perspective_rag.types import normalised_text


@dataclass(frozen=True, slots=True)
class Ask:
    """A query, and the question it was written for."""

    text: str
    question: Question


class Retriever(Protocol):
    """Finds passages for queries, many at a time.

    ``store`` gives what the pipeline searches for a question, with the embedder that goes with it;
    it raises CapabilityError where there is no such thing.
    """

    name: str

    def rankings(self, asks: Sequence[Ask], k: int) -> list[list[Hit]]: ...

    def store(self, question: Question) -> tuple[Store, Embedder | None]: ...


@dataclass(slots=True)
class StoreRetriever:
    """A retriever over a store of the library; ``on_query`` is called after each search."""

    name: str
    source: Store
    embedder: Embedder | None = None
    on_query: Callable[[], None] = lambda: None

    def rankings(self, asks: Sequence[Ask], k: int) -> list[list[Hit]]:
        """The k best passages of each query, best first."""
        vectors: Any = [None] * len(asks)
        if self.source.takes_vector:
            if self.embedder is None:
                raise CapabilityError(f"{self.name} searches by vector: an embedder is needed")
            vectors = self.embedder.embed_queries([ask.text for ask in asks])
        found = []
        for ask, vector in zip(asks, vectors, strict=True):
            found.append(list(self.source.search(ask.text, vector, k=k))[:k])
            self.on_query()
        return found

    def store(self, question: Question) -> tuple[Store, Embedder | None]:
        """The store itself."""
        return self.source, self.embedder if self.source.takes_vector else None


@dataclass(slots=True)
class StreamedRetriever:
    """BM25 (``dense`` None) or a dense encoder over a corpus that is only ever streamed."""

    name: str
    stream: PassageStream
    dense: DenseStream | None = None

    def rankings(self, asks: Sequence[Ask], k: int) -> list[list[Hit]]:
        """The k best passages of each query, all queries in one reading of the corpus."""
        texts = [ask.text for ask in asks]
        if self.dense is not None:
            return self.dense.search(texts, k)
        return bm25_search(self.stream, texts, k)

    def store(self, question: Question) -> tuple[Store, Embedder | None]:
        """Raises CapabilityError: the pipeline decides as it goes what to search for."""
        raise CapabilityError(
            f"{self.name} is streamed, so its queries must be known beforehand: leave the "
            "pipeline's approaches out, or give an indexed store of it as module:factory"
        )


class DenseStore:
    """A vector store over a ``DenseStream``, its passages in memory, made at the first search."""

    takes_vector = True

    def __init__(self, dense: DenseStream, passages: Sequence[Passage]) -> None:
        self.dense, self.passages = dense, passages
        self._lock = threading.Lock()
        self._index: FaissStore | None = None

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The k nearest passages, best first."""
        return self._built().search(text, vector, k=k, filter=filter)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The same in a thread, where it may have to embed the corpus first."""
        return await asyncio.to_thread(self.search, text, vector, k=k, filter=filter)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """The vectors of passages that it found."""
        return self._built().embeddings_of(passages)

    def seconds_to_build(self) -> float:
        """How long the first search will have to embed; 0 where everything is embedded."""
        return self.dense.seconds_to_build(self.passages)

    def _built(self) -> FaissStore:
        with self._lock:
            if self._index is None:
                self._index = FaissStore(self.passages, self.dense.vectors())
            return self._index


@dataclass(slots=True)
class Reordered:
    """The first ``pool`` passages of another retriever in the order of a second model.

    ``score`` gives one number for each (query, passages). TART-full reads Contriever's top 100 in
    this way (paper, section 6); candidates of BM25 embedded on demand are the cheap form of dense
    retrieval.
    """

    name: str
    first: Retriever
    score: Callable[[str, Sequence[Passage]], Sequence[float]]
    embedder: Embedder | None = None
    pool: int = 100
    on_query: Callable[[], None] = lambda: None

    def rankings(self, asks: Sequence[Ask], k: int) -> list[list[Hit]]:
        """The k best of each pool by the second model, best first."""
        found = []
        for ask, hits in zip(asks, self.first.rankings(asks, max(k, self.pool)), strict=True):
            pool = hits[: self.pool]
            scores = np.asarray(self.score(ask.text, [hit.passage for hit in pool]), dtype=float)
            order = np.argsort(-scores, kind="stable")[:k]
            found.append([Hit(pool[i].passage, float(scores[i])) for i in order])
            self.on_query()
        return found

    def store(self, question: Question) -> tuple[Store, Embedder | None]:
        """The first retriever's store; the pipeline orders what it finds with the embedder."""
        if self.embedder is None:
            raise CapabilityError(f"{self.name} reorders with a model the pipeline cannot use")
        return self.first.store(question)[0], self.embedder


def cosine_scores(embedder: Embedder) -> Callable[[str, Sequence[Passage]], Sequence[float]]:
    """A score for ``Reordered``: the inner product of the embeddings, cosine for unit rows."""

    def score(query: str, passages: Sequence[Passage]) -> Sequence[float]:
        if not passages:
            return []
        rows = embedder.embed_passages([each.text for each in passages])
        values: list[float] = (rows @ embedder.embed_queries([query])[0]).tolist()
        return values

    return score


@dataclass(slots=True)
class PerQuestion:
    """A store of its own for each question, such as the web found it; made once, when needed."""

    name: str
    make: Callable[[Question], tuple[Store, Embedder | None]]
    made: dict[str, tuple[Store, Embedder | None]] = field(default_factory=dict)

    def rankings(self, asks: Sequence[Ask], k: int) -> list[list[Hit]]:
        """The k best passages of each query among those of its question."""
        found = []
        for ask in asks:
            source, embedder = self.store(ask.question)
            one = StoreRetriever(self.name, source, embedder)
            found += one.rankings([ask], k)
        return found

    def store(self, question: Question) -> tuple[Store, Embedder | None]:
        """The store of a question."""
        if question.id not in self.made:
            self.made[question.id] = self.make(question)
        return self.made[question.id]


class OutputFile:
    """Retrieval output in the authors' form: JSON lines of ``question`` and ``ctxs``.

    A context is ``{"text", "title", "id", "score"}``, the last three optional. A line with
    ``org_q`` is the output of another query for that question, as in their query expansion. A line
    without ``question`` is known by its ``perspectives``, as their evaluation reads it. Raises
    CorpusError with file and line for anything else.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name.removesuffix(".jsonl")
        self._path = path
        self._found: dict[str, list[Hit]] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(f"{path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                self._read(line, f"{path}:{number}")

    def rankings(self, asks: Sequence[Ask], k: int) -> list[list[Hit]]:
        """What the file holds for each query; raises CapabilityError for one it does not hold."""
        known = [self._of(ask) for ask in asks]
        absent = [ask.text for ask, hits in zip(asks, known, strict=True) if hits is None]
        if absent:
            raise CapabilityError(
                f"{self._path} has no output for {len(absent)} of {len(asks)} queries, the first "
                f"is {absent[0]!r}: retrieve for it, or leave out the approaches that ask it"
            )
        return [hits[:k] for hits in known if hits is not None]

    def store(self, question: Question) -> tuple[Store, Embedder | None]:
        """Raises CapabilityError: a file answers no new queries."""
        raise CapabilityError(f"{self._path} is retrieval output: the pipeline needs a retriever")

    def _read(self, line: str, place: str) -> None:
        try:
            row: Mapping[str, Any] = json.loads(line)
            contexts = row["ctxs"]
            named = "question" in row
            key = normalised_text(str(row["question"])) if named else _sides(row["perspectives"])
            hits = [_hit(context, rank, len(contexts)) for rank, context in enumerate(contexts)]
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(
                f"{place} is no line of question (or perspectives) and ctxs: {error!r}"
            ) from error
        self._found[key] = hits

    def _of(self, ask: Ask) -> list[Hit] | None:
        found = self._found.get(normalised_text(ask.text))
        if found is None and ask.text == ask.question.text:
            found = self._found.get(_sides(ask.question.perspectives))
        return found


def _sides(perspectives: Sequence[str]) -> str:
    """A key for a question by its perspectives; no question has a line break in it."""
    return "\n".join(sorted(normalised_text(each) for each in perspectives))


def _hit(context: Mapping[str, Any], rank: int, count: int) -> Hit:
    text, title = str(context["text"]), str(context.get("title") or "")
    # Without an id, the same text is the same passage.
    identity = str(context.get("id") or normalised_text(f"{title} {text}"))
    score = float(context["score"]) if context.get("score") is not None else 1.0 - rank / count
    return Hit(Passage(identity, text, {"title": title} if title else {}), score)
