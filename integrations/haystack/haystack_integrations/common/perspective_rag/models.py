"""Haystack's embedders and chat generators, as perspective_rag calls them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from haystack import Document
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage

from haystack_integrations.common.perspective_rag.sockets import (
    arun_component,
    check_component_kind,
    run_component,
)
from haystack_integrations.components.embedders.perspective_rag import (
    PackagedDocumentEmbedder,
    PackagedTextEmbedder,
)
from perspective_rag import Completion, LLMError, Prompt
from perspective_rag.extend import (
    WrappedEmbedder,
    WrappedLLM,
    scrubbing,
    secrets_of,
    token_counts,
)


class HaystackEmbedder(WrappedEmbedder):
    """Haystack's embedder components as an Embedder.

    ``document_embedder`` embeds passages in one batch; without one, ``text_embedder`` does, a few
    at a time. A PackagedTextEmbedder gets its texts in one batch. Raises ConfigError for what is no
    embedder.
    """

    def __init__(self, text_embedder: Any, document_embedder: Any = None) -> None:
        check_component_kind("text_embedder", text_embedder)
        many: Any = self._passages
        alike = isinstance(text_embedder, PackagedTextEmbedder)
        if document_embedder is not None:
            check_component_kind("document_embedder", document_embedder)
            many = self._documents
            alike &= isinstance(document_embedder, PackagedDocumentEmbedder)
        super().__init__(text_embedder, self._query, many, alike=alike)
        self._document_embedder = document_embedder

    def _passages(self, texts: list[str]) -> Any:
        if self._alike:
            return self.model.encoder.embed_passages(texts)
        return self.embed_queries(texts)

    def _query(self, text: str) -> list[float]:
        row: list[float] = run_component(self.model, text=text)["embedding"]
        return row

    def _documents(self, texts: Sequence[str]) -> list[Any]:
        documents = [Document(id=str(place), content=text) for place, text in enumerate(texts)]
        with scrubbing(self._document_embedder):
            found = run_component(self._document_embedder, documents=documents)["documents"]
        return [document.embedding for document in found]


class HaystackLLM(WrappedLLM[dict[str, Any]]):
    """A Haystack chat generator as an LLM.

    Temperature and length are the generator's own settings, because packages do not agree on their
    names. OpenAIChatGenerator, and what derives from it, is held to the schema of a prompt; others,
    and a server that refuses, are asked for JSON in plain text. ``name`` stands in messages and
    caches; None: the generator's model. Raises ConfigError for what is no chat generator.
    """

    def __init__(self, chat_generator: Any, *, name: str | None = None) -> None:
        check_component_kind("chat_generator", chat_generator)
        self.chat_generator = chat_generator
        model = getattr(chat_generator, "model", None)
        super().__init__(
            name or (model if isinstance(model, str) else type(chat_generator).__name__)
        )

    def hold(self, prompt: Prompt) -> dict[str, Any] | None:
        """Further inputs that hold the generator to the prompt's schema; None where it cannot."""
        if not isinstance(self.chat_generator, OpenAIChatGenerator):
            return None
        shape = {"name": prompt.name, "schema": dict(prompt.schema or {}), "strict": True}
        form = {"type": "json_schema", "json_schema": shape}
        return {"generation_kwargs": {"response_format": form}}

    def request(self, prompt: Prompt, held: dict[str, Any] | None) -> Any:
        """What sends a prompt to the generator, and what does so asynchronously."""
        system = [ChatMessage.from_system(prompt.system)] if prompt.system else []
        inputs = {"messages": [*system, ChatMessage.from_user(prompt.user)], **(held or {})}
        ways = (run_component, arun_component)
        return [partial(way, self.chat_generator, **inputs) for way in ways]

    def read(self, reply: Any, held: dict[str, Any] | None) -> Completion:
        """Reads the first reply; raises LLMError where there is none."""
        replies: list[ChatMessage] = reply.get("replies") or []
        if not replies:
            raise LLMError("the generator returned no replies")
        return Completion(replies[0].text or "", *token_counts(replies[0].meta.get("usage")))

    def secrets(self) -> list[str]:
        """The keys of the generator."""
        return secrets_of(self.chat_generator)
