"""What clients are told when something fails: what it was, never the words of a store or model."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from perspective_rag import Degradation, LLMError, PerspectiveRAGError, RetrievalError
from perspective_rag.addons import printable, redacted
from perspective_rag_serve.logs import places

_log = logging.getLogger(__name__)

_PATH = re.compile(r"(?<![\w:/])(?:[A-Za-z]:\\|/)(?:[\w.@~+-]+[/\\])+[\w.@~+-]*")
RETRY_AFTER = 5


class Failure(Exception):
    """Something that a client is told: ``kind`` for programs, ``message`` for people."""

    def __init__(
        self, status: int, kind: str, message: str, *, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """The body of every error; ``type`` and ``code`` are what OpenAI's clients read."""
        told = {"message": self.message, "kind": self.kind, "type": self.kind, "code": self.status}
        return {"error": told}


class NotReady(Failure):
    """The corpus is being loaded, or could not be."""

    def __init__(self, *, failed: bool) -> None:
        if failed:
            said = "the corpus could not be loaded; the server's log says why"
            super().__init__(503, "failed", said)
        else:
            said = "the corpus is still being loaded; ask again in a moment"
            super().__init__(503, "loading", said, retry_after=RETRY_AFTER)


def failure_of(error: BaseException) -> Failure:
    """What a client is told of an error; the log gets its kind and place, for its words may be the
    client's.
    """
    if isinstance(error, Failure):
        return error
    _log.error("a request failed: %s", places(error))
    if isinstance(error, RetrievalError):
        said = "the search failed: the store could not be reached or did not answer"
        return Failure(503, "search", said, retry_after=RETRY_AFTER)
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return Failure(504, "timeout", "the answer took too long", retry_after=RETRY_AFTER)
    if isinstance(error, LLMError):
        return Failure(503, "model", "the language model failed or did not answer in time")
    if isinstance(error, PerspectiveRAGError):
        return Failure(500, "answer", "the question could not be answered")
    return Failure(500, "internal", "something went wrong in the server")


def told(degradation: Degradation) -> str:
    """A degradation in the words of this library alone: not those of the error that led to it."""
    message = degradation.message
    error = degradation.error
    for said in (repr(error), str(error)) if error is not None else ():
        if said and len(said) > 3:
            message = message.replace(said, "")
    message = _PATH.sub("a file", redacted(printable(message))).strip().rstrip(":;, ")
    return f"{degradation.stage}: {message}" if message else degradation.stage


def response_of(failure: Failure) -> JSONResponse:
    """The failure as a response."""
    headers = {}
    if failure.retry_after is not None:
        headers["Retry-After"] = str(failure.retry_after)
    if failure.status == 401:
        headers["WWW-Authenticate"] = 'Bearer, Basic realm="perspective-rag", charset="UTF-8"'
    return JSONResponse(failure.body(), failure.status, headers)


def add_handlers(app: FastAPI) -> None:
    """Makes every error of an application a body of the same form."""

    async def failed(request: Request, error: Exception) -> JSONResponse:
        return response_of(failure_of(error))

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return response_of(refusal(error.errors()))

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, (HTTPException, StarletteHTTPException))
        return response_of(Failure(error.status_code, "request", str(error.detail)))

    app.add_exception_handler(RequestValidationError, refused)
    app.add_exception_handler(StarletteHTTPException, http_error)
    app.add_exception_handler(Failure, failed)
    # What Starlette knows as Exception alone it raises again once the reply is sent, and the
    # connection is closed on a client that goes on using it: so the expected ones by their names.
    for expected in (PerspectiveRAGError, TimeoutError, asyncio.TimeoutError):
        app.add_exception_handler(expected, failed)
    app.add_exception_handler(Exception, failed)


def refusal(errors: Sequence[Any]) -> Failure:
    """The first of pydantic's errors as a failure of the request."""
    first = errors[0]
    where = ".".join(str(each) for each in first["loc"] if each != "body")
    said = str(first["msg"]).removeprefix("Value error, ")
    said = f"{where}: {said}" if where else f"the request cannot be read: {said}"
    return Failure(422, "request", said)
