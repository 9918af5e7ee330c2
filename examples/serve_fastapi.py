"""A web service around a wrapped LangChain chain, offline, over the sample debates.

uvicorn examples.serve_fastapi:app                                # then open /docs
curl 'localhost:8000/ask?question=Should+zoos+be+closed%3F'
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from examples.wrap_langchain import build_store, chain
from langchain_perspective_rag import PerspectiveRetriever, report_in
from perspective_rag import ConfigError, Limiter, RetrievalError

_log = logging.getLogger(__name__)

Question = Annotated[str, Query(min_length=3, max_length=500)]


class Source(BaseModel):
    """A passage the answer rests on, and the sides it supports."""

    id: str
    title: str
    text: str
    score: float
    supports: list[str]


class Reply(BaseModel):
    """An answer and its sources."""

    question: str
    answer: str
    sources: list[Source]


def build(**options: Any) -> Runnable[str, dict[str, Any]]:
    """The chain of ``wrap_langchain.py``; ``options`` are for the wrapped retriever."""
    # All requests together make at most eight calls of each kind; the others wait their turn.
    return chain(PerspectiveRetriever.wrap(build_store(), k=5, limiter=Limiter(8), **options))


def create_app(**options: Any) -> FastAPI:
    """The service; the chain is built once, when it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.chain = await asyncio.to_thread(build, **options)
        yield

    app = FastAPI(title="Every side of a question", lifespan=lifespan)

    @app.get("/ask")
    async def ask(request: Request, question: Question) -> Reply:
        """Asks without blocking the other requests."""
        try:
            return _reply(await request.app.state.chain.ainvoke(question))
        except (ConfigError, RetrievalError) as error:
            raise _http_error(error) from error

    @app.get("/ask-sync")
    def ask_sync(request: Request, question: Question) -> Reply:
        """The same from a handler that is not async, which FastAPI runs in a thread."""
        try:
            return _reply(request.app.state.chain.invoke(question))
        except (ConfigError, RetrievalError) as error:
            raise _http_error(error) from error

    @app.get("/health")
    async def health() -> dict[str, int]:
        """Answers at once, however many questions are under way."""
        return {"threads": threading.active_count()}

    return app


def _http_error(error: Exception) -> HTTPException:
    """What failed, for the caller; why, in the store's words, for the log alone."""
    if isinstance(error, ConfigError):
        return HTTPException(422, str(error))
    _log.error("a question was not answered: %s", error)
    return HTTPException(503, "the search failed; try again later")


def _reply(found: dict[str, Any]) -> Reply:
    return Reply(
        question=found["question"],
        answer=found["answer"],
        sources=[_source(document) for document in found["documents"]],
    )


def _source(document: Document) -> Source:
    metadata = document.metadata
    return Source(
        id=str(document.id),
        title=metadata["title"],
        text=document.page_content,
        score=metadata["relevance_score"],
        supports=report_in(metadata)["supports"],
    )


app = create_app()
