"""The ranking of what the search of ``projection="adaptive"`` found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.adaptive import Choice, choose
from perspective_rag.flow import Flow
from perspective_rag.protocols import Embedder, Store
from perspective_rag.request import Request
from perspective_rag.search import Ranking, hits_with_embeddings
from perspective_rag.types import Hit, Matrix
from perspective_rag.vectors import cosine


def rank_turned(
    request: Request, store: Store, embedder: Embedder | None, rankings: Sequence[Ranking]
) -> Flow[list[Ranking]]:
    """The rankings with those of queries for a perspective ordered by the adaptive choice.

    No further search: the store is asked for the vectors of the hits that came without. The first
    ``fetch_k`` are kept. The choice and its reason go into the trace. Hits without a vector stay
    behind the others in their old order. Other projections, and rankings of queries without a
    perspective, are left as they are.
    """
    depth = max(request.options.k, request.options.fetch_k)
    result = []
    for ranking in rankings:
        if ranking.geometry is None or ranking.geometry.turned is None:
            result.append(ranking)
            continue
        hits = yield from hits_with_embeddings(ranking.hits, store, embedder)
        known = [hit for hit in hits if hit.embedding is not None]
        rows = np.array([hit.embedding for hit in known])
        choice = choose(ranking.geometry.turned, rows)
        ordered = list(ranking.hits)
        if known and choice.problem is None:
            others = [replace(hit, score=None) for hit in hits if hit.embedding is None]
            ordered = [*_ranked(known, rows, choice), *others]
        result.append(replace(ranking, hits=tuple(ordered[:depth])))
        request.recorder.decisions.append(
            {"stage": "project", "query": ranking.query.text, **choice.to_dict()}
        )
    return result


def _ranked(hits: Sequence[Hit], rows: Matrix, choice: Choice) -> list[Hit]:
    scores = cosine(rows.astype(np.float64), choice.vector[None, :])[:, 0]
    order = np.argsort(-scores, kind="stable")
    return [replace(hits[i], score=float(scores[i])) for i in order]
