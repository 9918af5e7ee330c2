"""Each ranking in the order of its own query, where the store searched by text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.flow.recording import degrade
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow
from perspective_rag.search.search import Ranking
from perspective_rag.search.vectors import embed_queries, with_embeddings
from perspective_rag.types import Candidate
from perspective_rag.vectors import cosine


def in_own_order(
    request: Request, rankings: Sequence[Ranking], keys: Sequence[Sequence[str]]
) -> Flow[tuple[list[Ranking], list[list[str]]]]:
    """The rankings and the keys of their hits, each ranking by cosine to its own query, where the
    store searches by text and an embedder is there; as they are elsewhere.

    Each passage is embedded once for all rankings, in one batch: the first ``fetch_k`` hits of the
    question and the first ``judge_k`` of each perspective. What lies deeper, or has no vector,
    stays behind these in its old order.
    """
    same = list(rankings), [list(each) for each in keys]
    embedder, options = request.embedder, request.options
    if embedder is None or request.store.takes_vector or not rankings:
        return same
    try:
        yield from embed_queries(request, embedder, [each.query.text for each in rankings])
    except Exception as error:
        degrade("merge", "the queries could not be embedded", error)
        return same
    depths = [
        max(options.k, options.fetch_k if r.query.perspective is None else options.judge_k)
        for r in rankings
    ]
    heads: dict[str, Candidate] = {}
    for ranking, names, depth in zip(rankings, keys, depths, strict=True):
        for name, hit in zip(names[:depth], ranking.hits, strict=False):
            heads.setdefault(name, Candidate(hit.passage, 0.0, embedding=hit.embedding))
    # Of a long passage the piece counts that is nearest to the question.
    about = rankings[0].query.text
    if rankings[0].query.perspective is not None and request.question in request.vectors:
        about = request.question
    placed = yield from with_embeddings(
        request, list(heads.values()), request.vectors[about], about=about
    )
    rows = {n: c.embedding for n, c in zip(heads, placed, strict=True) if c.embedding is not None}
    ordered, names_in_order = [], []
    for ranking, names, depth in zip(rankings, keys, depths, strict=True):
        near = [i for i, name in enumerate(names[:depth]) if name in rows]
        if near:
            own = request.vectors[ranking.query.text][None, :]
            cosines = cosine(np.array([rows[names[i]] for i in near]), own)[:, 0]
            near = [near[i] for i in np.argsort(-cosines, kind="stable")]
        placed_here = set(near)
        places = [*near, *(i for i in range(len(names)) if i not in placed_here)]
        hits = tuple(
            replace(ranking.hits[i], embedding=rows.get(names[i], ranking.hits[i].embedding))
            for i in places
        )
        ordered.append(replace(ranking, hits=hits))
        names_in_order.append([names[i] for i in places])
    return ordered, names_in_order
