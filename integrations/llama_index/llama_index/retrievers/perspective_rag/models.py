"""LlamaIndex's models as perspective_rag calls them, and the packaged encoder as one of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import FunctionTool, ToolMetadata

from perspective_rag import Completion, ConfigError, OnnxMiniLM, Prompt
from perspective_rag.extend import (
    LLM,
    WrappedEmbedder,
    WrappedLLM,
    check_component,
    in_thread,
    secrets_of,
    token_counts,
)


class PackagedEmbeddings(BaseEmbedding):
    """Unit vectors of 384 numbers by all-MiniLM-L6-v2 (int8), computed on this machine.

    The model is loaded at the first text. A retriever made with these knows from which similarity
    on a node is about the question (``relevance_floor``).

    Attributes:
        embed_batch_size: Texts that LlamaIndex hands over at once.
        max_tokens: Texts are cut after this many tokens.
        threads: Threads of one call; None: one for each core.

    Raises:
        MissingDependency: The extra ``local`` is not installed.
    """

    model_name: str = "all-MiniLM-L6-v2-int8"
    embed_batch_size: int = Field(default=64, gt=0, le=2048)
    max_tokens: int = 256
    threads: int | None = None

    _encoder: OnnxMiniLM = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """What is missing is said at once."""
        super().model_post_init(context)
        self._encoder = OnnxMiniLM(max_tokens=self.max_tokens, threads=self.threads)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "PackagedEmbeddings"

    @property
    def relevance_floor(self) -> Any:
        """From which cosine to the question a text is about it."""
        return self._encoder.relevance_floor

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._encoder.embed_passages(texts).tolist()
        return rows

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await in_thread(self._get_text_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await in_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await in_thread(self._get_text_embeddings, texts)


class LlamaIndexEmbedder(WrappedEmbedder):
    """A LlamaIndex embedding model as an Embedder.

    The text of ``bundle``, the query it serves, gets the embedding that the bundle brings, or the
    mean over its ``custom_embedding_strs``, as in LlamaIndex's own retrievers.
    """

    def __init__(self, model: BaseEmbedding, *, bundle: QueryBundle | None = None) -> None:
        brought = bundle is not None and (
            bundle.embedding is not None or bool(bundle.custom_embedding_strs)
        )
        alike = isinstance(model, PackagedEmbeddings) and not brought
        super().__init__(model, self._query, model.get_text_embedding_batch, alike=alike)
        self._bundle = bundle

    def _query(self, text: str) -> list[float]:
        bundle, model = self._bundle, self.model
        if bundle is not None and text == " ".join(bundle.query_str.split()):
            if bundle.embedding is not None:
                return bundle.embedding
            if texts := bundle.custom_embedding_strs:
                found: list[float] = model.get_agg_embedding_from_queries(texts)
                return found
        found = model.get_query_embedding(text)
        return found


def embedder_of(model: Any, bundle: QueryBundle) -> LlamaIndexEmbedder | None:
    """The embedding model for one query; raises ConfigError for anything else."""
    if model is not None and not isinstance(model, BaseEmbedding):
        raise ConfigError(
            f"embed_model must be a LlamaIndex embedding model (BaseEmbedding), got {model!r:.60}"
        )
    return None if model is None else LlamaIndexEmbedder(model, bundle=bundle)


class LlamaIndexLLM(WrappedLLM[FunctionCallingLLM]):
    """A LlamaIndex language model as an LLM.

    A model that calls functions is held to the schema of a prompt by a tool, as
    ``structured_predict`` does it; one that refuses is asked for JSON in plain text.

    Args:
        model: The model; most settings are made on it, because LlamaIndex's packages do not agree
            on the arguments of a request.
        **arguments: Go with every request, e.g. ``temperature=0.0``.
    """

    def __init__(self, model: BaseLLM, **arguments: Any) -> None:
        super().__init__(model.metadata.model_name)
        self.model = model
        self._arguments = arguments

    def hold(self, prompt: Prompt) -> FunctionCallingLLM | None:
        """The model where it can be held to a schema, as the arguments of a tool."""
        model = self.model
        calls = isinstance(model, FunctionCallingLLM) and model.metadata.is_function_calling_model
        return model if calls and isinstance(model, FunctionCallingLLM) else None

    def request(self, prompt: Prompt, held: FunctionCallingLLM | None) -> Any:
        """What sends a prompt to the model, and what does so asynchronously."""
        messages = [ChatMessage(role=MessageRole.USER, content=prompt.user)]
        if prompt.system:
            messages.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=prompt.system))
        if held is not None:
            given = {"chat_history": messages, "tool_required": True, **self._arguments}
            ways: Any = (held.chat_with_tools, held.achat_with_tools)
            send, asend = (partial(way, [_tool(prompt)], **given) for way in ways)
        else:
            ways = (self.model.chat, self.model.achat)
            send, asend = (partial(way, messages, **self._arguments) for way in ways)
        # CustomLLM's achat is chat under another name, and blocks. LlamaIndex wraps the methods of
        # every class anew, so only what is within can be compared.
        blocks = inspect.unwrap(type(self.model).achat) is inspect.unwrap(CustomLLM.achat)
        return send, None if blocks else asend

    def read(self, reply: ChatResponse, held: FunctionCallingLLM | None) -> Completion:
        """Reads a message, or the arguments of the tool that it calls."""
        text = reply.message.content or ""
        if held is not None:
            calls = held.get_tool_calls_from_response(reply, error_on_no_tool_call=False)
            text = json.dumps(calls[0].tool_kwargs, default=str) if calls else text
        raw = reply.raw
        usage = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
        return Completion(text, *token_counts(reply.additional_kwargs, usage))

    def secrets(self) -> list[str]:
        """The keys of the model and of its requests."""
        return secrets_of(self.model, self._arguments)


def llm_of(llm: BaseLLM | LLM | None) -> LLM | None:
    """LlamaIndex's model, or the library's, as an LLM; raises ConfigError for anything else."""
    if llm is None or isinstance(llm, BaseLLM):
        return None if llm is None else LlamaIndexLLM(llm)
    return check_component("llm", llm, framework="a LlamaIndex LLM")


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
