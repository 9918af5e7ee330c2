"""The coverage guard: a second look for what is missing, within a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow, aside, degrade, note
from perspective_rag.judge.best_first import BATCH, is_judged, judge_within, rule_of
from perspective_rag.judge.support import coverage_of, quotas, related
from perspective_rag.merge.merge import merge
from perspective_rag.rank.relevance import rank_by_relevance
from perspective_rag.results import Coverage
from perspective_rag.search.search import Ranking, search
from perspective_rag.select.near_duplicates import first_copies
from perspective_rag.select.repair import repair
from perspective_rag.select.sources import source_of, within_limit
from perspective_rag.types import Candidate, Extraction, Perspective, Query


@dataclass(slots=True)
class _State:
    """What the guard knows: every candidate by its key, the chosen keys in order, and the texts
    searched for.
    """

    pool: dict[str, Candidate]
    chosen: list[str]
    searched: set[str] = field(default_factory=set)

    @property
    def result(self) -> list[Candidate]:
        return [self.pool[key] for key in self.chosen]


def guard(
    request: Request,
    extraction: Extraction,
    queries: Sequence[Query],
    candidates: Sequence[Candidate],
    chosen: Sequence[Candidate],
) -> Flow[list[Candidate]]:
    """The chosen candidates, after a second look for the perspectives they do not cover.

    First what a perspective's own query already found and nobody judged, ``BATCH`` for each
    perspective still uncovered: where the store agrees with the wording of the question, the fused
    order buries it. Then each round searches once for every perspective still uncovered: in the
    words of the question and the perspective together, then in the words of the passage that came
    nearest to supporting it, within what ``max_queries`` leaves. New candidates are judged,
    ``BATCH`` a search, and one that supports what is missing takes the place of the least useful
    one. Rounds end when everything is covered, no wording is left, or ``guard_searches`` or
    ``guard_seconds`` is spent. No passage is chosen twice.
    """
    options = request.options
    if options.judge_k == 0 or not is_judged(request, extraction):
        return list(chosen)
    keys = yield from request.keys([c.passage for c in candidates])
    own = yield from request.keys([c.passage for c in chosen])
    if request.floor is not None and not related(candidates, request.floor).any():
        return list(chosen)
    pool = dict(zip(keys, candidates, strict=True)) | dict(zip(own, chosen, strict=True))
    state = _State(pool, own, {query.text for query in queries})
    if options.guard_searches > 0:
        yield from _judge_found(request, extraction, queries, state)
    budget = min(options.guard_searches, options.max_queries - len(queries))
    while budget > 0 and request.elapsed < options.guard_seconds:
        further = _next_queries(request, extraction, state)[:budget]
        if not further:
            break
        budget -= len(further)
        state.searched.update(query.text for query in further)
        yield from note(queries=further)
        try:
            rankings = yield from search(request, extraction, further)
        except Exception as error:
            yield from degrade("guard", f"searching again failed: {error!r}", error)
            break
        yield from _judge_new(request, extraction, rankings, state)
    return state.result


def _judge_found(
    request: Request,
    extraction: Extraction,
    queries: Sequence[Query],
    state: _State,
) -> Flow[None]:
    """Judges the best that the uncovered perspectives' queries found, and repairs the choice."""
    waiting: dict[str, Candidate] = {}
    for perspective in _uncovered(request, extraction, state):
        wordings = {query.text for query in queries if query.perspective == perspective.id}
        found = [
            key
            for key, c in state.pool.items()
            if not c.support and not wordings.isdisjoint(c.found_by)
        ]
        # In its own query's order: that of the question has buried what supports it.
        name = f"search:{perspective.id}"
        found.sort(key=lambda key: -state.pool[key].scores.get(name, -math.inf))
        waiting |= {key: state.pool[key] for key in found[:BATCH]}
    if waiting:
        yield from _judge(request, extraction, waiting, len(waiting), state)


def _judge_new(
    request: Request,
    extraction: Extraction,
    rankings: Sequence[Ranking],
    state: _State,
) -> Flow[None]:
    """Judges what a further search found for the first time, and repairs the choice."""
    merged = yield from merge(request, rankings)
    merged = yield from rank_by_relevance(request, extraction.root, merged)
    keys = yield from request.keys([c.passage for c in merged])
    new = {key: c for key, c in zip(keys, merged, strict=True) if key not in state.pool}
    limit = BATCH * len(rankings)
    free = max(request.options.k - len(state.chosen), 0)  # fewer candidates than places so far
    state.pool |= new
    allowed = yield from _allowed(request, new, state, copies=True)
    state.chosen += allowed[len(state.chosen) :][:free]
    yield from _judge(request, extraction, new, limit, state)


def _judge(
    request: Request,
    extraction: Extraction,
    candidates: dict[str, Candidate],
    limit: int,
    state: _State,
) -> Flow[None]:
    judged = yield from judge_within(request, extraction, list(candidates.values()), limit)
    found = dict(zip(candidates, judged, strict=True))
    state.pool |= found
    yield from _repair(request, extraction, found, state)


def _repair(
    request: Request, extraction: Extraction, found: dict[str, Candidate], state: _State
) -> Flow[None]:
    """Puts a found candidate in the place of the least useful one where it covers more."""
    keys = yield from _allowed(request, found, state)
    before = state.result
    coverage = _coverage(request, extraction, [state.pool[key] for key in keys])
    wanted = quotas(extraction.perspectives, len(before))
    places = repair(range(len(before)), coverage.listed, coverage.support, wanted)
    state.chosen = [keys[i] for i in places]
    for key, old in zip(state.chosen, before, strict=True):
        new = state.pool[key]
        scores = {**new.scores, "selected": old.score}
        state.pool[key] = replace(new, score=old.score, scores=scores)


def _allowed(
    request: Request, found: Mapping[str, Candidate], state: _State, *, copies: bool = False
) -> Flow[list[str]]:
    """The chosen keys and those found, of one source no more than the options allow.

    What repeats another passage is left out, or with ``copies`` comes last.
    """
    keys = [*state.chosen, *(key for key in found if key not in state.chosen)]
    pool, held = state.pool | dict(found), len(state.chosen)
    texts = [pool[key].passage.text for key in keys]
    first = yield from aside(sum(map(len, texts)), first_copies, texts)
    repeats = [key for i, key in enumerate(keys) if i >= held and first[i] != i]
    fresh = [key for i, key in enumerate(keys) if i < held or first[i] == i]
    keys = [*fresh, *repeats] if copies else fresh
    sources = [source_of(pool[key].passage) for key in keys]
    return [keys[place] for place in within_limit(sources, request.options.max_per_source)]


def _uncovered(request: Request, extraction: Extraction, state: _State) -> list[Perspective]:
    covered = _coverage(request, extraction, state.result).covered
    return [perspective for perspective in extraction.perspectives if perspective not in covered]


def _coverage(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> Coverage:
    return coverage_of(
        candidates,
        extraction.perspectives,
        rule_of(request, extraction),
        exclusive=extraction.exclusive,
    )


def _next_queries(request: Request, extraction: Extraction, state: _State) -> list[Query]:
    """For each uncovered perspective the next wording that was not searched yet, if any."""
    found = []
    for perspective in _uncovered(request, extraction, state):
        wordings = [f"{extraction.root} {perspective.text}"]
        nearest = max(
            state.pool.values(), key=lambda c: c.support.get(perspective.id, 0.0), default=None
        )
        if nearest is not None and nearest.support.get(perspective.id, 0.0) > 0.0:
            wordings.append(" ".join(nearest.passage.text.split(None, 100)[:100]))
        text = next((text for text in wordings if text not in state.searched), None)
        if text is not None:
            found.append(Query(text, perspective.id))
    return found
