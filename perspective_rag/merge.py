"""Rankings of several queries become one list of candidates; every score is kept."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.dedup import passage_key
from perspective_rag.fusion import reciprocal_rank_fusion, round_robin
from perspective_rag.search import Ranking
from perspective_rag.types import Candidate, Hit

# A perspective's own words also find what merely repeats them: the question counts twice.
QUESTION_WEIGHT = 2.0


def merge(rankings: Sequence[Ranking], *, fusion: str = "rrf") -> list[Candidate]:
    """One candidate for each passage, best first.

    ``fusion`` is "rrf" (score: sum of weight / (60 + rank), the question's weight being
    ``QUESTION_WEIGHT`` and any other query's 1) or "round-robin" (BERDS section 6; score: 1 /
    position). Passages are the same when ``passage_key`` says so; the first hit's text is kept, and
    every query that found it.
    """
    keys = [[passage_key(hit.passage) for hit in ranking.hits] for ranking in rankings]
    if fusion == "round-robin":
        fused = {key: 1.0 / position for position, key in enumerate(round_robin(keys), start=1)}
    else:
        weights = [QUESTION_WEIGHT if r.query.perspective is None else 1.0 for r in rankings]
        fused = reciprocal_rank_fusion(keys, weights=weights)
    hits: dict[str, Hit] = {}
    scores: dict[str, dict[str, float]] = {}
    found_by: dict[str, dict[str, None]] = {}
    for ranking, names in zip(rankings, keys, strict=True):
        label = f"search:{ranking.query.perspective or 'question'}"
        for key, hit in zip(names, ranking.hits, strict=True):
            first = hits.setdefault(key, hit)
            if first.embedding is None and hit.embedding is not None:
                hits[key] = Hit(first.passage, first.score, hit.embedding)
            own = scores.setdefault(key, {})
            if hit.score is not None:
                own[label] = max(hit.score, own.get(label, hit.score))
            found_by.setdefault(key, {})[ranking.query.text] = None
    order = sorted(fused, key=lambda key: -fused[key])
    return [
        Candidate(
            passage=hits[key].passage,
            score=fused[key],
            scores={**scores[key], "fused": fused[key]},
            found_by=tuple(found_by[key]),
            embedding=hits[key].embedding,
        )
        for key in order
    ]
