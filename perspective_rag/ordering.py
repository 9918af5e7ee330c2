"""Candidates by relevance, with diversity where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.flow import Flow, degrade
from perspective_rag.protocols import Embedder, Store
from perspective_rag.request import Request
from perspective_rag.search import embed_queries, with_embeddings
from perspective_rag.select.mmr import mmr_from_embeddings, scale_relevance
from perspective_rag.select.topk import topk
from perspective_rag.types import Candidate
from perspective_rag.vectors import cosine


def order_by_relevance(
    request: Request,
    store: Store,
    embedder: Embedder | None,
    question: str,
    candidates: Sequence[Candidate],
) -> Flow[list[Candidate]]:
    """The candidates, best first.

    In the fused order of the searches, unless the store searched by text and an embedder is there
    (then by cosine to the question) or ``relevance_weight`` is below 1 (then by MMR over that
    cosine, scaled to a maximum of 1 as in BERDS section 6). Only the first ``fetch_k`` are given
    vectors; the others follow in their old order.
    """
    options = request.options
    by_cosine = embedder is not None and not store.takes_vector
    diverse = options.relevance_weight < 1.0
    if not candidates or not (by_cosine or diverse):
        return list(candidates)
    head = list(candidates[: max(options.fetch_k, options.k)])
    head = yield from with_embeddings(head, store, embedder)
    placed = [c for c in head if c.embedding is not None]
    if embedder is not None:
        try:
            yield from embed_queries(request, embedder, [question])
        except Exception as error:
            yield from degrade("order", "the question could not be embedded", error)
    if not placed:
        yield from degrade("order", "no vectors could be had: candidates stay in search order")
        return list(candidates)
    vectors = np.array([c.embedding for c in placed])
    if question in request.vectors:
        relevance = cosine(vectors, request.vectors[question][None, :])[:, 0]
    else:
        relevance = np.array([c.score for c in placed]) / max(c.score for c in placed)
    if diverse:
        picked = mmr_from_embeddings(
            scale_relevance(relevance),
            vectors,
            len(placed),
            relevance_weight=options.relevance_weight,
        )
    else:
        picked = topk(relevance, len(placed))
    ordered = []
    for index, score in zip(picked.indices, picked.scores, strict=True):
        candidate = placed[index]
        scores = {**candidate.scores, "relevance": float(relevance[index])}
        ordered.append(replace(candidate, score=float(score), scores=scores))
    others = [c for c in head if c.embedding is None]
    return [*ordered, *others, *candidates[len(head) :]]
