"""PAP+ over passages projected ahead: a collection of its own for each of a fixed set of
perspectives.

    c_p = unit(c - (c . p^) p^)             each passage, once, by ``project_collection``
    q_p = q - (q . p^) p^                   each query
    score = cos(q_p, c_p)                   a plain search of the collection of p

An exact search of the collection gives the exact order of ``pap+`` over the whole corpus, where the
online form re-orders the candidates that q_p finds. The price is storage: every perspective holds
all vectors once more; a search costs what a plain search costs. PIR (Section 3.1) projects the
passages in this way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag import ConfigError, Extraction, Query
from perspective_rag.addons import as_vector, normalised
from perspective_rag.extend import Matrix, Projected, Reranked, Store, Vector
from perspective_rag.maths.projection import project_query
from perspective_rag.maths.vectors import ZERO_NORM, as_matrix, is_zero
from perspective_rag.search.search import Fixed, perspective_text
from perspective_rag.types import normalised_text

_ONLINE = Fixed("pap+")
_ROWS_AT_ONCE = 4096
_SAME = 1e-4
"""How far, in cosine, the vector of a perspective may be from the one that was projected by."""


def project_collection(
    embeddings: ArrayLike, perspective: ArrayLike, *, out: Matrix | None = None
) -> Matrix:
    """The passages' vectors without their part along the perspective, at length one.

    c_p = unit(c - (c . p^) p^); zero where nothing is left of c. PIR (Section 3.1). ``embeddings``
    has shape (n, d), ``perspective`` (d,); both may have any length. The result has shape (n, d):
    ``out`` where it is given, of any floating type, otherwise a new array of float32. Both may be
    memory-mapped: 4,096 rows are in memory at a time. O(n d).

    Raises ConfigError for shapes that differ, NaN, infinity, and a perspective of zero.
    """
    rows = embeddings if isinstance(embeddings, np.ndarray) else np.asarray(embeddings)
    if rows.ndim != 2:
        raise ConfigError(f"embeddings must have shape (n, d), got shape {rows.shape}")
    p = as_vector(perspective, "perspective", size=rows.shape[1]).astype(np.float64)
    if is_zero(p):
        raise ConfigError("the perspective is zero: there is nothing to project by")
    if out is not None and (out.shape != rows.shape or out.dtype.kind != "f"):
        raise ConfigError(
            f"out must be an array of floats of shape {rows.shape}, got {out.dtype} {out.shape}"
        )
    result = np.empty(rows.shape, dtype=np.float32) if out is None else out
    unit = p / np.linalg.norm(p)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = as_matrix(rows[start : start + _ROWS_AT_ONCE], f"embeddings from row {start} on")
        result[start : start + len(block)] = _projected(block.astype(np.float64), unit)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedCollection:
    """A store of the same passages, by the same ids, whose vectors ``project_collection`` made.

    ``text`` is the perspective as queries name it (case and spaces do not matter), ``vector`` (d,)
    its embedding, by which the collection was projected. The store compares by cosine, or by inner
    product. Raises ConfigError for a store that does not search by vector and a vector of zero.
    """

    text: str
    vector: Vector
    store: Store

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise ConfigError(f"text must name the perspective, got {self.text!r:.80}")
        vector = as_vector(self.vector, f"the vector of {self.text[:80]!r}")
        if is_zero(vector):
            raise ConfigError(f"the vector of {self.text[:80]!r} is zero: it projects nothing")
        if not isinstance(self.store, Store) or not self.store.takes_vector:
            name = type(self.store).__name__
            raise ConfigError(f"a projected collection needs a Store by vector, got {name}")
        object.__setattr__(self, "vector", vector)


@dataclass(frozen=True, slots=True, eq=False)
class Precomputed:
    """PAP+ from collections that were projected ahead; a query goes to that of its perspective.

    A query for any other perspective is searched in the pipeline's own store and its candidates are
    re-ordered, as ``projection="pap+"`` does; the trace says so in ``decisions``. So is one whose
    perspective has another vector now than when the collection was made, which is recorded as a
    degradation. Where nothing is left of the query, it is searched as it is.

    Raises ConfigError for no collection and for two of one perspective.
    """

    collections: Sequence[ProjectedCollection]
    name: str = "precomputed pap+"
    _by_text: Mapping[str, ProjectedCollection] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = tuple(self.collections)
        by_text = {normalised_text(each.text): each for each in given}
        if not given or len(by_text) < len(given):
            names = [each.text for each in given]
            raise ConfigError(f"collections must be of different perspectives, got {names!r:.200}")
        object.__setattr__(self, "collections", given)
        object.__setattr__(self, "_by_text", by_text)

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        """The root and the perspective."""
        return _ONLINE.texts(query, extraction)

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        """q_p and the collection to search with it; without a collection what PAP+ searches with
        online.
        """
        text = perspective_text(query, extraction)
        online = _ONLINE.query_vector(query, extraction, vectors)
        collection = self._by_text.get(normalised_text(text))
        # A query that is its own perspective is projected by what it adds to the root.
        if collection is None or text == query.text:
            return online
        own = vectors[query.text]
        if not _same(vectors[text], collection.vector):
            changed = f"the collection of {text[:80]!r} was made with another vector of it"
            return replace(online, problem=online.problem or f"{changed}; projected online")
        vector, problem = project_query("pap", own, own, collection.vector)
        if problem is not None:
            return online
        return Projected(vector, store=collection.store)

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        """The exact order of PAP+ of what the pipeline's own store found."""
        scores = _ONLINE.rerank(projected, rows).scores
        return Reranked(scores, {"reason": "projected online: no collection of this perspective"})


def _projected(block: Matrix, unit: Vector) -> Matrix:
    lengths = np.linalg.norm(block, axis=1)
    left: Matrix = block - (block @ unit)[:, None] * unit[None, :]
    # Twice: what the first subtraction leaves along p by rounding counts once c_p is renormalised.
    left -= (left @ unit)[:, None] * unit[None, :]
    across = np.linalg.norm(left, axis=1)
    there = (lengths > ZERO_NORM) & (across > ZERO_NORM * lengths)
    rows: Matrix = left / np.where(there, across, np.inf)[:, None]
    return rows


def _same(left: Vector, right: Vector) -> bool:
    if left.shape != right.shape:
        return False
    cosine = float(normalised(left.astype(np.float64)) @ normalised(right.astype(np.float64)))
    return cosine >= 1.0 - _SAME
