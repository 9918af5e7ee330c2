"""``POST /v1/rerank`` in the form of Cohere and Jina: a caller's documents, so that the first few
show every side.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from perspective_rag import RetrievalResult
from perspective_rag.addons import printable, similarity_of, text_key
from perspective_rag.extend import scores_of
from perspective_rag_serve.asking import LONGEST_SIDE
from perspective_rag_serve.context import Context
from perspective_rag_serve.failures import Failure, told
from perspective_rag_serve.judging import Chosen

MODEL = "perspective-rag"
EXTENSION = "perspective_rag"
"""The field of a reply that holds what its form has no place for."""

_TIE = 1e-3
"""How much of a score is left to tell equal ones apart."""


class Document(BaseModel):
    """A document as an object."""

    model_config = ConfigDict(extra="ignore")
    text: str


class RerankRequest(BaseModel):
    """The body; what other servers understand besides is ignored."""

    model_config = ConfigDict(extra="ignore")
    model: str = MODEL
    query: str = Field(min_length=1, max_length=20_000)
    documents: list[str | Document] = Field(min_length=1, max_length=10_000)
    top_n: int | None = Field(default=None, ge=1)
    return_documents: bool = False
    perspectives: list[Annotated[str, Field(min_length=1, max_length=LONGEST_SIDE)]] | None = None

    @field_validator("query")
    @classmethod
    def _holds_a_word(cls, query: str) -> str:
        if not text_key(query):
            raise ValueError("there is no word in it")
        return query

    @property
    def texts(self) -> list[str]:
        """The documents' texts."""
        return [each if isinstance(each, str) else each.text for each in self.documents]


def rerank_routes(context: Context) -> APIRouter:
    """The routes of reranking, under the addresses that clients use."""
    routes = APIRouter()
    settings = context.settings

    def check(asked: RerankRequest) -> None:
        if len(asked.query) > settings.longest_question:
            said = f"query: at most {settings.longest_question} characters"
            raise Failure(413, "request", said)
        if len(asked.documents) > settings.most_documents:
            raise Failure(413, "request", f"documents: at most {settings.most_documents}")
        if any(len(each) > settings.longest_text for each in asked.texts):
            said = f"documents: at most {settings.longest_text:,} characters each"
            raise Failure(413, "request", said)
        if len(asked.perspectives or ()) > settings.most_perspectives:
            raise Failure(422, "request", f"perspectives: at most {settings.most_perspectives}")

    @routes.post("/v1/rerank")
    @routes.post("/v2/rerank", include_in_schema=False)
    @routes.post("/rerank", include_in_schema=False)
    async def rerank(asked: RerankRequest) -> Response:
        """The documents in an order whose first ones show every side of the query."""
        check(asked)

        def made(chosen: Chosen) -> Response:
            return JSONResponse(_reply(asked, chosen))

        given = asked.perspectives
        texts = asked.texts
        return await context.choose(asked.query, texts, made, perspectives=given, k=asked.top_n)

    return routes


def falling(scores: list[float]) -> list[float]:
    """Scores in [0, 1] as clients expect them: each below the one before it, in the same order."""
    count = len(scores)
    made, least = [], 1.0
    for place, score in enumerate(scores):
        least = min(least, max(0.0, score))
        made.append((1 - _TIE) * least + _TIE * (count - place) / (count + 1))
    return made


def _reply(asked: RerankRequest, chosen: Chosen) -> dict[str, Any]:
    result = chosen.result
    scores = falling([float(each or 0.0) for each in scores_of(result, "selection")])
    rows = []
    places, states = chosen.places, result.coverage.states
    for place, candidate, score, state in zip(
        places, result.candidates, scores, states, strict=True
    ):
        row: dict[str, Any] = {"index": place, "relevance_score": score}
        if asked.return_documents:
            row["document"] = {"text": asked.texts[place]}
        row[EXTENSION] = {
            "similarity": similarity_of(candidate),
            "state": state,
            "supports": [each.id for each in result.supports(candidate)],
            "verdicts": result.verdicts_on(candidate),
        }
        rows.append(row)
    return {
        "id": f"rerank-{uuid.uuid4().hex}",
        "object": "list",
        "model": asked.model,
        "results": rows,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        "usage": {"total_tokens": 0},
        EXTENSION: _extension(result),
    }


def _extension(result: RetrievalResult) -> dict[str, Any]:
    coverage = result.coverage
    return {
        "kind": result.kind,
        "reading": printable(result.reading),
        "perspectives": [{"id": p.id, "text": printable(p.text)} for p in result.perspectives],
        "covered": [p.id for p in coverage.covered],
        "missing": [p.id for p in coverage.missing],
        "degradations": list(dict.fromkeys(map(told, result.trace.degradations))),
    }
