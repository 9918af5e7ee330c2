"""The order of candidates before they are judged."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.best_first import stance_asked
from perspective_rag.rank.relevance import rank_by_relevance
from perspective_rag.rank.stance import rerank_by_stance
from perspective_rag.types import Candidate, Extraction


def rank(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The candidates, best first: by relevance; under ``rerank="stance"``, of the first ``judge_k``
    those that take the side the question asks for come first.
    """
    ranked = yield from rank_by_relevance(request, extraction.root, candidates)
    asked = stance_asked(extraction) if request.options.rerank == "stance" else None
    if asked is None or request.judge is None:
        return ranked
    ranked = yield from rerank_by_stance(
        request.judge, asked, ranked, limit=request.options.judge_k
    )
    return ranked
