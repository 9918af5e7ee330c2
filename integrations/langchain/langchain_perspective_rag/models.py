"""LangChain's embeddings and language models as the library's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from langchain_perspective_rag.embeddings import PackagedEmbeddings
from langchain_perspective_rag.tracing import child_config
from perspective_rag import Completion, Prompt
from perspective_rag.extend import WrappedEmbedder, WrappedLLM, secrets_of, token_counts


class LangChainEmbedder(WrappedEmbedder):
    """LangChain's ``Embeddings`` as an Embedder."""

    def __init__(self, embeddings: Embeddings) -> None:
        one, many = embeddings.embed_query, embeddings.embed_documents
        super().__init__(embeddings, one, many, alike=isinstance(embeddings, PackagedEmbeddings))


class LangChainLLM(WrappedLLM[Runnable[Any, Any]]):
    """A LangChain chat model or LLM, with what was bound to it, as an LLM.

    Temperature, seed and length are the model's own settings, because providers do not agree on
    their names. For replies that repeat, set them on the model or bind them
    (``model.bind(temperature=0)``). A chat model is held to the schema of a prompt by its
    ``with_structured_output``; one that cannot or refuses is asked for JSON in plain text.
    ``name`` stands in messages and caches; None: the model's own.
    """

    def __init__(self, model: Runnable[Any, Any], *, name: str | None = None) -> None:
        super().__init__(name or _name_of(model))
        self.model = model

    def hold(self, prompt: Prompt) -> Runnable[Any, Any] | None:
        """The model held to the prompt's schema; None where it cannot be."""
        if not isinstance(self.model, BaseChatModel):  # what is bound would be lost
            return None
        named = {"title": prompt.name, "description": "The reply.", **(prompt.schema or {})}
        try:
            return self.model.with_structured_output(named, include_raw=True)
        except Exception:  # NotImplementedError, or whatever else a provider raises
            return None

    def request(self, prompt: Prompt, held: Runnable[Any, Any] | None) -> Any:
        """What sends a prompt to the model, and what does so asynchronously."""
        model = self.model if held is None else held
        system = [SystemMessage(prompt.system)] if prompt.system else []
        messages = [*system, HumanMessage(prompt.user)]
        ways = (model.invoke, model.ainvoke)
        return [partial(way, messages, config=child_config(prompt.name)) for way in ways]

    def read(self, reply: Any, held: Runnable[Any, Any] | None) -> Completion:
        """Reads a message, a text, or what ``with_structured_output`` gives."""
        if isinstance(reply, Mapping):
            told, parsed = self.read(reply["raw"], None), reply.get("parsed")
            return told if parsed is None else replace(told, text=json.dumps(parsed, default=str))
        if not isinstance(reply, BaseMessage):
            return Completion(str(reply))
        usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
        return Completion(str(reply.text), *token_counts(usage))

    def secrets(self) -> list[str]:
        """The keys of the model, and of the one that it is bound to."""
        found: list[str] = []
        model: Any = self.model
        while model is not None:
            found += secrets_of(model)
            model = getattr(model, "bound", None)
        return found


def _name_of(model: Runnable[Any, Any]) -> str:
    inner = getattr(model, "bound", model)
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(inner, attribute, None)
        if isinstance(name, str) and name:
            return name
    return inner.get_name() if isinstance(inner, Runnable) else type(inner).__name__
