"""Embedding passages, and an embedder that remembers: in memory, and in a file."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.maths.vectors import as_matrix
from perspective_rag.protocols import Embedder
from perspective_rag.storage.fingerprint import cache_key
from perspective_rag.storage.sqlite_cache import SqliteCache
from perspective_rag.types import Matrix, Passage, RelevanceFloor

_log = logging.getLogger(__name__)

_Row = NDArray[np.float32]
_MODEL = b"model"  # no text has this key: theirs are hashes


def embedded(
    passages: Sequence[Passage],
    embedder: Embedder,
    *,
    batch: int = 64,
    dimensions: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Matrix:
    """A row for each of at least one passage with its title, shape (n, d), in their order.

    Texts of similar length share a batch, so that little of it is padding. ``on_batch`` is called
    with the number of passages done so far. Raises ConfigError where the embedder gives other than
    one row a text, or other than ``dimensions`` numbers a row.
    """
    titled = [each.titled for each in passages]
    order = sorted(range(len(titled)), key=lambda i: len(titled[i]))
    result: Matrix | None = None
    for first in range(0, len(order), batch):
        places = order[first : first + batch]
        rows = embedder.embed_passages([titled[i] for i in places])
        found = as_matrix(rows, "passage embeddings", columns=dimensions)
        if len(found) != len(places):
            raise ConfigError(f"the embedder gave {len(found)} rows for {len(places)} texts")
        if result is None:
            dimensions = found.shape[1]
            result = np.empty((len(titled), dimensions), found.dtype)
        result[places] = found
        if on_batch is not None:
            on_batch(first + len(places))
    if result is None:
        raise CorpusError("there are no passages to index")
    return result


class CachedEmbedder:
    """An embedder around another: the same text is embedded once.

    Rows are float32. An error of the embedder is passed on and never kept; a file that cannot be
    written or fails later is logged and done without.

    Args:
        embedder: Embeds what is not kept yet.
        path: A SQLite file for passages, made if missing, that threads and processes may share.
            None: memory alone. Queries are kept in memory only.
        model_name: Identifies the embedder's model; needed with a ``path``.
        max_passages: Passages kept in memory, the last ones.
        max_queries: Queries kept in memory, the last ones.

    Raises:
        ConfigError: There is a path and no model_name.
        CorpusError: The file is no such cache, or was made by another model.
    """

    def __init__(
        self,
        embedder: Embedder,
        path: str | os.PathLike[str] | None = None,
        model_name: str = "",
        *,
        max_passages: int = 50_000,
        max_queries: int = 1_000,
    ) -> None:
        if path is not None and not model_name:
            raise ConfigError("a cache on disk needs the model_name it belongs to")
        self.name = model_name
        self._embedder = embedder
        self._passages = _Recent(max_passages)
        self._queries = _Recent(max_queries)
        self._path = None if path is None else Path(path)
        self._kept = None if self._path is None else _opened(self._path, model_name)

    @property
    def inner(self) -> Embedder:
        """The embedder behind it, which keeps nothing."""
        return self._embedder

    @property
    def relevance_floor(self) -> RelevanceFloor | None:
        """What the embedder says of itself."""
        own = getattr(self._embedder, "relevance_floor", None)
        return own if isinstance(own, RelevanceFloor) else None

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds passages.

        Args:
            texts: The texts of the passages.

        Returns:
            One row for each, shape (n, d), float32.
        """
        return self._rows(texts, self._embedder.embed_passages, self._passages)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeds queries.

        Args:
            texts: The queries.

        Returns:
            One row for each, shape (n, d), float32.
        """
        return self._rows(texts, self._embedder.embed_queries, self._queries)

    def close(self) -> None:
        """Closes the file; the embedder goes on in memory."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def __enter__(self) -> CachedEmbedder:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _rows(
        self,
        texts: Sequence[str],
        embed: Callable[[Sequence[str]], Matrix],
        recent: _Recent,
    ) -> Matrix:
        if not texts:
            return as_matrix(embed(texts), "embeddings").astype(np.float32)
        by_key = {cache_key(text): text for text in texts}
        found = recent.get(by_key)
        kept = self._kept if recent is self._passages else None
        if kept is not None and len(found) < len(by_key):
            stored = self._stored(kept, [key for key in by_key if key not in found])
            recent.put(stored)
            found |= stored
        if missing := [key for key in by_key if key not in found]:
            rows = as_matrix(embed([by_key[key] for key in missing]), "embeddings")
            if len(rows) != len(missing):
                raise ConfigError(f"the embedder gave {len(rows)} rows for {len(missing)} texts")
            new = dict(zip(missing, rows.astype(np.float32), strict=True))
            if kept is not None:
                self._keep(kept, new)
            recent.put(new)
            found |= new
        sizes = {row.size for row in found.values()}
        if len(sizes) > 1:
            raise CorpusError(
                f"the cache of {self.name!r} holds rows of other dimensions than the embedder gives"
                f" ({sorted(sizes)}): pass another path or delete the file"
            )
        result: Matrix = np.stack([found[cache_key(text)] for text in texts])
        return result

    def _stored(self, kept: SqliteCache, keys: Sequence[bytes]) -> dict[bytes, _Row]:
        """The sound rows of the file."""
        try:
            held = kept.get(keys)
            rows = {key: np.frombuffer(row, "<f4").astype(np.float32) for key, row in held.items()}
            return {key: row for key, row in rows.items() if row.size and np.isfinite(row).all()}
        except (sqlite3.Error, ValueError, TypeError) as error:
            _log.warning(
                "%s could not be read, its texts are embedded again: %s", self._path, error
            )
            return {}

    def _keep(self, kept: SqliteCache, rows: Mapping[bytes, _Row]) -> None:
        try:
            kept.put({key: row.astype("<f4").tobytes() for key, row in rows.items()})
        except sqlite3.Error as error:
            _log.warning("%d embeddings are not kept in %s: %s", len(rows), self._path, error)


def _opened(path: Path, model_name: str) -> SqliteCache:
    """The file, which the first who opens it gives the model's name."""
    try:
        kept = SqliteCache(path, "embedded_texts")
        kept.put({_MODEL: model_name})
        made_by = kept.get([_MODEL]).get(_MODEL, model_name)
    except (OSError, sqlite3.Error) as error:
        raise CorpusError(
            f"{path} is not a cache of embeddings ({error}): pass another path or delete it"
        ) from error
    if kept.problem is not None:
        _log.warning("%s cannot be written, new embeddings are not kept: %s", path, kept.problem)
    if made_by != model_name:
        kept.close()
        raise CorpusError(
            f"{path} was made by the model {made_by!r}, not {model_name!r}:"
            " pass another path or delete it"
        )
    return kept


class _Recent:
    """The rows used last, at most ``size`` of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows: OrderedDict[bytes, _Row] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Mapping[bytes, str]) -> dict[bytes, _Row]:
        with self._lock:
            found = {key: self._rows[key] for key in keys if key in self._rows}
            for key in found:
                self._rows.move_to_end(key)
            return found

    def put(self, rows: Mapping[bytes, _Row]) -> None:
        with self._lock:
            for key, row in rows.items():
                # A copy, because a row of a batch would keep the whole batch alive.
                self._rows[key] = row.copy()
                self._rows.move_to_end(key)
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
