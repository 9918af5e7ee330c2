"""LangChain's embeddings and language models as the library's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from langchain_perspective_rag.embeddings import PackagedEmbeddings
from langchain_perspective_rag.tracing import child_config
from perspective_rag import Completion, Prompt
from perspective_rag.extend import (
    Matrix,
    SchemaFirst,
    map_in_threads,
    scrubbing,
    secrets_of,
    without_secrets,
)


class LangChainEmbedder:
    """LangChain's ``Embeddings`` as an Embedder.

    Passages are embedded in one batch. LangChain embeds queries one at a time, so several run side
    by side. A ``relevance_floor`` of the embeddings is handed on.

    Args:
        embeddings: The embeddings.
        max_concurrency: Queries embedded at a time; 1 = one after the other.
    """

    def __init__(self, embeddings: Embeddings, *, max_concurrency: int = 4) -> None:
        self.embeddings = embeddings
        self.max_concurrency = max_concurrency

    @property
    def relevance_floor(self) -> Any:
        """The embeddings' own; None where they have none."""
        return getattr(self.embeddings, "relevance_floor", None)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts; see ``Embedder.embed_passages``."""
        with scrubbing(self.embeddings):
            return np.asarray(self.embeddings.embed_documents(list(texts)))

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts as the model embeds queries; see ``Embedder.embed_queries``."""
        if isinstance(self.embeddings, PackagedEmbeddings):  # it embeds queries as documents
            return self.embed_passages(texts)
        with scrubbing(self.embeddings):
            found = map_in_threads(self.embeddings.embed_query, texts, most=self.max_concurrency)
            return np.asarray(found)


class LangChainLLM:
    """A LangChain chat model or LLM, with what was bound to it, as an LLM.

    Temperature, seed and length are the model's own settings, because providers do not agree on
    their names. For replies that repeat, set them on the model or bind them
    (``model.bind(temperature=0)``). A chat model is held to the schema of a prompt by its
    ``with_structured_output``; one that cannot or refuses is asked for JSON in plain text.

    Args:
        model: The model.
        name: Its name in messages and caches; None: the model's own.
    """

    def __init__(self, model: Runnable[Any, Any], *, name: str | None = None) -> None:
        self.model = model
        self.name = name or _name_of(model)
        self._schemas = SchemaFirst(self.name, self._with_schema, lambda: _secrets_of(self.model))

    def complete(self, prompt: Prompt) -> Completion:
        """Sends one prompt; see ``LLM.complete``.

        Raises:
            LLMError: Whatever the model raises. Neither error nor reply holds a key of the model's.
        """
        messages, config = _messages(prompt), child_config(prompt.name)

        def send(held: Runnable[Any, Any] | None) -> Completion:
            model = self.model if held is None else held
            reply = model.invoke(messages, config=config)
            return _completion(reply, _secrets_of(self.model))

        return self._schemas.complete(prompt, send)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        messages, config = _messages(prompt), child_config(prompt.name)

        async def send(held: Runnable[Any, Any] | None) -> Completion:
            model = self.model if held is None else held
            reply = await model.ainvoke(messages, config=config)
            return _completion(reply, _secrets_of(self.model))

        return await self._schemas.acomplete(prompt, send)

    def _with_schema(self, prompt: Prompt) -> Runnable[Any, Any] | None:
        """The model held to the prompt's schema; None where it cannot be."""
        if not isinstance(self.model, BaseChatModel):  # what is bound would be lost
            return None
        named = {"title": prompt.name, "description": "The reply.", **(prompt.schema or {})}
        try:
            return self.model.with_structured_output(named, include_raw=True)
        except Exception:  # NotImplementedError, or whatever else a provider raises
            return None


def _name_of(model: Runnable[Any, Any]) -> str:
    inner = getattr(model, "bound", model)
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(inner, attribute, None)
        if isinstance(name, str) and name:
            return name
    return inner.get_name() if isinstance(inner, Runnable) else type(inner).__name__


def _secrets_of(model: Any) -> list[str]:
    """The keys of a model, and of the one that it is bound to."""
    found = []
    while model is not None:
        found += secrets_of(model)
        model = getattr(model, "bound", None)
    return found


def _messages(prompt: Prompt) -> list[BaseMessage]:
    system: list[BaseMessage] = [SystemMessage(prompt.system)] if prompt.system else []
    return [*system, HumanMessage(prompt.user)]


def _completion(reply: Any, secrets: Sequence[str]) -> Completion:
    if isinstance(reply, Mapping):  # of ``with_structured_output``
        told = _completion(reply["raw"], secrets)
        parsed = reply.get("parsed")
        if parsed is None:
            return told
        return replace(told, text=without_secrets(json.dumps(parsed, default=str), secrets))
    if not isinstance(reply, BaseMessage):
        return Completion(without_secrets(str(reply), secrets))
    usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
    return Completion(
        without_secrets(str(reply.text), secrets),
        prompt_tokens=usage["input_tokens"] if usage else 0,
        completion_tokens=usage["output_tokens"] if usage else 0,
    )
