"""``/api``: what the page asks for."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from perspective_rag import __version__
from perspective_rag.extend import in_thread
from perspective_rag_serve.asking import Asked
from perspective_rag_serve.context import Context
from perspective_rag_serve.events import HEADERS, named_events
from perspective_rag_serve.export import Wanted, exported
from perspective_rag_serve.failures import Failure
from perspective_rag_serve.review import Objection


def api_routes(context: Context) -> APIRouter:
    """The routes of the page's own API."""
    routes = APIRouter(prefix="/api")
    settings = context.settings

    @routes.get("/about")
    async def about() -> dict[str, Any]:
        """What this server is, before the first question."""
        status = context.loading.status
        loaded = context.loaded if status.ready else None
        return {
            "version": __version__,
            "passages": loaded.passages if loaded else None,
            "corpus": settings.corpus,
            "examples": list(settings.examples or (loaded.examples if loaded else ())),
            "model": loaded.model if loaded else None,
            "review": settings.review is not None,
            "longest_question": settings.longest_question,
            "k": settings.k,
        }

    @routes.get("/status")
    async def status() -> dict[str, Any]:
        """How far the loading is."""
        found = context.loading.status
        return {"ready": found.ready, **asdict(found)}

    @routes.post("/ask")
    async def ask(request: Request, asked: Asked) -> Response:
        """The view and the answer, as server-sent events where the client accepts them."""
        context.check(asked)
        if "text/event-stream" in request.headers.get("accept", ""):
            stream = named_events(partial(context.ask, asked))
            return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)
        return JSONResponse((await context.ask(asked)).to_dict())

    @routes.post("/review", status_code=204)
    async def review(objection: Objection) -> Response:
        """Writes down that a passage stands on the wrong side, where the operator allows it."""
        if context.review is None:
            raise Failure(404, "request", "this server keeps no reviews")
        await in_thread(context.review.write, objection)
        return Response(status_code=204)

    @routes.post("/export")
    async def export(wanted: Wanted) -> Response:
        """The view and the answer as a file."""
        context.check(wanted)
        reply = await context.ask(wanted)
        return exported(reply, wanted.format)

    return routes
