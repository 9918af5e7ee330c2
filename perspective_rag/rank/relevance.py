"""Candidates by relevance, with diversity where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.flow.recording import degrade
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow
from perspective_rag.search.vectors import (
    embed_queries,
    with_embeddings,
    with_stored_embeddings,
)
from perspective_rag.select.mmr import mmr_from_embeddings, scale_relevance
from perspective_rag.select.topk import topk
from perspective_rag.text import names_all, topic_words
from perspective_rag.types import Candidate, Vector
from perspective_rag.vectors import cosine

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
    ranked = yield from _ranked(
        request, question, candidates, max(depth or options.fetch_k, options.k)
    )
    return with_names(question, ranked)


def with_names(question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, those marked (``scores["named"]`` = 1) that hold, in title or text, each word
    of a question of at most ``SHORT`` words that say what it is about ("homework", "nuclear or
    wind?").

    ``judge.support.relevance_of`` says what that counts for.
    """
    topic = topic_words(question)
    if not 1 <= len(topic) <= SHORT:
        return list(candidates)
    return [
        replace(each, scores={**each.scores, "named": 1.0})
        if names_all(each.passage.titled, topic)
        else each
        for each in candidates
    ]


def _ranked(
    request: Request, question: str, candidates: Sequence[Candidate], depth: int
) -> Flow[list[Candidate]]:
    options, embedder = request.options, request.embedder
    by_cosine = embedder is not None and not request.store.takes_vector
    diverse = options.mmr_lambda < 1.0
    if not candidates:
        return []
    if not (by_cosine or diverse):
        measured = yield from with_relevance(request, question, candidates)
        return measured
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
        picked = mmr_from_embeddings(scaled, vectors, len(placed), mmr_lambda=options.mmr_lambda)
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
        rest = [_measured(each, request.vectors[question]) for each in rest]
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
    return [*(_measured(each, own) for each in head), *candidates[len(head) :]]


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
    placed = [each if _is_measured(each) else _measured(each, own) for each in placed]
    lacking = [i for i, each in enumerate(placed) if not _is_measured(each)]
    if request.embedder is None or len(lacking) in (0, len(placed)):
        return placed
    more = yield from with_embeddings(request, [placed[i] for i in lacking], own, about=question)
    for i, each in zip(lacking, more, strict=True):
        placed[i] = _measured(each, own)
    return placed


def _is_measured(candidate: Candidate) -> bool:
    return "relevance" in candidate.scores


def _measured(candidate: Candidate, own: Vector) -> Candidate:
    if candidate.embedding is None or len(candidate.embedding) != len(own):
        return candidate
    value = float(cosine(candidate.embedding[None, :], own[None, :])[0, 0])
    return replace(candidate, scores={**candidate.scores, "relevance": value})
