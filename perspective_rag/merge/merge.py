"""Rankings of several queries become one list of candidates; every score is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow, aside
from perspective_rag.identity import passage_key
from perspective_rag.merge.fusion import reciprocal_rank_fusion, round_robin
from perspective_rag.search.hits import usable
from perspective_rag.search.search import Ranking
from perspective_rag.types import Candidate, Hit, Passage

# A perspective's own words also find what merely repeats them: the question counts twice.
QUESTION_WEIGHT = 2.0
# Merging a hit takes as long as reading so many characters.
_EACH = 10


def merge(request: Request, rankings: Sequence[Ranking]) -> Flow[list[Candidate]]:
    """One candidate for each passage, as the request's options fuse the rankings and its identity
    tells passages apart; see ``merge_rankings``.
    """
    keys = []
    for ranking in rankings:
        keys.append((yield from request.keys([hit.passage for hit in ranking.hits])))
        request.found.update(keys[-1])
    size = _EACH * sum(map(len, keys))
    return (yield from aside(size, _merged, rankings, keys, request.options.fusion))


def merge_rankings(
    rankings: Sequence[Ranking],
    *,
    fusion: str = "rrf",
    key: Callable[[Passage], str] = passage_key,
) -> list[Candidate]:
    """One candidate for each passage, best first.

    ``fusion`` is "rrf" (score: sum of weight / (60 + rank), the question's weight being
    ``QUESTION_WEIGHT`` and any other query's 1) or "round-robin" (BERDS section 6; score: 1 /
    position). Passages are the same when ``key`` says so; the first hit's text is kept, and every
    query that found it.
    """
    keys = [[key(hit.passage) for hit in ranking.hits] for ranking in rankings]
    return _merged(rankings, keys, fusion)


def _merged(
    rankings: Sequence[Ranking], keys: Sequence[Sequence[str]], fusion: str
) -> list[Candidate]:
    if fusion == "round-robin":
        fused = {name: 1.0 / position for position, name in enumerate(round_robin(keys), start=1)}
    else:
        weights = [QUESTION_WEIGHT if r.query.perspective is None else 1.0 for r in rankings]
        fused = reciprocal_rank_fusion(keys, weights=weights)
    hits: dict[str, Hit] = {}
    scores: dict[str, dict[str, float]] = {}
    found_by: dict[str, dict[str, None]] = {}
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
            scores={**scores[name], "fused": score},
            found_by=tuple(found_by[name]),
            embedding=hits[name].embedding,
        )
        for name, score in sorted(fused.items(), key=lambda item: -item[1])
    ]


def candidates_of(request: Request, hits: Sequence[Hit]) -> Flow[list[Candidate]]:
    """One candidate for each of given hits, in their order, without a search.

    ``score`` is 1 / rank; ``scores`` keeps the given score as ``given``. What is no hit is left
    out; raises RetrievalError where nothing is one.
    """
    hits = usable(hits, "what was given").hits
    keys = yield from request.keys([hit.passage for hit in hits])
    request.found.update(keys)
    first: dict[str, Hit] = {}
    for key, hit in zip(keys, hits, strict=True):
        first.setdefault(key, hit)
    return [
        Candidate(
            passage=hit.passage,
            score=1.0 / rank,
            scores={} if hit.score is None else {"given": float(hit.score)},
            embedding=hit.embedding,
        )
        for rank, hit in enumerate(first.values(), start=1)
    ]
