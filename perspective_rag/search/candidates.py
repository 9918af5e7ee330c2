"""Rankings to candidates: merged into one list, and put in the order in which they are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.flow.request import Request, degrade, note, stage
from perspective_rag.flow.steps import Flow
from perspective_rag.maths.ranking import (
    mmr,
    reciprocal_rank_fusion,
    round_robin,
    scale_relevance,
    seats,
    topk,
)
from perspective_rag.maths.vectors import cosine
from perspective_rag.options import FusionName
from perspective_rag.search.search import (
    Ranking,
    embed_queries,
    usable,
    with_embeddings,
    with_stored_embeddings,
)
from perspective_rag.text import named, topic_words
from perspective_rag.types import (
    Candidate,
    Extraction,
    Hit,
    Query,
    Vector,
)


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
    return fuse(rankings, keys, fusion)


def fuse(
    rankings: Sequence[Ranking], keys: Sequence[Sequence[str]], fusion: str
) -> list[Candidate]:
    """One candidate for each key of the hits, best first, as ``merge`` says; the first hit's text
    is kept.
    """
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


SHORT = 3
"""Words of a topic that is only named: a question of fewer is farther from any passage than a whole
sentence is.
"""


def rank_by_relevance(
    request: Request, question: str, candidates: Sequence[Candidate], *, depth: int | None = None
) -> Flow[list[Candidate]]:
    """The candidates, best first.

    In the fused order of the searches, unless the store searched by text and an embedder is there
    (then by cosine to the question) or ``mmr_lambda`` is below 1 (then by MMR over that
    cosine, scaled to a maximum of 1 as in BERDS section 6). Only the first ``depth`` (None:
    ``fetch_k``) are ordered and given vectors; the others follow in their old order. Those that
    name the topic of a short question are marked (``with_names``).
    """
    options = request.options
    ranked = yield from _rank(
        request, question, candidates, max(depth or options.fetch_k, options.k)
    )
    return with_names(question, ranked)


def with_names(question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, those marked that hold in title or text the words that say what a question
    is about: each word of a question of at most ``SHORT`` ("homework", "nuclear or wind?",
    ``scores["named"]`` = 1), half the words of a longer one and at least ``SHORT``
    (``scores["worded"]`` = 1).

    ``judge.support.relevance_of`` and ``related`` say what that counts for.
    """
    topic = topic_words(question)
    if not topic:
        return list(candidates)
    short = len(topic) <= SHORT
    mark, least = ("named", len(topic)) if short else ("worded", max(SHORT, len(topic) / 2))
    return [
        replace(each, scores={**each.scores, mark: 1.0})
        if named(each.passage.titled, topic) >= least
        else each
        for each in candidates
    ]


def _rank(
    request: Request, question: str, candidates: Sequence[Candidate], depth: int
) -> Flow[list[Candidate]]:
    options, embedder = request.options, request.embedder
    by_cosine = embedder is not None and not request.store.takes_vector
    diverse = options.mmr_lambda < 1.0
    if not candidates:
        return []
    if not (by_cosine or diverse):
        return (yield from with_relevance(request, question, candidates))
    if embedder is not None:
        try:
            yield from embed_queries(request, embedder, [question])
        except Exception as error:
            degrade("rank", "the question could not be embedded", error)
    head = list(candidates[:depth])
    head = yield from with_embeddings(request, head, request.vectors.get(question), about=question)
    placed = [c for c in head if c.embedding is not None]
    if not placed:
        degrade("rank", "no vectors: candidates stay in search order")
        return list(candidates)
    vectors = np.array([c.embedding for c in placed])
    known = question in request.vectors
    if known:
        relevance = cosine(vectors, request.vectors[question][None, :])[:, 0]
    else:
        relevance = np.array([c.score for c in placed]) / max(c.score for c in placed)
    if diverse:
        scaled = scale_relevance(relevance)
        picked = mmr(scaled, vectors, len(placed), mmr_lambda=options.mmr_lambda)
    else:
        picked = topk(relevance, len(placed))
    ordered = []
    for index, score in zip(picked.indices, picked.scores, strict=True):
        candidate = placed[index]
        own = {"relevance": float(relevance[index])} if known else {}
        ordered.append(replace(candidate, score=float(score), scores={**candidate.scores, **own}))
    # The plain ranking of one search is this order; that of seats was made before the merge.
    if diverse or options.fusion != "seats" or not candidates[0].found_by:
        ordered = _with_places(ordered)
    others = [c for c in head if c.embedding is None]
    rest = candidates[len(head) :]
    if known:
        rest = [_measure(each, request.vectors[question]) for each in rest]
    return [*ordered, *others, *rest]


def _with_places(ordered: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, those that have a place in the plain ranking numbered as they stand."""
    result, place = [], 0
    for each in ordered:
        if "plain" in each.scores:
            place += 1
            each = replace(each, scores={**each.scores, "plain": 1.0 / place})
        result.append(each)
    return result


def with_relevance(
    request: Request, question: str, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The candidates in their order, with their cosine to the question (``scores["relevance"]``),
    where a relevance floor asks for it and the store has their vectors; nothing is embedded for it.
    """
    own = request.vectors.get(question)
    if own is None or request.floor is None:
        return list(candidates)
    head = list(candidates[: max(request.options.fetch_k, request.options.k)])
    head = yield from with_stored_embeddings(request, head)
    return [*(_measure(each, own) for each in head), *candidates[len(head) :]]


def with_similarity(
    request: Request, question: str, chosen: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The chosen candidates with their cosine to the question (``scores["relevance"]``), where the
    question was embedded and the store has their vectors.

    All or none: where some are known, the others are embedded for it, in one batch, so that every
    document has a number that can be compared.
    """
    own = request.vectors.get(question)
    if own is None or all(map(_is_measured, chosen)):
        return list(chosen)
    placed = yield from with_stored_embeddings(request, chosen)
    placed = [each if _is_measured(each) else _measure(each, own) for each in placed]
    lacking = [i for i, each in enumerate(placed) if not _is_measured(each)]
    if request.embedder is None or len(lacking) in (0, len(placed)):
        return placed
    more = yield from with_embeddings(request, [placed[i] for i in lacking], own, about=question)
    for i, each in zip(lacking, more, strict=True):
        placed[i] = _measure(each, own)
    return placed


def _is_measured(candidate: Candidate) -> bool:
    return "relevance" in candidate.scores


def _measure(candidate: Candidate, own: Vector) -> Candidate:
    if candidate.embedding is None or len(candidate.embedding) != len(own):
        return candidate
    value = float(cosine(candidate.embedding[None, :], own[None, :])[0, 0])
    return replace(candidate, scores={**candidate.scores, "relevance": value})


@stage
def rank(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """Puts the candidates in the order of relevance.

    Under ``fusion="seats"`` the ``judge_k`` candidates that hold a seat come before all others:
    relevance orders them and does not decide who is among them.

    Args:
        request: The question and its options.
        extraction: The perspectives.
        candidates: What was found.

    Returns:
        The candidates, best first.
    """
    depth = None
    if request.options.fusion == "seats" and any(each.found_by for each in candidates):
        depth = max(request.options.judge_k, request.options.k)
        candidates = _seated_first(candidates, request.options.k, depth, extraction.root)
    if request.options.mmr_lambda < 1.0:
        depth = None  # diversity is looked for among all that was fetched
    ranked = yield from rank_by_relevance(request, extraction.root, candidates, depth=depth)
    return ranked


def _seated_first(
    candidates: Sequence[Candidate], k: int, seats: int, question: str
) -> list[Candidate]:
    """The first ``seats`` candidates before the others, the first k of the plain ranking always
    among them: what plain search would return is judged too, and was brought by the question.
    """
    candidates = list(candidates)
    plain = [i for i, each in enumerate(candidates) if each.scores.get("plain", 0.0) * k >= 1.0]
    for i in plain:
        found_by = dict.fromkeys((question, *candidates[i].found_by))
        candidates[i] = replace(candidates[i], found_by=tuple(found_by))
    seated = set(plain)
    for i in range(len(candidates)):
        if len(seated) >= seats:
            break
        seated.add(i)
    first = [each for i, each in enumerate(candidates) if i in seated]
    return [*first, *(each for i, each in enumerate(candidates) if i not in seated)]
