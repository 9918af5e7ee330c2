"""Queries to rankings: embed once, project by perspective, search everything at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perspective_rag.errors import CapabilityError, ConfigError, RetrievalError
from perspective_rag.flow.recording import degrade, note, stage
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Call, Flow, Reply
from perspective_rag.project.parts import Plain
from perspective_rag.protocols import Projected, Projection, Reranked
from perspective_rag.search.hits import CheckedSearch, Found
from perspective_rag.search.vectors import embed_queries, hits_with_embeddings
from perspective_rag.types import Extraction, Hit, Query, Vector
from perspective_rag.vectors import as_vector

_PLAIN = Plain()


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The hits of one query, best first."""

    query: Query
    hits: Sequence[Hit]


@stage
def search(
    request: Request, extraction: Extraction, queries: Sequence[Query]
) -> Flow[list[Ranking]]:
    """One ranking for each query that could be searched, in the order of the queries.

    The queries are embedded in one batch where the store searches by vector; the vector of a query
    for a perspective is projected. Searches that fail side by side are made again one after the
    other, as a store with a single connection wants it. One that fails then is recorded and left
    out; RetrievalError is raised when all of them fail.
    """
    store = request.store
    if store.takes_vector and request.embedder is not None:
        texts = [query.text for query in queries]
        for query in queries:
            texts += _projection_texts(request, extraction, query)
        try:
            yield from embed_queries(request, request.embedder, texts)
        except ConfigError:
            raise
        except Exception as error:
            raise RetrievalError(f"the queries could not be embedded: {error!r}") from error
    calls, projections, names = [], [], []
    for query in queries:
        projected = _projected(request, extraction, query)
        searched = store if projected is None or projected.store is None else projected.store
        checked = CheckedSearch(searched)
        depth = max(request.options.k, request.options.fetch_k)
        vector: Vector | None = None
        if projected is not None:
            vector, depth = projected.vector, max(depth, projected.fetch_k)
        wanted = {"k": depth, "filter": request.filter}
        calls.append(
            Call(
                "search",
                checked.search,
                (query.text, vector),
                wanted,
                checked.asearch,
                in_turn=bool(getattr(searched, "in_turn", False)),
                in_caller=bool(getattr(searched, "thread_bound", False)),
            )
        )
        projections.append(projected)
        names.append(checked.name)
    replies = yield calls
    replies = yield from _again(calls, replies)
    errors = [reply.error for reply in replies if reply.error is not None]
    if len(errors) == len(queries):
        raise RetrievalError(
            f"all {len(errors)} searches failed ({names[0]}); first: {errors[0]!r}"
        ) from errors[0]
    rankings = []
    for query, projected, name, reply in zip(queries, projections, names, replies, strict=True):
        if reply.error is None:
            found: Found = reply.value
            if found.unusable:
                problem = f"{name} returned {found.example} for a Hit: left out"
                degrade("search", f"{problem} ({found.unusable} for {query.text!r})")
            hits = found.hits
            if projected is not None and projected.store is not None:
                # Its vectors are projected: they compare with no others.
                hits = tuple(replace(hit, embedding=None) for hit in hits)
            ranking = Ranking(query, hits)
            rankings.append((yield from _reranked(request, ranking, projected)))
        else:
            degrade("search", f"the search for {query.text!r} failed", reply.error)
    return rankings


def _again(calls: Sequence[Call], replies: Sequence[Reply]) -> Flow[list[Reply]]:
    """The replies, after the searches that failed side by side were made again by themselves.

    Not those that took too long or can never work; where none has worked, the first alone tells.
    """
    result = list(replies)
    if len(calls) == 1 or any(step.in_turn or step.in_caller for step in calls):
        return result
    failed = [
        index
        for index, reply in enumerate(replies)
        if reply.error is not None and not isinstance(reply.error, _NOT_AGAIN)
    ]
    if len(failed) == len(calls):
        first = failed.pop(0)
        (result[first],) = yield [calls[first]]
        if result[first].error is not None:
            return result
    if not failed:
        return result
    again = yield [replace(calls[index], in_turn=True, again=True) for index in failed]
    for index, reply in zip(failed, again, strict=True):
        result[index] = reply
    repeated = sum(reply.error is None for reply in result) - sum(r.error is None for r in replies)
    if repeated:
        reason = "searches that failed side by side worked one after the other"
        note(decision={"stage": "search", "again": repeated, "reason": reason})
    return result


_NOT_AGAIN = (TimeoutError, CapabilityError, ConfigError, NotImplementedError)


def _projection(request: Request, query: Query) -> Projection:
    return request.projection if query.perspective is not None else _PLAIN


def _projection_texts(request: Request, extraction: Extraction, query: Query) -> list[str]:
    """The further texts whose vectors the query's projection needs; none where it fails."""
    projection = _projection(request, query)
    try:
        texts = list(projection.texts(query, extraction))
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"expected texts, got {texts!r:.200}")
        return texts
    except Exception as error:
        degrade("project", f"{_named(projection)} asked for no texts: {error!r}", error)
        return []


def _projected(request: Request, extraction: Extraction, query: Query) -> Projected | None:
    """The query's vector as its perspective changes it, its own where the projection fails; None
    where the store searches by text.
    """
    own = request.vectors.get(query.text)
    if own is None:
        return None
    projection = _projection(request, query)
    try:
        projected = projection.query_vector(query, extraction, request.vectors)
        vector = as_vector(projected.vector, f"the vector of {_named(projection)}", size=own.size)
    except Exception as error:
        problem = f"{_named(projection)} failed, {query.text!r} is searched as it is: {error!r}"
        degrade("project", problem, error)
        return Projected(own)
    if projected.problem:
        degrade("project", f"{projected.problem} (query {query.text!r})")
    return replace(projected, vector=vector)


def _reranked(request: Request, ranking: Ranking, projected: Projected | None) -> Flow[Ranking]:
    """The ranking in the exact order of its projection, without a further search.

    The store is asked for the vectors of hits that came without. Hits that have none stay behind
    the others in their old order, without a score. A projection that fails changes no order.
    """
    if projected is None or not projected.reranks:
        return ranking
    hits = yield from hits_with_embeddings(request, ranking.hits)
    known = [hit for hit in hits if hit.embedding is not None]
    width = len(projected.vector)
    rows = np.array([hit.embedding for hit in known]).reshape(len(known), width)
    ordered: Sequence[Hit] = ranking.hits
    try:
        outcome = request.projection.rerank(projected, rows)
        if outcome.scores is not None:
            ordered = _by_score(hits, known, outcome.scores)
    except Exception as error:
        problem = f"{_named(request.projection)} failed, the order of the search stays: {error!r}"
        degrade("project", problem, error)
        outcome = Reranked(None)
    if outcome.decision is not None:
        decision = {"stage": "project", "query": ranking.query.text, **outcome.decision}
        note(decision=decision)
    return replace(ranking, hits=tuple(ordered[: max(request.options.k, request.options.fetch_k)]))


def _by_score(hits: Sequence[Hit], known: Sequence[Hit], given: Vector) -> list[Hit]:
    scores = as_vector(given, "the scores", size=len(known))
    best = [replace(known[i], score=float(scores[i])) for i in np.argsort(-scores, kind="stable")]
    return [*best, *(replace(hit, score=None) for hit in hits if hit.embedding is None)]


def _named(projection: Projection) -> str:
    return f"projection {type(projection).__name__}"
