"""The coverage guard: a second search for what is missing, in words that the first did not use."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from perspective_rag.cover.select import select
from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.flow.request import Request, degrade, note, stage
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import (
    BATCH,
    coverage_of,
    is_judged,
    judge_within,
    judgements_left,
    related_to,
    rule_of,
)
from perspective_rag.search.candidates import merge, with_names, with_relevance
from perspective_rag.search.search import Ranking, search
from perspective_rag.text import topic_words, words
from perspective_rag.types import Candidate, Extraction, Perspective, Query, RetrievalResult

_LEAST_LETTERS = 4


def feedback_terms(
    texts: Sequence[str], weights: Sequence[float], *, known: str, count: int = 10
) -> list[str]:
    """At most ``count`` words that tell the weighty texts from all of them, the most telling first.

    A word's value is p(w | weighty) log(p(w | weighty) / p(w | all)): the relevance model of
    Lavrenko and Croft (SIGIR 2001; RM3 adds its words to the query) with P(support) for the
    relevance of a text, less what every text about the question says (the divergence of Carpineto
    et al., TOIS 2001). Words that begin like one of ``known``, what was already searched for, short
    ones and numbers are left out. ``weights`` are at least 0; where none is above, there are no
    words. Linear in the words of the texts.
    """
    total = sum(weights)
    if not total > 0.0:
        return []
    weighty: defaultdict[str, float] = defaultdict(float)
    everywhere: defaultdict[str, float] = defaultdict(float)
    for text, weight in zip(texts, weights, strict=True):
        told = [word for word in words(text) if len(word) >= _LEAST_LETTERS and word.isalpha()]
        for word, number in Counter(told).items():
            weighty[word] += weight / total * number / len(told)
            everywhere[word] += number / len(told) / len(texts)
    searched = {_beginning(word) for word in words(known)}
    values = {
        word: share * math.log(share / everywhere[word])
        for word, share in weighty.items()
        if share > everywhere[word] and _beginning(word) not in searched and topic_words(word)
    }
    return sorted(values, key=lambda word: (-values[word], word))[:count]


def _beginning(word: str) -> str:
    return word[:5]  # "tax", "taxes"; "ban", "banned": one word to a search that reads stems


_WORDS = 100
"""Of a passage that is searched with."""
_LEAST_SUPPORT = 0.1
"""P(support) below which a passage does not say what a perspective's arguments are."""


@dataclass(slots=True)
class _State:
    """What the guard knows: every candidate by its key, the chosen ones, and the texts searched
    for.
    """

    pool: dict[str, Candidate]
    chosen: list[Candidate]
    searched: set[str] = field(default_factory=set)


@stage
def guard(
    request: Request,
    extraction: Extraction,
    queries: Sequence[Query],
    candidates: Sequence[Candidate],
    chosen: Sequence[Candidate],
) -> Flow[list[Candidate]]:
    """Looks again for the perspectives that the chosen candidates do not cover.

    First it judges what a perspective's own query already found and nobody judged, one batch for
    each uncovered perspective. Then each round searches once for every perspective still uncovered,
    in words not searched for yet, and judges one batch of the new passages for each search. After
    each step k are chosen again from all that was judged: a find has the same chance as any other
    passage, and what plain search returns keeps its places as before.

    Rounds end when everything is covered, no wording is left, or ``guard_searches``,
    ``guard_seconds`` or ``max_queries`` is spent, and, with a judge that reads lists, when
    ``judge_k`` candidates were judged.

    Args:
        request: The question and its options.
        extraction: The perspectives.
        queries: What was searched for.
        candidates: All candidates.
        chosen: Those that were chosen.

    Returns:
        At most k candidates; ``chosen`` where nothing better was found.
    """
    options = request.options
    if options.judge_k == 0 or not is_judged(request, extraction):
        return list(chosen)
    keys = request.keys([c.passage for c in candidates])
    own = request.keys([c.passage for c in chosen])
    about = related_to(request, candidates)
    if about is not None and not about.any():
        return list(chosen)
    pool = dict(zip(keys, candidates, strict=True)) | dict(zip(own, chosen, strict=True))
    state = _State(pool, list(chosen), {query.text for query in queries})
    if options.guard_searches > 0:
        yield from _judge_found(request, extraction, queries, state)
    budget = min(options.guard_searches, options.max_queries - len(queries))
    while budget > 0 and request.elapsed < options.guard_seconds and _may_judge(request, state):
        further = _next_queries(request, extraction, state)[:budget]
        if not further:
            break
        budget -= len(further)
        state.searched.update(query.text for query in further)
        note(queries=further)
        try:
            rankings = yield from search(request, extraction, further)
        except Exception as error:
            degrade("guard", f"searching again failed: {error!r}", error)
            break
        yield from _judge_new(request, extraction, rankings, state)
    return state.chosen


def _judge_found(
    request: Request,
    extraction: Extraction,
    queries: Sequence[Query],
    state: _State,
) -> Flow[None]:
    """Judges the best that the uncovered perspectives' queries found, and chooses again."""
    waiting: dict[str, Candidate] = {}
    for perspective in _lacking(request, extraction, state):
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
    """Judges what a further search found for the first time, and chooses again."""
    merged = yield from merge(request, rankings, fusion="seats")
    merged = yield from with_relevance(request, extraction.root, merged)
    merged = with_names(extraction.root, merged)
    keys = request.keys([c.passage for c in merged])
    new = {key: c for key, c in zip(keys, merged, strict=True) if key not in state.pool}
    if new:
        yield from _judge(request, extraction, new, BATCH * len(rankings), state)


def _judge(
    request: Request,
    extraction: Extraction,
    candidates: dict[str, Candidate],
    limit: int,
    state: _State,
) -> Flow[None]:
    left = judgements_left(request, state.pool.values())
    limit = limit if left is None else min(limit, left)
    judged = yield from judge_within(
        request, extraction, list(candidates.values()), limit, beside=list(state.pool.values())
    )
    state.pool |= dict(zip(candidates, judged, strict=True))
    state.chosen = select(request, extraction, list(state.pool.values()))


def _may_judge(request: Request, state: _State) -> bool:
    return judgements_left(request, state.pool.values()) != 0


def _lacking(request: Request, extraction: Extraction, state: _State) -> list[Perspective]:
    covered = coverage_of(
        state.chosen,
        extraction.perspectives,
        rule_of(request, extraction),
        exclusive=extraction.exclusive,
    ).covered
    return [perspective for perspective in extraction.perspectives if perspective not in covered]


def _next_queries(request: Request, extraction: Extraction, state: _State) -> list[Query]:
    """For each uncovered perspective the next wording that was not searched yet, if any."""
    found = []
    for perspective in _lacking(request, extraction, state):
        wordings = _wordings(request, extraction, perspective, state)
        text = next((text for text in wordings if text not in state.searched), None)
        if text is not None:
            found.append(Query(text, perspective.id))
    return found


def _wordings(
    request: Request, extraction: Extraction, perspective: Perspective, state: _State
) -> list[str]:
    """What to search for where a perspective is missing, best first.

    Where the store searches by text: the statement with the words that tell the passages which
    speak for it most from all others, none of which the question or the statement has
    (``feedback_terms``). Where it searches by vector: the passage that speaks for it most. Then the
    other of these, and the question and the statement together.
    """
    judged = [each for each in state.pool.values() if each.support]
    support = [each.support.get(perspective.id, 0.0) for each in judged]
    asked = f"{extraction.root} {perspective.text}"
    wordings = [asked]
    if max(support, default=0.0) >= _LEAST_SUPPORT:
        nearest = judged[support.index(max(support))].passage.text
        wordings.insert(0, " ".join(nearest.split(None, _WORDS)[:_WORDS]))
        terms = feedback_terms([c.passage.text for c in judged], _telling(support), known=asked)
        if terms:
            told = f"{perspective.text} {' '.join(terms)}"
            wordings.insert(1 if request.store.takes_vector else 0, told)
    return wordings


def _telling(support: Sequence[float]) -> list[float]:
    """By how much each P(support) is above the mean."""
    mean = sum(support) / len(support)
    return [max(each - mean, 0.0) for each in support]


class CoverageError(PerspectiveRAGError):
    """Under ``coverage="require"``, a perspective stayed uncovered or was not judged.

    Args:
        message: Which perspectives are missing.
        result: What was found all the same.
    """

    def __init__(self, message: str, *, result: RetrievalResult) -> None:
        super().__init__(message)
        self.result = result


def require_coverage(result: RetrievalResult) -> None:
    """Raises CoverageError where a perspective of the result is missing or was not judged."""
    coverage = result.coverage
    if not result.perspectives or coverage.complete:
        return
    lacking = (*coverage.missing, *coverage.unjudged)
    texts = "; ".join(perspective.text for perspective in lacking)
    problem = f"no passage was found that supports: {texts}"
    if result.says_nothing:
        problem = f"no passage is about the question; {problem}"
    raise CoverageError(problem, result=result)
