"""The coverage guard: fetches again for what is missing, within a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perspective_rag.coverage import swap_in, uncovered
from perspective_rag.flow import Flow, degrade
from perspective_rag.judging import BATCH, judge_best_first, places_due, support_matrix
from perspective_rag.merge import merge
from perspective_rag.protocols import Embedder, Judge, Store
from perspective_rag.request import Request
from perspective_rag.search import search_all
from perspective_rag.types import Candidate, Extraction, Perspective, Query


def guard(
    request: Request,
    store: Store,
    embedder: Embedder | None,
    judge: Judge,
    extraction: Extraction,
    candidates: Sequence[Candidate],
    chosen: Sequence[Candidate],
) -> Flow[list[Candidate]]:
    """The chosen candidates, after a second look for the perspectives they do not cover.

    First what a perspective's own query already found and nobody judged, ``judging.BATCH`` for each
    perspective still uncovered: where the store agrees with the wording of the question, the fused
    order buries it. Then each round searches once for every perspective still uncovered: in the
    words of the question and the perspective together, then in the words of the passage that came
    nearest to supporting it. New candidates are judged, ``judging.BATCH`` a search, and one that
    supports what is missing takes the place of the least useful one. Rounds end when everything is
    covered, no wording is left, or ``guard_searches`` or ``guard_seconds`` is spent.
    """
    options, perspectives = request.options, extraction.perspectives
    pool, result = list(candidates), list(chosen)
    asked = {query.text for query in request.recorder.queries}
    pool, result = yield from _found_unjudged(request, judge, perspectives, pool, result)
    budget = options.guard_searches
    while budget > 0 and request.elapsed < options.guard_seconds:
        open_columns = uncovered(
            support_matrix(result, perspectives), range(len(result)), request.threshold
        )
        queries = [
            query
            for column in open_columns
            if (query := _next_query(extraction, perspectives[column], pool, asked))
        ][:budget]
        if not queries:
            break
        budget -= len(queries)
        asked.update(query.text for query in queries)
        request.recorder.queries.extend(queries)
        known = {request.key(candidate.passage) for candidate in pool}
        try:
            rankings = yield from search_all(request, store, embedder, extraction, queries)
        except Exception as error:
            yield from degrade("guard", f"searching again failed: {error!r}", error)
            break
        new = [c for c in merge(rankings, key=request.key) if request.key(c.passage) not in known]
        judged = yield from judge_best_first(
            judge,
            perspectives,
            new,
            k=options.k,
            limit=BATCH * len(queries),
            threshold=request.threshold,
        )
        pool += judged
        free = max(options.k - len(result), 0)  # there were fewer candidates than places
        result, judged = [*result, *judged[:free]], judged[free:]
        result = _swapped(result, judged, perspectives, request.threshold)
    return result


def _found_unjudged(
    request: Request,
    judge: Judge,
    perspectives: Sequence[Perspective],
    pool: list[Candidate],
    chosen: list[Candidate],
) -> Flow[tuple[list[Candidate], list[Candidate]]]:
    """Pool and choice after judging the best that the missing perspectives' own queries found."""
    options = request.options
    if options.guard_searches == 0:
        return pool, chosen
    support = support_matrix(chosen, perspectives)
    waiting: dict[int, Candidate] = {}
    for column in uncovered(support, range(len(chosen)), request.threshold):
        own = perspectives[column].id
        wordings = {q.text for q in request.recorder.queries if q.perspective == own}
        found = [
            i for i, c in enumerate(pool) if not c.support and not wordings.isdisjoint(c.found_by)
        ]
        # In its own query's order: that of the question has buried what supports it.
        found.sort(key=lambda i: -pool[i].scores.get(f"search:{own}", -math.inf))
        waiting |= {i: pool[i] for i in found[:BATCH]}
    if not waiting:
        return pool, chosen
    judged = yield from judge_best_first(
        judge,
        perspectives,
        list(waiting.values()),
        k=options.k,
        limit=len(waiting),
        threshold=request.threshold,
    )
    for i, candidate in zip(waiting, judged, strict=True):
        pool[i] = candidate
    return pool, _swapped(chosen, judged, perspectives, request.threshold)


def _swapped(
    chosen: Sequence[Candidate],
    found: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    threshold: float,
) -> list[Candidate]:
    """The choice with a found candidate in place of the least useful one where it covers more."""
    every = [*chosen, *found]
    support = support_matrix(every, perspectives)
    due = places_due(perspectives, len(chosen))
    places = swap_in(range(len(chosen)), support, threshold, due)
    return [
        replace(every[i], score=old.score, scores={**every[i].scores, "selected": old.score})
        for i, old in zip(places, chosen, strict=True)
    ]


def _next_query(
    extraction: Extraction, perspective: Perspective, pool: Sequence[Candidate], asked: set[str]
) -> Query | None:
    """The next wording for a perspective that was not searched yet, or None."""
    nearest = max(pool, key=lambda c: c.support.get(perspective.id, 0.0), default=None)
    wordings = [f"{extraction.root} {perspective.text}"]
    if nearest is not None and nearest.support.get(perspective.id, 0.0) > 0.0:
        wordings.append(" ".join(nearest.passage.text.split()[:100]))
    return next((Query(text, perspective.id) for text in wordings if text not in asked), None)
