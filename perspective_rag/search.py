"""Queries to ranked hits: embed once, turn towards the perspective, search everything at the same
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perspective_rag.adaptive import CANDIDATES, KINDS, Parts, parts
from perspective_rag.errors import ConfigError, RetrievalError
from perspective_rag.flow import Call, Flow, call, degrade
from perspective_rag.options import PipelineOptions
from perspective_rag.projection import DOCUMENT_SIDE, project_query, projected_scores
from perspective_rag.protocols import Embedder, KeepsEmbeddings, Store
from perspective_rag.request import Request
from perspective_rag.types import Candidate, Extraction, Hit, Matrix, Passage, Query, Vector
from perspective_rag.vectors import as_matrix, cosine


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """The vectors of one query: ``query``, ``root`` and ``perspective``, each of shape (d,).

    ``turned`` is what the adaptive choice starts from; other projections have none.
    """

    query: Vector
    root: Vector
    perspective: Vector
    turned: Parts | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The hits of one query, best first, and the query's vectors where it was projected."""

    query: Query
    hits: Sequence[Hit]
    geometry: Geometry | None = None


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
    rows = _rows_for(new, reply.value, "the embedder's query vectors")
    request.vectors.update(zip(new, rows, strict=True))
    for text, row in zip(new, rows, strict=True):
        if not np.any(row):
            problem = f"the vector of {text[:80]!r} is all zeros: it is near to nothing"
            yield from degrade("embed", problem)


def search_all(
    request: Request,
    store: Store,
    embedder: Embedder | None,
    extraction: Extraction,
    queries: Sequence[Query],
) -> Flow[list[Ranking]]:
    """One ranking for each query that could be searched, in the order of the queries.

    A search that fails is recorded and left out; RetrievalError is raised when all of them fail.
    """
    options = request.options
    if store.takes_vector and embedder is not None:
        try:
            texts = _texts_to_embed(queries, extraction, options)
            yield from embed_queries(request, embedder, texts)
        except ConfigError:
            raise
        except Exception as error:
            raise RetrievalError(f"the queries could not be embedded: {error!r}") from error
    calls, geometries = [], []
    in_turn = bool(getattr(store, "in_turn", False))
    for query in queries:
        vector, geometry = request.vectors.get(query.text), None
        depth = max(options.k, options.fetch_k)
        if vector is not None and query.perspective is not None and options.projection != "none":
            geometry = _geometry(query, extraction, request.vectors, options.projection)
            if geometry.turned is not None:
                vector = _as_long_as(geometry.query, geometry.turned.search)
                depth = max(depth, CANDIDATES)
            else:
                vector, problem = project_query(
                    options.projection, geometry.query, geometry.root, geometry.perspective
                )
                if problem:
                    yield from degrade("project", f"{problem} (query {query.text!r})")
        wanted = {"k": depth, "filter": request.filter}
        asked = (query.text, vector)
        calls.append(Call("search", store.search, asked, wanted, store.asearch, in_turn=in_turn))
        geometries.append(geometry)
    replies = yield calls
    errors = [reply.error for reply in replies if reply.error is not None]
    if len(errors) == len(queries):
        raise RetrievalError(
            f"all {len(errors)} searches failed; first: {errors[0]!r}"
        ) from errors[0]
    rankings = []
    for query, geometry, reply in zip(queries, geometries, replies, strict=True):
        if reply.error is None:
            rankings.append(Ranking(query, tuple(reply.value), geometry))
        else:
            yield from degrade("search", f"the search for {query.text!r} failed", reply.error)
    return rankings


def _texts_to_embed(
    queries: Sequence[Query], extraction: Extraction, options: PipelineOptions
) -> list[str]:
    texts = [query.text for query in queries]
    if options.projection != "none":
        texts += [extraction.root, extraction.instruction or extraction.root]
        texts += [perspective.text for perspective in extraction.perspectives]
    if options.projection == "adaptive":
        texts += KINDS
    return texts


def _geometry(
    query: Query, extraction: Extraction, vectors: Mapping[str, Vector], projection: str
) -> Geometry:
    own, root = vectors[query.text], vectors[extraction.root]
    texts = {perspective.id: perspective.text for perspective in extraction.perspectives}
    text = extraction.instruction or texts.get(query.perspective or "", query.text)
    if projection == "adaptive":
        kinds = np.array([vectors[kind] for kind in KINDS])
        perspective = vectors[text]
        return Geometry(own, root, perspective, parts(own, root, perspective, kinds=kinds))
    # A query that is its own perspective would be projected to nothing: what it adds to the root is
    # meant.
    return Geometry(own, root, own - root if text == query.text else vectors[text])


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


def _as_long_as(query: Vector, vector: Vector) -> Vector:
    """The vector at the query's length, so that scores of an inner product keep their scale."""
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        return query
    scaled: Vector = (vector * (np.linalg.norm(query) / length)).astype(query.dtype)
    return scaled


def with_embeddings(
    candidates: Sequence[Candidate], store: Store, embedder: Embedder | None
) -> Flow[list[Candidate]]:
    """The candidates with their vectors: from the hits, else from the store in one call, else
    embedded in one batch.

    A candidate whose vector cannot be had keeps None, and that is recorded.
    """
    vectors: dict[int, Vector] = {}
    missing = [i for i, c in enumerate(candidates) if c.embedding is None]
    if missing and isinstance(store, KeepsEmbeddings):
        reply = yield from call(
            "vectors", store.embeddings_of, [candidates[i].passage for i in missing]
        )
        if reply.error is not None:
            yield from degrade("vectors", "the store could not hand its vectors back", reply.error)
        else:
            vectors.update(
                {
                    i: row
                    for i, row in zip(missing, reply.value, strict=True)
                    if np.isfinite(row).all()
                }
            )
        missing = [i for i in missing if i not in vectors]
    if missing and embedder is not None:
        passages = [candidates[i].passage for i in missing]
        rows = yield from embed_passages(embedder, passages)
        if rows is not None:
            vectors.update(zip(missing, rows, strict=True))
    return [
        replace(c, embedding=vectors[i]) if i in vectors else c for i, c in enumerate(candidates)
    ]


def hits_with_embeddings(
    hits: Sequence[Hit], store: Store, embedder: Embedder | None
) -> Flow[list[Hit]]:
    """``with_embeddings`` for hits."""
    found = [Candidate(hit.passage, 0.0, embedding=hit.embedding) for hit in hits]
    placed = yield from with_embeddings(found, store, embedder)
    return [replace(h, embedding=c.embedding) for h, c in zip(hits, placed, strict=True)]


def embed_passages(embedder: Embedder, passages: Sequence[Passage]) -> Flow[Matrix | None]:
    """A vector for each passage, shape (n, d), from one call; None where it failed, which is
    recorded.
    """
    texts = list(dict.fromkeys(passage.text for passage in passages))
    reply = yield from call(
        "embed", embedder.embed_passages, texts, counts={"embedded_texts": len(texts)}
    )
    problem = reply.error
    if problem is None:
        try:
            rows = _rows_for(texts, reply.value, "the embedder's passage vectors")
            position = {text: i for i, text in enumerate(texts)}
            ordered: Matrix = rows[[position[passage.text] for passage in passages]]
            return ordered
        except ConfigError as error:
            problem = error
    yield from degrade("embed", f"{len(texts)} candidates could not be embedded", problem)
    return None


def _rows_for(texts: Sequence[str], values: Any, name: str) -> Matrix:
    rows = as_matrix(values, name)
    if len(rows) != len(texts):
        raise ConfigError(f"{name}: got {len(rows)} rows for {len(texts)} texts")
    return rows


def rescore(
    request: Request, store: Store, embedder: Embedder | None, rankings: Sequence[Ranking]
) -> Flow[list[Ranking]]:
    """The rankings in the exact order of a projection that changes the documents' vectors too.

    Other methods, and queries that were not projected, are left as they are. Hits without a vector
    stay behind the others in their old order.
    """
    method = request.options.projection
    if method not in DOCUMENT_SIDE:
        return list(rankings)
    result = []
    for ranking in rankings:
        if ranking.geometry is None:
            result.append(ranking)
            continue
        hits = yield from hits_with_embeddings(ranking.hits, store, embedder)
        known = [hit for hit in hits if hit.embedding is not None]
        rows = np.array([hit.embedding for hit in known])
        geometry = ranking.geometry
        if known:
            scores = projected_scores(
                method, rows, geometry.query, geometry.root, geometry.perspective
            )
            order = np.argsort(-scores, kind="stable")
            known = [replace(known[i], score=float(scores[i])) for i in order]
        others = [hit for hit in hits if hit.embedding is None]
        result.append(replace(ranking, hits=(*known, *others)))
    return result
