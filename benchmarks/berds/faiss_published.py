"""A FAISS index that others built and published, over a corpus."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.berds.published_ids import read_ids
from perspective_rag import ConfigError, CorpusError, Hit, Passage
from perspective_rag.addons import as_vector, count
from perspective_rag.extend import Vector, in_thread
from perspective_rag.local.stores import Positions, indexable, passing
from perspective_rag_scale.faiss_kinds import faiss_module, read_faiss, search_depth

_OVERFETCH = 20
_TOLD = 3


class PublishedFaissStore:
    """Passages by a FAISS index from a file, of any kind, memory-mapped where that can be.

    ``ids`` says which passage each row of the index is, in their order: a sequence, or a file as
    ``read_ids`` reads it (.json, .npy, an id a line; pickles with ``unpickle`` alone). ``vector``
    is used as the embedder gives it, of the model the index was built with: ``dimensions``, where
    given, is checked at once. Scores are inner products, or squared distances with a minus sign
    where the index has distances. Graphs and cells are searched as thoroughly as ``FaissFolder``
    does, or more where the file says so. ``filter`` is a predicate on passages or a mapping of
    metadata fields to values: what is found is filtered, and more is asked for until k are left.

    Raises CorpusError when index, ids and passages do not belong together or cannot be read,
    ConfigError for a pickle without ``unpickle``, MissingDependency without FAISS.
    """

    takes_vector = True

    def __init__(
        self,
        index: str | os.PathLike[str],
        ids: Sequence[str] | str | os.PathLike[str],
        passages: Sequence[Passage],
        *,
        dimensions: int | None = None,
        unpickle: bool = False,
    ) -> None:
        self._index, self._sign = _opened(Path(index))
        if isinstance(ids, (str, os.PathLike)):
            ids = read_ids(Path(ids), unpickle=unpickle)
        self._passages = indexable(passages)
        held = int(self._index.ntotal)
        if held != len(ids):
            raise CorpusError(f"{index} holds {held:,} rows, and there are {len(ids):,} ids")
        if dimensions is not None and dimensions != self._index.d:
            raise CorpusError(
                f"{index} holds vectors of {self._index.d} numbers, and the embedder gives "
                f"{dimensions}: pass the model that the index was built with"
            )
        places = {passage.id: place for place, passage in enumerate(self._passages)}
        self._rows: Positions = np.array([places.get(id, -1) for id in ids], dtype=np.int64)
        missing = np.flatnonzero(self._rows < 0)
        if len(missing):
            some = ", ".join(repr(ids[i]) for i in missing[:_TOLD].tolist())
            raise CorpusError(
                f"the corpus lacks {len(missing):,} of the {len(ids):,} passages of {index}, such "
                f"as {some}: pass the corpus that the index was built from"
            )

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages, best first; fewer when fewer there are or pass the filter."""
        wanted = count("k", k)
        if vector is None:
            raise ConfigError("PublishedFaissStore searches by vector: pass an embedder")
        query = as_vector(vector, "the query vector", size=self._index.d)
        row = np.ascontiguousarray(query, dtype=np.float32)[None, :]
        kept = passing(self._passages, filter)
        allowed = None if kept is None else set(kept.tolist())
        asked = min(wanted if allowed is None else wanted * _OVERFETCH, len(self))
        while True:
            depth = search_depth(self._index, asked)
            scores, places = self._index.search(row, asked, params=depth)
            there = places[0] >= 0  # -1: the index found no more
            found = zip(
                self._rows[places[0][there]].tolist(), scores[0][there].tolist(), strict=True
            )
            hits = [each for each in found if allowed is None or each[0] in allowed]
            if len(hits) >= wanted or asked >= len(self):
                return [Hit(self._passages[i], self._sign * value) for i, value in hits[:wanted]]
            if allowed is None:
                return [Hit(self._passages[i], self._sign * value) for i, value in hits]
            asked = min(asked * _OVERFETCH, len(self))

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """``search`` in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def __len__(self) -> int:
        return len(self._rows)


def _opened(path: Path) -> tuple[Any, float]:
    """An index, and the sign that makes its scores higher-is-better."""
    index = read_faiss(path)
    inner = faiss_module().METRIC_INNER_PRODUCT
    return index, 1.0 if index.metric_type == inner else -1.0
