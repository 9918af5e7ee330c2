"""LangChain's embeddings and language models as the library's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_perspective_rag.tracing import child_config
from perspective_rag import Completion, LLMError, Prompt
from perspective_rag.types import Matrix


class LangChainEmbedder:
    """Any LangChain ``Embeddings`` as an Embedder.

    Passages go through ``embed_documents`` in one batch. LangChain embeds queries one at a time, so
    several go side by side, at most ``max_concurrency``; 1 embeds them in turn.
    """

    def __init__(self, embeddings: Embeddings, *, max_concurrency: int = 4) -> None:
        self.embeddings = embeddings
        self.max_concurrency = max_concurrency

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row for each text, shape (n, d)."""
        return np.asarray(self.embeddings.embed_documents(list(texts)))

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """One row for each text, shape (n, d), as the model embeds queries."""
        workers = min(self.max_concurrency, len(texts))
        if workers <= 1:
            return np.asarray([self.embeddings.embed_query(text) for text in texts])
        with ContextThreadPoolExecutor(max_workers=workers) as pool:
            return np.asarray(list(pool.map(self.embeddings.embed_query, texts)))


class LangChainLLM:
    """Any LangChain chat model or LLM, with what was bound to it, as an LLM.

    Temperature, seed and length are the model's own settings: providers do not agree on the names
    of call arguments, and some refuse them. For replies that repeat, set them on the model or bind
    them (``model.bind(temperature=0)``).
    """

    def __init__(self, model: Runnable[Any, Any], *, name: str | None = None) -> None:
        self.model = model
        self.name = name or _name_of(model)

    def complete(self, prompt: Prompt) -> Completion:
        """The model's reply; raises LLMError for whatever the model raises."""
        try:
            reply = self.model.invoke(_messages(prompt), config=child_config(prompt.name))
        except Exception as error:
            raise LLMError(f"{self.name} failed: {error!r}") from error
        return _completion(reply)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same, without blocking the event loop."""
        try:
            reply = await self.model.ainvoke(_messages(prompt), config=child_config(prompt.name))
        except Exception as error:
            raise LLMError(f"{self.name} failed: {error!r}") from error
        return _completion(reply)


def _name_of(model: Runnable[Any, Any]) -> str:
    inner = getattr(model, "bound", model)
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(inner, attribute, None)
        if isinstance(name, str) and name:
            return name
    return inner.get_name() if isinstance(inner, Runnable) else type(inner).__name__


def _messages(prompt: Prompt) -> list[BaseMessage]:
    system: list[BaseMessage] = [SystemMessage(prompt.system)] if prompt.system else []
    return [*system, HumanMessage(prompt.user)]


def _completion(reply: Any) -> Completion:
    if not isinstance(reply, BaseMessage):
        return Completion(str(reply))
    usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
    return Completion(
        str(reply.text),
        prompt_tokens=usage["input_tokens"] if usage else 0,
        completion_tokens=usage["output_tokens"] if usage else 0,
    )
