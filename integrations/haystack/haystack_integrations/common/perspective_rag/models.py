"""Haystack's embedders and chat generators, as perspective_rag calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from haystack import Document
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage

from haystack_integrations.common.perspective_rag.sockets import (
    arun_component,
    check_component_kind,
    run_component,
)
from haystack_integrations.components.embedders.perspective_rag import PackagedTextEmbedder
from perspective_rag import Completion, LLMError, Prompt
from perspective_rag.extend import (
    Matrix,
    SchemaFirst,
    map_in_threads,
    scrubbing,
    secrets_of,
    without_secrets,
)


class HaystackEmbedder:
    """Haystack's embedder components as an Embedder.

    A text embedder takes one text at a time, so several run side by side; a PackagedTextEmbedder
    gets them in one batch. A ``relevance_floor`` of the text embedder is handed on.

    Args:
        text_embedder: Embeds queries.
        document_embedder: Embeds passages, in one batch; None: the text embedder does.
        max_concurrency: Texts embedded at a time; 1 = one after the other.

    Raises:
        ConfigError: One of them is no embedder.
    """

    def __init__(
        self, text_embedder: Any, document_embedder: Any = None, *, max_concurrency: int = 4
    ) -> None:
        check_component_kind("text_embedder", text_embedder)
        if document_embedder is not None:
            check_component_kind("document_embedder", document_embedder)
        self.text_embedder = text_embedder
        self.document_embedder = document_embedder
        self.max_concurrency = max_concurrency

    @property
    def relevance_floor(self) -> Any:
        """The text embedder's own; None where it has none."""
        return getattr(self.text_embedder, "relevance_floor", None)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts with the text embedder; see ``Embedder.embed_queries``."""
        if isinstance(self.text_embedder, PackagedTextEmbedder):
            return self.text_embedder.encoder.embed_queries(texts)
        with scrubbing(self.text_embedder):
            # Haystack's tracers know by the context which span is the parent.
            return np.array(map_in_threads(self._query, texts, most=self.max_concurrency))

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts with the document embedder, if any; see ``Embedder.embed_passages``."""
        if self.document_embedder is None:
            return self.embed_queries(texts)
        documents = [Document(id=str(place), content=text) for place, text in enumerate(texts)]
        with scrubbing(self.document_embedder):
            found = run_component(self.document_embedder, documents=documents)["documents"]
        return np.array([document.embedding for document in found])

    def _query(self, text: str) -> list[float]:
        row: list[float] = run_component(self.text_embedder, text=text)["embedding"]
        return row


class HaystackLLM:
    """A Haystack chat generator as an LLM.

    Temperature and length are the generator's own settings, because packages do not agree on their
    names. OpenAIChatGenerator, and what derives from it, is held to the schema of a prompt; others,
    and a server that refuses, are asked for JSON in plain text.

    Args:
        chat_generator: The generator.
        name: Its name in messages and caches; None: the generator's model.

    Raises:
        ConfigError: It is no chat generator.
    """

    def __init__(self, chat_generator: Any, *, name: str | None = None) -> None:
        check_component_kind("chat_generator", chat_generator)
        self.chat_generator = chat_generator
        model = getattr(chat_generator, "model", None)
        self.name = name or (model if isinstance(model, str) else type(chat_generator).__name__)
        self._schemas = SchemaFirst(
            self.name, self._schema_inputs, lambda: secrets_of(self.chat_generator)
        )

    def complete(self, prompt: Prompt) -> Completion:
        """Sends one prompt; see ``LLM.complete``.

        Raises:
            LLMError: Whatever the generator raises, or no reply. Neither error nor reply holds a
                key of the generator's.
        """
        messages = _messages(prompt)

        def send(held: dict[str, Any] | None) -> Completion:
            found = run_component(self.chat_generator, messages=messages, **(held or {}))
            return self._completion(found)

        return self._schemas.complete(prompt, send)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        messages = _messages(prompt)

        async def send(held: dict[str, Any] | None) -> Completion:
            found = await arun_component(self.chat_generator, messages=messages, **(held or {}))
            return self._completion(found)

        return await self._schemas.acomplete(prompt, send)

    def _schema_inputs(self, prompt: Prompt) -> dict[str, Any] | None:
        """Further inputs that hold the generator to the prompt's schema; None where it cannot."""
        if not isinstance(self.chat_generator, OpenAIChatGenerator):
            return None
        shape = {"name": prompt.name, "schema": dict(prompt.schema or {}), "strict": True}
        form = {"type": "json_schema", "json_schema": shape}
        return {"generation_kwargs": {"response_format": form}}

    def _completion(self, found: Mapping[str, Any]) -> Completion:
        replies: list[ChatMessage] = found.get("replies") or []
        if not replies:
            raise LLMError("the generator returned no replies")
        usage = replies[0].meta.get("usage") or {}
        return Completion(
            text=without_secrets(replies[0].text or "", secrets_of(self.chat_generator)),
            prompt_tokens=_tokens(usage, "prompt_tokens", "input_tokens"),
            completion_tokens=_tokens(usage, "completion_tokens", "output_tokens"),
        )


def _messages(prompt: Prompt) -> list[ChatMessage]:
    system = [ChatMessage.from_system(prompt.system)] if prompt.system else []
    return [*system, ChatMessage.from_user(prompt.user)]


def _tokens(usage: Any, *names: str) -> int:
    """The first count under one of these names; servers report them in different ways, or not."""
    for name in names:
        value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
        if isinstance(value, int):
            return value
    return 0
