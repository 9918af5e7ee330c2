"""The order of candidates before they are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perspective_rag.flow.recording import stage
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.best_first import stance_asked
from perspective_rag.rank.relevance import rank_by_relevance
from perspective_rag.rank.stance import rerank_by_stance
from perspective_rag.types import Candidate, Extraction


@stage
def rank(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The candidates, best first: by relevance; under ``rerank="stance"``, of the first ``judge_k``
    those that take the side the question asks for come first.

    Under ``fusion="seats"`` the ``judge_k`` that hold a seat come before all others: relevance
    orders these, and does not decide who is among them.
    """
    depth = None
    if request.options.fusion == "seats" and any(each.found_by for each in candidates):
        depth = max(request.options.judge_k, request.options.k)
        candidates = _seated_first(candidates, request.options.k, depth, extraction.root)
    if request.options.mmr_lambda < 1.0:
        depth = None  # diversity is looked for among all that was fetched
    ranked = yield from rank_by_relevance(request, extraction.root, candidates, depth=depth)
    asked = stance_asked(extraction) if request.options.rerank == "stance" else None
    if asked is None or request.judge is None:
        return ranked
    ranked = yield from rerank_by_stance(
        request.judge, asked, ranked, limit=request.options.judge_k
    )
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
