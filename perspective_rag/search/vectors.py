"""Vectors of queries and passages: each text embedded at most once in a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.flow.recording import degrade
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Call, Flow, call
from perspective_rag.judge.windows import titled_pieces
from perspective_rag.protocols import Embedder, KeepsEmbeddings
from perspective_rag.types import Candidate, Hit, Matrix, Passage, Vector
from perspective_rag.vectors import as_matrix, cosine


def embed_queries(request: Request, embedder: Embedder, texts: Sequence[str]) -> Flow[None]:
    """Adds a vector for each text to ``request.vectors``; the new ones come from one call.

    Raises what the embedder raises, and ConfigError for vectors that cannot be used.
    """
    new = [text for text in dict.fromkeys(texts) if text not in request.vectors]
    if not new:
        return
    reply = yield from call(
        "embed", embedder.embed_queries, new, counts={"embedded_texts": len(new)}
    )
    if reply.error is not None:
        raise reply.error
    name = f"the query vectors of embedder {type(embedder).__name__}"
    rows = _rows_for(new, reply.value, name, columns=width_of(request))
    request.vectors.update(zip(new, rows, strict=True))
    for text, row in zip(new, rows, strict=True):
        if not np.any(row):
            problem = f"the vector of {text[:80]!r} is all zeros: it is near to nothing"
            degrade("embed", problem)


def embed_passages(
    embedder: Embedder,
    passages: Sequence[Passage],
    near: Vector | None = None,
    *,
    about: str = "",
    columns: int | None = None,
) -> Flow[Matrix | None]:
    """A vector for each passage with its title, shape (n, d), of ``columns`` dimensions where that
    is given, from one call; None where it failed, which is recorded.

    A long passage has that of its piece nearest to ``near`` (None: of its first); a title counts
    where it has a word of what is asked ``about``.
    """
    cut = _pieces(passages, about)
    texts = list(dict.fromkeys(piece for pieces in cut for piece in pieces))
    reply = yield from call(
        "embed", embedder.embed_passages, texts, counts={"embedded_texts": len(texts)}
    )
    problem = reply.error
    if problem is None:
        try:
            name = f"the passage vectors of embedder {type(embedder).__name__}"
            rows = _rows_for(texts, reply.value, name, columns=columns)
            position = {text: i for i, text in enumerate(texts)}
            chosen = [_nearest([position[each] for each in pieces], rows, near) for pieces in cut]
            ordered: Matrix = rows[chosen]
            return ordered
        except ConfigError as error:
            problem = error
    degrade("embed", f"{len(texts)} candidates could not be embedded", problem)
    return None


def nearness(
    embedder: Embedder, question: str, asked: Matrix, passages: Sequence[Passage]
) -> NDArray[np.float64]:
    """The cosine of each passage to the question, whose vector is ``asked`` (1, d), shape (n,): of
    a long one that of its nearest piece. Raises what the embedder raises.
    """
    cut = _pieces(passages, question)
    pieces = [piece for each in cut for piece in each]
    rows = np.asarray(embedder.embed_passages(pieces), dtype=float)
    result = np.full(len(passages), -np.inf)
    owners = np.repeat(np.arange(len(passages)), [len(each) for each in cut])
    np.maximum.at(result, owners, cosine(rows, asked)[:, 0])
    return result


def _pieces(passages: Sequence[Passage], about: str) -> list[list[str]]:
    return [titled_pieces(passage, about) for passage in passages]


def _nearest(places: Sequence[int], rows: Matrix, near: Vector | None) -> int:
    if near is None or len(places) == 1 or rows.shape[1] != len(near):
        return places[0]
    return places[int(np.argmax(cosine(rows[list(places)], np.asarray(near)[None, :])[:, 0]))]


def with_embeddings(
    request: Request,
    candidates: Sequence[Candidate],
    near: Vector | None = None,
    *,
    about: str = "",
) -> Flow[list[Candidate]]:
    """The candidates with their vectors: from the hits, else from the store in one call, else
    embedded in one batch, as ``embed_passages`` does.

    A candidate without a vector keeps None, and that is recorded.
    """
    placed = yield from with_stored_embeddings(request, candidates)
    missing = [i for i, c in enumerate(placed) if c.embedding is None]
    if not missing or request.embedder is None:
        return placed
    passages = [placed[i].passage for i in missing]
    stored = next((len(c.embedding) for c in placed if c.embedding is not None), None)
    columns = width_of(request) or stored
    rows = yield from embed_passages(request.embedder, passages, near, about=about, columns=columns)
    for i, row in zip(missing, rows if rows is not None else [], strict=False):
        placed[i] = replace(placed[i], embedding=row)
    return placed


def with_stored_embeddings(
    request: Request, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The candidates with the vectors that came with the hits or that the store keeps: one call.

    Vectors of another width than the queries' (without queries: than most) are left out, and that
    is recorded.
    """
    store, result = request.store, list(candidates)
    missing = [i for i, c in enumerate(result) if c.embedding is None]
    if missing and isinstance(store, KeepsEmbeddings):
        passages = [result[i].passage for i in missing]
        bound = bool(getattr(store, "thread_bound", False))
        (reply,) = yield [Call("vectors", store.embeddings_of, (passages,), in_caller=bound)]
        problem = reply.error
        if problem is None:
            try:
                for i, row in zip(missing, _stored(reply.value, len(missing)), strict=True):
                    if np.isfinite(row).all():
                        result[i] = replace(result[i], embedding=row)
            except ConfigError as error:
                problem = error
        if problem is not None:
            name = type(store).__name__
            degrade("vectors", f"{name} could not return its vectors", problem)
    sizes = Counter(len(c.embedding) for c in result if c.embedding is not None)
    width = width_of(request) or max(sizes, key=lambda size: sizes[size], default=0)
    others = [
        i for i, c in enumerate(result) if c.embedding is not None and len(c.embedding) != width
    ]
    for i in others:
        result[i] = replace(result[i], embedding=None)
    if others:
        found = ", ".join(str(size) for size in sorted(sizes) if size != width)
        name = type(store).__name__
        problem_said = f"{len(others)} vectors of {name} have {found} dimensions instead of {width}"
        degrade("vectors", f"{problem_said}: left out")
    return result


def hits_with_embeddings(request: Request, hits: Sequence[Hit]) -> Flow[list[Hit]]:
    """``with_embeddings`` for hits."""
    found = [Candidate(hit.passage, 0.0, embedding=hit.embedding) for hit in hits]
    placed = yield from with_embeddings(request, found)
    return [replace(h, embedding=c.embedding) for h, c in zip(hits, placed, strict=True)]


def scored_hits(passages: Sequence[Passage], rows: Matrix, vector: Vector) -> list[Hit]:
    """Hits with their vectors and cosine to ``vector``, for a store whose vectors are at hand.

    ``rows`` has shape (n, d), in the order of the passages; a passage whose row is not finite gets
    neither.
    """
    known = np.asarray(np.isfinite(rows).all(axis=1))
    scores = np.full(len(rows), np.nan)
    if known.any():
        scores[known] = cosine(rows[known], np.asarray(vector)[None, :])[:, 0]
    return [
        Hit(passage, float(score), row) if there else Hit(passage)
        for passage, score, row, there in zip(passages, scores, rows, known, strict=True)
    ]


def _rows_for(
    texts: Sequence[str], values: Any, name: str, *, columns: int | None = None
) -> Matrix:
    rows = as_matrix(values, name, columns=columns)
    if len(rows) != len(texts):
        raise ConfigError(f"{name}: got {len(rows)} rows for {len(texts)} texts")
    return rows


def width_of(request: Request) -> int | None:
    """The dimensions of the queries' vectors, where there are any."""
    return next((len(vector) for vector in request.vectors.values()), None)


def _stored(values: Any, count: int) -> Matrix:
    """A store's rows, shape (count, d), NaN where it has none; raises ConfigError for others."""
    try:
        rows: Matrix = np.asarray(values)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    except Exception as error:  # whatever the value's own conversion raises
        raise ConfigError(f"expected {count} rows of numbers: {error}") from error
    if rows.ndim != 2 or len(rows) != count:
        raise ConfigError(f"expected {count} rows, got shape {rows.shape}")
    return rows
