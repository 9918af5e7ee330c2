"""Rankings of several queries become one list of candidates; every score is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perspective_rag.dedup import passage_key
from perspective_rag.fusion import reciprocal_rank_fusion, round_robin
from perspective_rag.search import Ranking
from perspective_rag.types import Candidate, Hit, Passage

# A perspective's own words also find what merely repeats them: the question counts twice.
QUESTION_WEIGHT = 2.0


def merge(
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
