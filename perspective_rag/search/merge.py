"""Rankings of several queries into one list of candidates, each query with its own seats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow
from perspective_rag.flow.trace import degrade, note, stage
from perspective_rag.identity import passage_key
from perspective_rag.maths.fusion import reciprocal_rank_fusion, round_robin, seats
from perspective_rag.maths.vectors import cosine
from perspective_rag.options import FusionName
from perspective_rag.search.search import Ranking, embed_queries, usable, with_embeddings
from perspective_rag.types import Candidate, Hit, Passage, Query


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


# A perspective's own words also find what merely repeats them: the question counts twice.
QUESTION_WEIGHT = 2.0


@stage
def merge(
    request: Request, rankings: Sequence[Ranking], *, fusion: FusionName | None = None
) -> Flow[list[Candidate]]:
    """Merges the rankings into one list with one candidate for each passage.

    - "seats": the question and each perspective give their best in turn, each ranking put in the
      order of its own query first and the rankings of one perspective fused by RRF. Score: 1 /
      position.
    - "rrf": score: sum of weight / (60 + rank), with weight 2 for the question and 1 for other
      queries (Cormack, Clarke and Buettcher, SIGIR 2009).
    - "round-robin": the queries in turn (BERDS, section 6). Score: 1 / position.

    Args:
        request: Its identity says which passages are the same.
        rankings: The hits of each query, best first.
        fusion: One of these; None: as the request's options say.

    Returns:
        Candidates, best first, each with every query that found it; ``scores["plain"]`` is 1 / its
        place in the ranking of the question alone.
    """
    keys = []
    for ranking in rankings:
        keys.append(request.keys([hit.passage for hit in ranking.hits]))
        request.found.update(keys[-1])
    fusion = fusion or request.options.fusion
    if fusion == "seats":
        rankings, keys = yield from in_own_order(request, rankings, keys)
    return _merge(rankings, keys, fusion)


def merge_rankings(
    rankings: Sequence[Ranking],
    *,
    fusion: str = "seats",
    key: Callable[[Passage], str] = passage_key,
) -> list[Candidate]:
    """One candidate for each passage, best first; ``fusion`` and the scores are those of ``merge``.

    Passages are the same when ``key`` says so; the first hit's text is kept.
    """
    keys = [[key(hit.passage) for hit in ranking.hits] for ranking in rankings]
    return _merge(rankings, keys, fusion)


def _merge(
    rankings: Sequence[Ranking], keys: Sequence[Sequence[str]], fusion: str
) -> list[Candidate]:
    brought: dict[str, str] = {}
    if fusion == "rrf":
        weights = [QUESTION_WEIGHT if r.query.perspective is None else 1.0 for r in rankings]
        fused = reciprocal_rank_fusion(keys, weights=weights)
    else:
        if fusion == "seats":
            brought = _seat(rankings, keys)
        order = brought or round_robin(keys)
        fused = {name: 1.0 / position for position, name in enumerate(order, start=1)}
    asked = [own for r, own in zip(rankings, keys, strict=True) if r.query.perspective is None]
    plain = dict.fromkeys(asked[0] if asked else ())
    places = {name: place for place, name in enumerate(plain, start=1)}
    hits: dict[str, Hit] = {}
    scores: dict[str, dict[str, float]] = {}
    found_by = {name: {text: None} for name, text in brought.items()}
    for ranking, names in zip(rankings, keys, strict=True):
        label = f"search:{ranking.query.perspective or 'question'}"
        for name, hit in zip(names, ranking.hits, strict=True):
            first = hits.setdefault(name, hit)
            same_text = first.passage.text == hit.passage.text
            if first.embedding is None and hit.embedding is not None and same_text:
                hits[name] = Hit(first.passage, first.score, hit.embedding)
            own = scores.setdefault(name, {})
            if hit.score is not None:
                own[label] = max(hit.score, own.get(label, hit.score))
            found_by.setdefault(name, {})[ranking.query.text] = None
    return [
        Candidate(
            passage=hits[name].passage,
            score=score,
            scores={
                **scores[name],
                "fused": score,
                **({"plain": 1.0 / places[name]} if name in places else {}),
            },
            found_by=tuple(found_by[name]),
            embedding=hits[name].embedding,
        )
        for name, score in sorted(fused.items(), key=lambda item: -item[1])
    ]


def _seat(rankings: Sequence[Ranking], keys: Sequence[Sequence[str]]) -> dict[str, str]:
    """The names in the order of their seats, each with the query that brought it: of the queries of
    its side the one that has it highest.
    """
    sides: dict[str | None, list[int]] = {}
    for i, ranking in enumerate(rankings):
        sides.setdefault(ranking.query.perspective, []).append(i)
    fused = [list(reciprocal_rank_fusion([keys[i] for i in own])) for own in sides.values()]
    brought = {}
    for name, side in seats(fused).items():
        own = [i for i in list(sides.values())[side] if name in keys[i]]
        best = min(own, key=lambda i: keys[i].index(name))
        brought[name] = rankings[best].query.text
    return brought


def candidates_of(request: Request, hits: Sequence[Hit]) -> list[Candidate]:
    """One candidate for each of given hits, in their order, without a search.

    ``score`` is 1 / rank, and ``scores["plain"]`` the same; ``scores`` keeps the given score as
    ``given``. What is no hit is left out; raises RetrievalError where nothing is one.
    """
    hits = usable(hits, "what was given").hits
    keys = request.keys([hit.passage for hit in hits])
    request.found.update(keys)
    first: dict[str, Hit] = {}
    for key, hit in zip(keys, hits, strict=True):
        first.setdefault(key, hit)
    return [
        Candidate(
            passage=hit.passage,
            score=1.0 / rank,
            scores={
                "plain": 1.0 / rank,
                **({} if hit.score is None else {"given": float(hit.score)}),
            },
            embedding=hit.embedding,
        )
        for rank, hit in enumerate(first.values(), start=1)
    ]


def origins(queries: Sequence[Query], chosen: Sequence[Candidate]) -> None:
    """Counts for the trace how many of the chosen candidates the question, the perspectives'
    queries and the guard brought; ``found_by`` of each begins with the query that did.
    """
    asked = {query.text: query.perspective for query in queries}
    counts = Counter(
        "guard" if text not in asked else "question" if asked[text] is None else "perspectives"
        for text in (each.found_by[0] for each in chosen if each.found_by)
    )
    note(counts={f"chosen_by_{name}": number for name, number in counts.items()})
