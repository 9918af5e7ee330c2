"""The second search of ``projection="adaptive"`` and the ranking of what both searches found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.adaptive import KINDS, Choice, Parts, choose, parts
from perspective_rag.flow import Call, Flow, degrade
from perspective_rag.protocols import Embedder, Store
from perspective_rag.request import Request
from perspective_rag.search import Geometry, Ranking, hits_with_embeddings
from perspective_rag.types import Hit, Matrix, Vector
from perspective_rag.vectors import cosine


def search_turned(
    request: Request, store: Store, embedder: Embedder | None, rankings: Sequence[Ranking]
) -> Flow[list[Ranking]]:
    """The rankings with those of queries for a perspective replaced by the adaptive choice.

    All second searches go out at the same time, one a query; the store is asked once more for the
    vectors of what they found. The choice and its reason go into the trace. A second search that
    fails is recorded, and the first one's candidates are ranked; hits without a vector stay behind
    the others in their old order. Other projections, and rankings of queries without a perspective,
    are left as they are.
    """
    if request.options.projection != "adaptive":
        return list(rankings)
    kinds = np.array([request.vectors[kind] for kind in KINDS if kind in request.vectors])
    turned: dict[int, Parts] = {}
    placed: dict[int, list[Hit]] = {}
    for number, ranking in enumerate(rankings):
        if ranking.geometry is not None:
            hits = yield from hits_with_embeddings(ranking.hits, store, embedder)
            placed[number] = hits
            turned[number] = _parts(ranking.geometry, _vectors(hits), kinds)
    asked = [number for number, each in turned.items() if each.problem is None]
    wanted = {"k": max(request.options.k, request.options.fetch_k), "filter": request.filter}
    replies = yield [
        Call(
            "search",
            store.search,
            (rankings[n].query.text, _as_long_as(turned[n].both, rankings[n].geometry)),
            wanted,
            store.asearch,
        )
        for n in asked
    ]
    result = list(rankings)
    for number, reply in zip(asked, replies, strict=True):
        text = rankings[number].query.text
        if reply.error is not None:
            yield from degrade(
                "search", f"the search for {text!r} turned to its perspective failed", reply.error
            )
            continue
        known = {request.key(hit.passage) for hit in placed[number]}
        new = [hit for hit in reply.value if request.key(hit.passage) not in known]
        found = yield from hits_with_embeddings(new, store, embedder)
        placed[number] = [*placed[number], *found]
    for number, parted in turned.items():
        choice = choose(parted, _vectors(placed[number]))
        if choice.problem is None:
            result[number] = replace(rankings[number], hits=_ranked(placed[number], choice))
        request.recorder.decisions.append(
            {"stage": "project", "query": rankings[number].query.text, **choice.to_dict()}
        )
    return result


def _parts(geometry: Geometry, first: Matrix, kinds: Matrix) -> Parts:
    return parts(geometry.query, geometry.root, geometry.perspective, first, kinds=kinds)


def _as_long_as(vector: Vector, geometry: Geometry | None) -> Vector:
    """The vector at the query's length, so that scores of an inner product keep their scale."""
    if geometry is None:
        return vector
    length = float(np.linalg.norm(geometry.query))
    scaled: Vector = (vector * (length / np.linalg.norm(vector))).astype(geometry.query.dtype)
    return scaled


def _vectors(hits: Sequence[Hit]) -> Matrix:
    return np.array([hit.embedding for hit in hits if hit.embedding is not None])


def _ranked(hits: Sequence[Hit], choice: Choice) -> tuple[Hit, ...]:
    known = [hit for hit in hits if hit.embedding is not None]
    if not known:
        return tuple(hits)
    scores = cosine(_vectors(known).astype(np.float64), choice.vector[None, :])[:, 0]
    order = np.argsort(-scores, kind="stable")
    best = [replace(known[i], score=float(scores[i])) for i in order]
    return (*best, *(replace(hit, score=None) for hit in hits if hit.embedding is None))
