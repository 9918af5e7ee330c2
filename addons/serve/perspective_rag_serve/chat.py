"""``/v1/chat/completions`` and ``/v1/models``, as OpenAI's clients speak them."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from perspective_rag.addons import text_key
from perspective_rag.extend import in_thread
from perspective_rag_serve.asking import MOST_TURNS, Asked, Emit, Reply
from perspective_rag_serve.context import Context
from perspective_rag_serve.events import HEADERS, as_json, events
from perspective_rag_serve.failures import Failure
from perspective_rag_serve.rerank import EXTENSION, MODEL
from perspective_rag_serve.writing import Writer

_MADE = 1_750_000_000  # of the model, in seconds since 1970: clients show it


class Message(BaseModel):
    """A message; of its content the text counts."""

    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The text of the content, its parts joined."""
        if isinstance(self.content, list):
            parts = (each.get("text") for each in self.content)
            return " ".join(part for part in parts if part and isinstance(part, str))
        return self.content or ""


class StreamOptions(BaseModel):
    """Whether the stream ends with the tokens used."""

    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The body; how a model is to be sampled is ignored, as nothing is sampled here."""

    model_config = ConfigDict(extra="ignore")
    model: str = MODEL
    messages: list[Message] = Field(min_length=1, max_length=1000)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None

    def asked(self, longest: int) -> Asked:
        """The last message of the user as a question that follows the few before it, of at most
        ``longest`` characters each; raises Failure where there is none, or a longer one.
        """
        asked = [each for each in self.messages if each.role == "user"][-MOST_TURNS - 1 :]
        texts = [each.text for each in asked]
        if (self.n or 1) != 1:
            raise Failure(422, "request", "n: there is one answer to a question")
        if texts and len(texts[-1]) > longest:
            said = f"a question may have at most {longest} characters"
            raise Failure(413, "request", said)
        if not texts or not text_key(texts[-1]):
            raise Failure(422, "request", "messages: the last one of the user must hold a question")
        previous = [each for each in texts[:-1] if len(each) <= longest]
        return Asked(question=texts[-1], previous=previous)


def chat_routes(context: Context) -> APIRouter:
    """The routes of OpenAI's form."""
    routes = APIRouter(prefix="/v1")
    model = {"id": MODEL, "object": "model", "created": _MADE, "owned_by": MODEL}

    @routes.get("/models")
    async def models() -> dict[str, Any]:
        """The one model."""
        return {"object": "list", "data": [model]}

    @routes.get("/models/{name:path}")
    async def one_model(name: str) -> dict[str, Any]:
        """The one model by its name."""
        if name != MODEL:
            raise Failure(404, "model_not_found", f"the model is called {MODEL}")
        return model

    @routes.post("/chat/completions")
    async def complete(request: ChatRequest) -> Response:
        """The answer with its citations as text; the report is in the field ``perspective_rag``."""
        asked = await in_thread(request.asked, context.settings.longest_question)
        context.check(asked)
        work = partial(context.ask, asked)
        completion = _Completion(request)
        if request.stream:
            stream = completion.stream(work)
            return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)
        return JSONResponse(await completion.whole(work))

    return routes


class _Completion:
    """One completion: its id, and its text in the two forms."""

    def __init__(self, request: ChatRequest) -> None:
        self.request = request
        self.head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": request.model,
        }

    async def whole(self, work: Any) -> dict[str, Any]:
        reply: Reply = await work()
        message = {"role": "assistant", "content": text_of(reply)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self.head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage_of(reply),
            EXTENSION: reply.to_dict(),
        }

    async def stream(self, work: Any) -> AsyncIterator[str]:
        writer = Writer()
        replies: list[Reply] = []

        async def kept(emit: Emit) -> None:
            replies.append(await work(emit))

        yield self._chunk({"role": "assistant", "content": ""})
        async for event in events(kept):
            if event is None:
                yield ": still working\n\n"
                continue
            name, data = event
            if name == "error":
                yield f"data: {as_json({'error': {**data, 'type': data['kind']}})}\n\n"
                return
            for piece in writer.pieces(name, data):
                yield self._chunk({"content": piece})
        yield self._chunk({}, finish="stop", **{EXTENSION: replies[0].to_dict()})
        options = self.request.stream_options
        if options is not None and options.include_usage:
            yield self._data([], usage=usage_of(replies[0]))
        yield "data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **further: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return self._data([choice], **further)

    def _data(self, choices: Sequence[dict[str, Any]], **further: Any) -> str:
        chunk = {**self.head, "object": "chat.completion.chunk", "choices": choices, **further}
        return f"data: {as_json(chunk)}\n\n"


def text_of(reply: Reply) -> str:
    """The whole answer as Markdown."""
    writer = Writer()
    told = [("reading", reply.reading), ("result", reply.view.to_dict())]
    told += [("claim", claim) for claim in reply.answer["claims"]]
    told.append(("answer", reply.answer))
    return "".join(piece for name, data in told for piece in writer.pieces(name, data)).strip()


def usage_of(reply: Reply) -> dict[str, int]:
    """The tokens of the language models that were asked; 0 where none was."""
    trace = reply.result.trace
    given, made = trace.prompt_tokens, trace.completion_tokens
    given += reply.answer_tokens[0]
    made += reply.answer_tokens[1]
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
