"""The vectors of a task, embedded once and kept on disk by model, pooling and text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag import CachedEmbedder, ConfigError
from perspective_rag.extend import Embedder, Matrix
from perspective_rag_train.append_log import slug

AT_ONCE = 64
"""Texts embedded between two writes to the cache: what a run that is cut off loses at most."""

Progress = Callable[[str, int, int], None]


def _as_it_is(query: PirQuery) -> str:
    return query.text


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """An embedder, and how it is given a query with its perspective.

    ``name`` stands for everything the vectors depend on (model, pooling, length): it names the
    cache. ``query_text`` is what is embedded for a query, its full text by default; roots and
    perspectives are embedded alone, on the query side.
    """

    name: str
    embedder: Embedder
    query_text: Callable[[PirQuery], str] = _as_it_is


@dataclass(frozen=True, slots=True)
class TaskVectors:
    """Rows of ``queries``, ``roots`` and ``perspectives`` belong together; ``corpus`` is apart."""

    queries: Matrix
    roots: Matrix
    perspectives: Matrix
    corpus: Matrix

    def with_differences(self) -> TaskVectors:
        """p = q - r in place of the perspective's vector, for perspectives that are the query."""
        return TaskVectors(self.queries, self.roots, self.queries - self.roots, self.corpus)


class Vectors:
    """Embeds tasks with one retriever; a second run finds everything in ``folder``."""

    def __init__(self, retriever: DenseRetriever, folder: Path) -> None:
        self.retriever = retriever
        self._queries = _kept(_QuerySide(retriever.embedder), retriever.name, "queries", folder)
        self._passages = _kept(retriever.embedder, retriever.name, "passages", folder)

    def of(self, task: Task, on_progress: Progress | None = None) -> TaskVectors:
        """The vectors of a task; ``on_progress`` is told the task, texts done and texts in all.

        Raises ConfigError for a model that cannot be had.
        """
        parts = (
            (self._queries, [self.retriever.query_text(query) for query in task.queries]),
            (self._queries, [query.root for query in task.queries]),
            (self._queries, [query.perspective for query in task.queries]),
            (self._passages, list(task.corpus)),
        )
        total = sum(len(texts) for _, texts in parts)
        done = 0
        found = []
        for embedder, texts in parts:
            rows = []
            for start in range(0, len(texts), AT_ONCE):
                some = texts[start : start + AT_ONCE]
                rows.append(self._embedded(embedder, some))
                done += len(some)
                if on_progress is not None:
                    on_progress(task.name, done, total)
            found.append(np.concatenate(rows))
        return TaskVectors(*found)

    def of_queries(self, texts: Sequence[str]) -> Matrix:
        """The vectors of further texts on the query side, kept like the others: shape (n, d)."""
        return self._embedded(self._queries, list(texts))

    def _embedded(self, embedder: CachedEmbedder, texts: Sequence[str]) -> Matrix:
        try:
            return embedder.embed_passages(texts)
        except OSError as error:  # what the libraries raise that load models
            raise ConfigError(
                f"{self.retriever.name!r} cannot be loaded: give an id that the hub knows or a "
                f"folder with its weights, --model FOLDER or st:FOLDER ({error})"
            ) from error

    def close(self) -> None:
        """Closes the files of the cache."""
        self._queries.close()
        self._passages.close()


@dataclass(frozen=True, slots=True)
class _QuerySide:
    """Queries as what a ``CachedEmbedder`` keeps on disk."""

    embedder: Embedder

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return self.embedder.embed_queries(texts)

    embed_queries = embed_passages


def _kept(embedder: Embedder, name: str, side: str, folder: Path) -> CachedEmbedder:
    path = folder / f"{slug(name)}-{side}.sqlite"
    return CachedEmbedder(embedder, path, f"{name} {side}")
