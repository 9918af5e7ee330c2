"""LlamaIndex's embedding and language models, as perspective_rag calls them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import FunctionTool, ToolMetadata

from llama_index.retrievers.perspective_rag.embeddings import PackagedEmbeddings
from perspective_rag import Completion, Prompt
from perspective_rag.extend import (
    Matrix,
    SchemaFirst,
    in_thread,
    map_in_threads,
    scrubbing,
    secrets_of,
    without_secrets,
)


class LlamaIndexEmbedder:
    """A LlamaIndex embedding model as an Embedder.

    Passages go through the model's own batches. LlamaIndex embeds queries one at a time, so several
    run side by side. A ``relevance_floor`` of the model is handed on.

    Args:
        model: The embedding model.
        bundle: The query it serves: its text gets the embedding that the bundle brings, or the mean
            over its ``custom_embedding_strs``, as in LlamaIndex's own retrievers.
        max_concurrency: Queries embedded at a time; 1 = one after the other.
    """

    def __init__(
        self,
        model: BaseEmbedding,
        *,
        bundle: QueryBundle | None = None,
        max_concurrency: int = 4,
    ) -> None:
        self.model = model
        self.max_concurrency = max_concurrency
        self._bundle = bundle

    @property
    def relevance_floor(self) -> Any:
        """The model's own; None where it has none."""
        return getattr(self.model, "relevance_floor", None)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts as the model embeds queries; see ``Embedder.embed_queries``."""
        if isinstance(self.model, PackagedEmbeddings) and not self._brings_vectors():
            return self.embed_passages(texts)  # it embeds queries as texts
        with scrubbing(self.model):
            # LlamaIndex knows by the context which span an event belongs to.
            return np.array(map_in_threads(self._query, texts, most=self.max_concurrency))

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts in the model's own batches; see ``Embedder.embed_passages``."""
        with scrubbing(self.model):
            return np.array(self.model.get_text_embedding_batch(list(texts)))

    def _brings_vectors(self) -> bool:
        bundle = self._bundle
        given = (bundle.embedding, bundle.custom_embedding_strs) if bundle is not None else ()
        return any(each is not None for each in given)

    def _query(self, text: str) -> list[float]:
        bundle = self._bundle
        if bundle is not None and text == " ".join(bundle.query_str.split()):
            if bundle.embedding is not None:
                return bundle.embedding
            if bundle.custom_embedding_strs:
                return self.model.get_agg_embedding_from_queries(bundle.custom_embedding_strs)
        return self.model.get_query_embedding(text)


class LlamaIndexLLM:
    """A LlamaIndex language model as an LLM.

    A model that calls functions is held to the schema of a prompt by a tool, as
    ``structured_predict`` does it; one that refuses is asked for JSON in plain text.

    Args:
        model: The model; most settings are made on it, because LlamaIndex's packages do not agree
            on the arguments of a request.
        **arguments: Go with every request, e.g. ``temperature=0.0``.
    """

    def __init__(self, model: BaseLLM, **arguments: Any) -> None:
        self.model = model
        self.name = model.metadata.model_name
        self._arguments = arguments
        self._schemas = SchemaFirst(self.name, self._caller, lambda: self._secrets)

    def complete(self, prompt: Prompt) -> Completion:
        """Sends one prompt; see ``LLM.complete``.

        Raises:
            LLMError: Whatever the model raises. Neither error nor reply holds a key of the model's.
        """
        messages = _messages(prompt)

        def send(caller: FunctionCallingLLM | None) -> Completion:
            if caller is None:
                return _completion(self.model.chat(messages, **self._arguments), self._secrets)
            reply = caller.chat_with_tools([_tool(prompt)], **self._tool_arguments(messages))
            return _completion(reply, self._secrets, caller)

        return self._schemas.complete(prompt, send)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        if _chats_in_the_loop(self.model):
            return await in_thread(self.complete, prompt)
        messages = _messages(prompt)

        async def send(caller: FunctionCallingLLM | None) -> Completion:
            if caller is None:
                reply = await self.model.achat(messages, **self._arguments)
            else:
                tools, given = [_tool(prompt)], self._tool_arguments(messages)
                reply = await caller.achat_with_tools(tools, **given)
            return _completion(reply, self._secrets, caller)

        return await self._schemas.acomplete(prompt, send)

    def _caller(self, prompt: Prompt) -> FunctionCallingLLM | None:
        """The model where it can be held to a schema, as the arguments of a tool."""
        model = self.model
        calls = isinstance(model, FunctionCallingLLM) and model.metadata.is_function_calling_model
        return model if calls and isinstance(model, FunctionCallingLLM) else None

    def _tool_arguments(self, messages: list[ChatMessage]) -> dict[str, Any]:
        return {"chat_history": messages, "tool_required": True, **self._arguments}

    @property
    def _secrets(self) -> list[str]:
        return secrets_of(self.model, self._arguments)


def _chats_in_the_loop(model: BaseLLM) -> bool:
    """Whether its achat is CustomLLM's, which is chat under another name and blocks."""
    # LlamaIndex wraps the methods of every class anew, so only what is within can be compared.
    return inspect.unwrap(type(model).achat) is inspect.unwrap(CustomLLM.achat)


def _messages(prompt: Prompt) -> list[ChatMessage]:
    messages = [ChatMessage(role=MessageRole.USER, content=prompt.user)]
    if prompt.system:
        messages.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=prompt.system))
    return messages


class _SchemaOfATool(ToolMetadata):
    """A tool's description whose parameters are a JSON schema as it is."""

    schema: Mapping[str, Any]

    def get_parameters_dict(self) -> dict[str, Any]:
        """The schema."""
        return dict(self.schema)


def _tool(prompt: Prompt) -> FunctionTool:
    metadata = _SchemaOfATool("Takes the reply.", name=prompt.name)
    metadata.schema = prompt.schema or {}
    return FunctionTool(fn=lambda **given: given, metadata=metadata)


def _completion(
    response: ChatResponse, secrets: Sequence[str], caller: FunctionCallingLLM | None = None
) -> Completion:
    text = response.message.content or ""
    if caller is not None:
        calls = caller.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        text = json.dumps(calls[0].tool_kwargs, default=str) if calls else text
    return Completion(
        text=without_secrets(text, secrets),
        prompt_tokens=_tokens(response, "prompt_tokens", "input_tokens"),
        completion_tokens=_tokens(response, "completion_tokens", "output_tokens"),
    )


def _tokens(response: ChatResponse, *names: str) -> int:
    """The first count under one of these names; servers report them in different places, or not."""
    raw = response.raw
    usage = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
    for place in (response.additional_kwargs, usage):
        for name in names:
            value = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
            if isinstance(value, int):
                return value
    return 0
