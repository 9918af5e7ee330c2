"""The choice of k candidates: by a selector, from what is known of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.flow.request import Request, degrade, stage
from perspective_rag.judge.support import (
    is_judged,
    listed,
    quotas,
    rule_of,
    support_matrix,
)
from perspective_rag.maths.ranking import plain_first
from perspective_rag.maths.vectors import cosine, first_copies, overlaps
from perspective_rag.options import PipelineOptions
from perspective_rag.protocols import Selector
from perspective_rag.types import (
    Candidate,
    Choice,
    Extraction,
    ListingRule,
    Matrix,
    Perspective,
    Selection,
    Vector,
    source_of,
)


@stage
def select(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Chooses k passages by the request's selector.

    Where that fails, the trace records it and ``PlainFirst`` chooses. Where nothing was judged, the
    order of the candidates decides.

    Args:
        request: The question, its options and the selector.
        extraction: The perspectives.
        candidates: Candidates, best first.

    Returns:
        At most k candidates, in the order to show them.
    """
    if request.selector is not None:
        try:
            return _select_by(request.selector, request, extraction, candidates)
        except Exception as error:
            name = type(request.selector).__name__
            degrade("select", f"selector {name} failed, the default chose", error)
    return _select_by(PlainFirst(), request, extraction, candidates)


def _select_by(
    selector: Selector, request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> list[Candidate]:
    return choose(
        candidates,
        extraction.perspectives if is_judged(request, extraction) else (),
        request.options,
        rule=rule_of(request, extraction),
        exclusive=extraction.exclusive,
        plain=not extraction.perspectives,
        selector=selector,
        vectors=request.vectors,
    )


def choose(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    options: PipelineOptions,
    *,
    rule: ListingRule,
    exclusive: bool = False,
    plain: bool = False,
    selector: Selector | None = None,
    vectors: Mapping[str, Vector] | None = None,
) -> list[Candidate]:
    """min(k, n) of n candidates, best first.

    Without perspectives: the first k, in their order. With perspectives: what ``selector`` chooses
    (None: ``PlainFirst``), to which a passage that repeats another is not shown; it takes a place
    only where nothing else is left. ``max_per_source``: at most this many of one source, the next
    best in place of the others; fewer than k where nothing else is left. ``plain``: no perspectives
    were asked for, and the first k are those of a plain search, copies too. ``vectors`` holds those
    of the perspectives' texts, where they are known.
    """
    sources = [source_of(each.passage) for each in candidates]
    if plain:
        kept = _within_limit(sources, options.max_per_source)
        return [candidates[i] for i in kept[: options.k]]
    if not perspectives or not candidates:
        return _first_k(candidates, sources, options)
    chooser = selector or PlainFirst()
    first = _copies(candidates)
    pool = [i for i, same in enumerate(first) if i == same]
    while True:
        given = _choice_of(
            [candidates[i] for i in pool], perspectives, options, rule, exclusive, vectors or {}
        )
        picked = _check(chooser.select(given, options.k), chooser, len(pool))
        chosen = [pool[i] for i in picked.indices]
        kept = _within_limit([sources[i] for i in chosen], options.max_per_source)
        if len(kept) == len(chosen):
            break
        # A source with more than its share stays with its first ones; the choice is made again.
        crowded = {sources[i] for place, i in enumerate(chosen) if place not in set(kept)}
        held = {chosen[place] for place in kept}
        pool = [i for i in pool if sources[i] not in crowded or i in held]
    order = [*chosen, *(i for i in range(len(candidates)) if i not in set(pool) and first[i] != i)]
    kept = _within_limit([sources[i] for i in order], options.max_per_source)
    filled = [order[place] for place in kept][: options.k]
    scores = list(picked.scores) or [0.0]
    scores = [*scores, *[scores[-1]] * (len(filled) - len(scores))]
    return [
        replace(candidates[i], score=value, scores={**candidates[i].scores, "selected": value})
        for i, value in zip(filled, scores, strict=False)
    ]


def _within_limit(groups: Sequence[Hashable], limit: int | None) -> list[int]:
    """The places of the first ``limit`` members of each group, in order; None keeps all."""
    seen: Counter[Hashable] = Counter()
    kept = []
    for place, group in enumerate(groups):
        seen[group] += 1
        if limit is None or seen[group] <= limit:
            kept.append(place)
    return kept


def _check(picked: Selection, selector: Selector, available: int) -> Selection:
    """The selection, if it is one; raises ConfigError that names the selector for others."""
    places = getattr(picked, "indices", None)
    if (
        places is None
        or len(set(places)) != len(places)
        or len(picked.scores) != len(places)
        or not all(0 <= i < available for i in places)
    ):
        raise ConfigError(
            f"selector {type(selector).__name__} returned {picked!r:.200}; expected a Selection "
            f"with a score for each of its indices, which are different and below {available}"
        )
    return picked


def _choice_of(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    options: PipelineOptions,
    rule: ListingRule,
    exclusive: bool,
    vectors: Mapping[str, Vector],
) -> Choice:
    """The candidates, in their order, as arrays for a selector."""
    rows = _embeddings(candidates)
    return Choice(
        relevance=1.0 / np.log2(np.arange(2, len(candidates) + 2)),
        support=support_matrix(candidates, perspectives),
        listed=listed(candidates, perspectives, rule, exclusive=exclusive),
        quotas=quotas(perspectives, options.k),
        weights=np.array([perspective.weight for perspective in perspectives]),
        plain=_plain_places(candidates),
        overlaps=overlaps([each.passage.text for each in candidates]),
        cosines=np.array([each.scores.get("relevance", np.nan) for each in candidates]),
        nearness=_nearness(rows, [vectors.get(each.text) for each in perspectives]),
        embeddings=None if np.isnan(rows).all() else rows,
        coverage_weight=options.coverage_weight,
    )


def _plain_places(candidates: Sequence[Candidate]) -> Vector:
    """The places in the plain ranking, from 1 on; where no candidate has one, as they stand."""
    shares = np.array([each.scores.get("plain", 0.0) for each in candidates])
    if not shares.any():
        return np.arange(1.0, len(candidates) + 1)
    places: Vector = np.divide(1.0, shares, out=np.full(len(shares), np.inf), where=shares > 0.0)
    return places


def _copies(candidates: Sequence[Candidate]) -> list[int]:
    """For each candidate the one that it repeats, its own place where it repeats none: what plain
    search has first is the original.
    """
    order = np.argsort(_plain_places(candidates), kind="stable").tolist()
    first = first_copies([candidates[i].passage.text for i in order])
    result = list(range(len(candidates)))
    for place, same in zip(order, first, strict=True):
        result[place] = order[same]
    return result


def _embeddings(candidates: Sequence[Candidate]) -> Matrix:
    """Shape (n, d), NaN where a vector is not known; (n, 1) of NaN where none is."""
    known = [each.embedding for each in candidates if each.embedding is not None]
    width = len(known[0]) if known else 1
    none = np.full(width, np.nan)
    rows = [
        none if each.embedding is None or len(each.embedding) != width else each.embedding
        for each in candidates
    ]
    return np.array(rows, dtype=float).reshape(len(candidates), width)


def _nearness(rows: Matrix, sides: Sequence[Vector | None]) -> Matrix:
    """The cosine of each row to each side, shape (n, m), NaN where either is not known."""
    result = np.full((len(rows), len(sides)), np.nan)
    known = ~np.isnan(rows).any(axis=1)
    for column, side in enumerate(sides):
        if side is not None and len(side) == rows.shape[1] and known.any():
            result[known, column] = cosine(rows[known], np.asarray(side)[None, :])[:, 0]
    return result


def _first_k(
    candidates: Sequence[Candidate], sources: Sequence[Hashable], options: PipelineOptions
) -> list[Candidate]:
    """The first k in their order; only as many are compared as it takes to fill the places."""
    looked_at = 2 * options.k
    while True:
        first = first_copies([each.passage.text for each in candidates[:looked_at]])
        fresh = [i for i, same in enumerate(first) if i == same]
        kept = _within_limit([sources[i] for i in fresh], options.max_per_source)
        if len(kept) >= options.k or looked_at >= len(candidates):
            break
        looked_at *= 2
    order = [*fresh, *(i for i, same in enumerate(first) if i != same)]
    kept = _within_limit([sources[i] for i in order], options.max_per_source)
    return [candidates[order[place]] for place in kept[: options.k]]


@dataclass(frozen=True, slots=True)
class PlainFirst:
    """The default: what plain search returns, exchanged where that covers more.

    The best exchange is made first, as long as one makes it more probable that the k cover every
    perspective, against 1 / log2(1 + place in plain search) as relevance; at most half of the k
    give their places to others (``maths.ranking.plain_first``). Then candidates come in that are
    listed under a perspective short of its quota. Where plain search is one-sided, each perspective
    that it lacks has a quota of k / m (rounded down): one passage against four would still lean the
    way the search does.
    """

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses, with 1 - ``coverage_weight`` as the weight of relevance.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates; their scores never rise.
        """
        picked = plain_first(
            choice.support,
            k,
            plain=choice.plain,
            relevance_weight=1.0 - choice.coverage_weight,
            weights=choice.weights,
            overlaps=choice.overlaps,
        )
        # One that comes in has the score of the place it takes, so that scores never rise.
        wanted = _quotas_where_one_sided(choice, k)
        chosen = repair(picked.indices, choice.listed, choice.support, wanted)
        return Selection(tuple(chosen), tuple(picked.scores))


def _quotas_where_one_sided(choice: Choice, k: int) -> list[int]:
    """The quotas, raised to k / m for what none of plain search's first k is listed under, while
    one of them is listed under another perspective.
    """
    shown = choice.listed[choice.plain_order()[:k]]
    found = [bool(shown[:, side].any()) for side in range(shown.shape[1])]
    share = k // len(found) if any(found) else 0
    return [
        own if there else max(own, share) for own, there in zip(choice.quotas, found, strict=True)
    ]


def repair(
    chosen: Sequence[int],
    listed: NDArray[np.bool_],
    support: Matrix,
    quotas: Sequence[int] | None = None,
) -> list[int]:
    """The choice after candidates were swapped until each perspective meets its quota.

    ``chosen`` are rows of ``listed`` and ``support`` (n, m), most useful first: which candidate is
    listed under which perspective, and P(support). ``quotas`` are counts for the m columns (None: 1
    each). The listed candidate with the best support takes the place of the last chosen one
    whose loss leaves no perspective short. When every chosen one is needed (quotas above the number
    of places) the choice is left as it is.
    """
    result = list(chosen)
    wanted = np.ones(support.shape[1], dtype=int) if quotas is None else np.asarray(quotas)
    for column in np.argsort(listed[result].sum(axis=0) - wanted, kind="stable").tolist():
        others = [i for i in np.flatnonzero(listed[:, column]).tolist() if i not in result]
        others.sort(key=lambda i: -support[i, column])
        short = int(wanted[column] - listed[result, column].sum())
        for best in others[: max(short, 0)]:
            place = _least_useful(listed[result], wanted)
            if place is None:
                break
            result[place] = best
    return result


def _least_useful(covers: NDArray[np.bool_], wanted: NDArray[np.int_]) -> int | None:
    needed = covers.sum(axis=0) <= wanted
    for place in reversed(range(len(covers))):
        if not (covers[place] & needed).any():
            return place
    return None


def check_chosen(request: Request, chosen: Sequence[Candidate]) -> list[Candidate]:
    """The chosen candidates: none twice, at most k, each one that was found.

    A step that breaks this is at fault: what it chose too much is left out and recorded.
    """
    keys = request.keys([candidate.passage for candidate in chosen])
    first = dict(zip(reversed(keys), reversed(chosen), strict=True))
    kept = [first.pop(key) for key in keys if key in first and key in request.found]
    kept = kept[: request.options.k]
    if len(kept) < len(chosen):
        problem = "passages chosen twice, never found or beyond k were left out"
        request.recorder.degrade("select", f"{len(chosen) - len(kept)} of {len(chosen)} {problem}")
    return kept
