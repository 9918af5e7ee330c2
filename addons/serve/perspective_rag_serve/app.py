"""The application: one server, a page, a JSON API, and what other products speak."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, JSONResponse, Response
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from perspective_rag import PerspectivePipeline, __version__
from perspective_rag_serve.api import api_routes
from perspective_rag_serve.chat import chat_routes
from perspective_rag_serve.context import Context
from perspective_rag_serve.doorkeeper import Doorkeeper
from perspective_rag_serve.failures import Failure, add_handlers
from perspective_rag_serve.loading import Loader, Loading
from perspective_rag_serve.metrics import CONTENT_TYPE, Observed
from perspective_rag_serve.rerank import rerank_routes
from perspective_rag_serve.settings import ServeSettings
from perspective_rag_serve.tools import mcp_server

PAGE = Path(__file__).parent / "page"
_PAGE_FILES = {
    "index.html": "text/html",
    "app.js": "text/javascript",
    "parts.js": "text/javascript",
    "result.js": "text/javascript",
    "server.js": "text/javascript",
    "sides.js": "text/javascript",
    "style.css": "text/css",
}


def create_app(
    source: PerspectivePipeline | Loader, settings: ServeSettings | None = None
) -> FastAPI:
    """The application over a pipeline, or over a loader that is run in the background when the
    application starts.

    ``settings`` are the operator's limits (default: ``ServeSettings()``).
    """
    settings = settings or ServeSettings()
    loading = Loading.of(source) if isinstance(source, PerspectivePipeline) else Loading(source)
    context = Context(settings, loading)

    tools = mcp_server(context).streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.largest_body,
        # The doorkeeper has looked at the host and the origin.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loading.start()
        async with tools.router.lifespan_context(app):
            yield

    app = FastAPI(
        title="perspective-rag",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # it would fetch its scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.context = context
    add_handlers(app)
    for routes in (api_routes, rerank_routes, chat_routes):
        app.include_router(routes(context))
    _add_page(app)
    _add_tools(app, tools)
    _add_health(app, context)
    app.add_middleware(Doorkeeper, settings=settings)
    app.add_middleware(Observed, metrics=context.metrics)
    return app


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return _file("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: str) -> Response:
        return _file(name)


def _file(name: str) -> Response:
    if name not in _PAGE_FILES or not (PAGE / name).is_file():
        raise Failure(404, "request", "there is no such page")
    headers = {"Cache-Control": "no-cache"}
    return FileResponse(PAGE / name, media_type=_PAGE_FILES[name], headers=headers)


def _add_tools(app: FastAPI, tools: Starlette) -> None:
    @app.get("/mcp", include_in_schema=False)
    async def no_stream() -> Response:
        # The tools have nothing to say unasked; an open stream would hold up the end of the server.
        raise Failure(405, "request", "the tools are asked by POST")

    app.router.routes.extend(tools.routes)


def _add_health(app: FastAPI, context: Context) -> None:
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Answers as long as the process lives."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        """200 once questions are answered, 503 before and after a failure."""
        status = context.loading.status
        return JSONResponse({"status": status.phase}, 200 if status.ready else 503)

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(context.metrics.page(), media_type=CONTENT_TYPE)
