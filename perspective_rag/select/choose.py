"""The choice of k passages from ordered, judged candidates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.flow.request import Request
from perspective_rag.judge.best_first import is_judged, rule_of, stance_asked
from perspective_rag.judge.support import listed, quotas, support_matrix
from perspective_rag.listing import ListingRule
from perspective_rag.options import PipelineOptions
from perspective_rag.select.joint_coverage import joint_coverage
from perspective_rag.select.near_duplicates import first_copies
from perspective_rag.select.repair import repair
from perspective_rag.select.sources import source_of, within_limit
from perspective_rag.types import Candidate, Extraction, Perspective


def select(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """k passages, by relevance and by what they add to the coverage.

    In the order of the candidates where nothing was judged, and where a reranking by stance has put
    first what the question asks for.
    """
    perspectives = extraction.perspectives
    by_stance = request.options.rerank == "stance" and stance_asked(extraction) is not None
    if by_stance or not is_judged(request, extraction):
        perspectives = ()
    return choose(
        candidates,
        perspectives,
        request.options,
        rule=rule_of(request, extraction),
        exclusive=extraction.exclusive,
        plain=not extraction.perspectives,
    )


def choose(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    options: PipelineOptions,
    *,
    rule: ListingRule,
    exclusive: bool = False,
    plain: bool = False,
) -> list[Candidate]:
    """min(k, n) of n candidates, best first.

    Without perspectives: the first k, in their order. With perspectives: the set that is best by
    relevance (their place in the order) and by the probability that it covers every perspective,
    ``coverage_weight`` apart; then the set is repaired until each perspective meets its quota. What
    repeats another passage takes a place only where nothing else is left. ``max_per_source``: at
    most this many of one source, the next best in place of the others; fewer than k where nothing
    else is left. ``plain``: no perspectives were asked for, and the first k are those of a plain
    search, copies too.
    """
    sources = [source_of(each.passage) for each in candidates]
    if plain:
        kept = within_limit(sources, options.max_per_source)
        return [candidates[i] for i in kept[: options.k]]
    if not perspectives or not candidates:
        return _first_k(candidates, sources, options)
    first = first_copies([each.passage.text for each in candidates])
    pool = [i for i, same in enumerate(first) if i == same]
    while True:
        chosen, scores = _best(
            [candidates[i] for i in pool], perspectives, options, rule, exclusive
        )
        chosen = [pool[i] for i in chosen]
        kept = within_limit([sources[i] for i in chosen], options.max_per_source)
        if len(kept) == len(chosen):
            break
        # A source with more than its share stays with its first ones; the choice is made again.
        crowded = {sources[i] for place, i in enumerate(chosen) if place not in set(kept)}
        held = {chosen[place] for place in kept}
        pool = [i for i in pool if sources[i] not in crowded or i in held]
    order = [*chosen, *(i for i in range(len(candidates)) if i not in set(pool) and first[i] != i)]
    kept = within_limit([sources[i] for i in order], options.max_per_source)
    filled = [order[place] for place in kept][: options.k]
    scores = [*scores, *[scores[-1]] * (len(filled) - len(scores))]
    # One that was swapped in stands on the value of the place it took, so that scores never rise.
    return [
        replace(candidates[i], score=value, scores={**candidates[i].scores, "selected": value})
        for i, value in zip(filled, scores, strict=True)
    ]


def _first_k(
    candidates: Sequence[Candidate], sources: Sequence[Hashable], options: PipelineOptions
) -> list[Candidate]:
    """The first k in their order; only as many are compared as it takes to fill the places."""
    looked_at = 2 * options.k
    while True:
        first = first_copies([each.passage.text for each in candidates[:looked_at]])
        fresh = [i for i, same in enumerate(first) if i == same]
        kept = within_limit([sources[i] for i in fresh], options.max_per_source)
        if len(kept) >= options.k or looked_at >= len(candidates):
            break
        looked_at *= 2
    order = [*fresh, *(i for i, same in enumerate(first) if i != same)]
    kept = within_limit([sources[i] for i in order], options.max_per_source)
    return [candidates[order[place]] for place in kept[: options.k]]


def _best(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    options: PipelineOptions,
    rule: ListingRule,
    exclusive: bool,
) -> tuple[list[int], list[float]]:
    """The places of the best set, repaired, and what each place is worth."""
    support = support_matrix(candidates, perspectives)
    picked = joint_coverage(
        1.0 / np.log2(np.arange(2, len(candidates) + 2)),
        support,
        options.k,
        relevance_weight=1.0 - options.coverage_weight,
        weights=[perspective.weight for perspective in perspectives],
    )
    shown = listed(candidates, perspectives, rule, exclusive=exclusive)
    chosen = repair(picked.indices, shown, support, quotas(perspectives, options.k))
    return chosen, list(picked.scores)
