"""LlamaIndex's embedding and language models, as perspective_rag calls them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CustomLLM
from llama_index.core.schema import QueryBundle

from perspective_rag.threads import in_thread
from perspective_rag.types import Completion, Matrix, Prompt


class LlamaIndexEmbedder:
    """An ``Embedder`` over a LlamaIndex embedding model.

    ``bundle`` is the query it serves: the text of that query gets the embedding that the bundle
    brings along, or the mean over its custom embedding texts, as LlamaIndex's own retrievers do.
    """

    def __init__(self, model: BaseEmbedding, *, bundle: QueryBundle | None = None) -> None:
        self.model = model
        self._bundle = bundle

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """One row for each text, shape (n, d); LlamaIndex embeds queries one at a time."""
        return np.array([self._query(text) for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row for each text, shape (n, d), in the model's own batches."""
        return np.array(self.model.get_text_embedding_batch(list(texts)))

    def _query(self, text: str) -> list[float]:
        bundle = self._bundle
        if bundle is not None and text == " ".join(bundle.query_str.split()):
            if bundle.embedding is not None:
                return bundle.embedding
            if bundle.custom_embedding_strs:
                return self.model.get_agg_embedding_from_queries(bundle.custom_embedding_strs)
        return self.model.get_query_embedding(text)


class LlamaIndexLLM:
    """An ``LLM`` over a LlamaIndex language model.

    ``arguments`` go with every request, for example ``temperature=0.0``. Nothing else does: which
    arguments a model takes differs from one LlamaIndex package to the next, and most are set on the
    model itself.
    """

    def __init__(self, model: BaseLLM, **arguments: Any) -> None:
        self.model = model
        self.name = model.metadata.model_name
        self._arguments = arguments

    def complete(self, prompt: Prompt) -> Completion:
        """The model's reply to a prompt."""
        return _completion(self.model.chat(_messages(prompt), **self._arguments))

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same, without blocking the event loop."""
        if _chats_in_the_loop(self.model):
            return await in_thread(self.complete, prompt)
        return _completion(await self.model.achat(_messages(prompt), **self._arguments))


def _chats_in_the_loop(model: BaseLLM) -> bool:
    """Whether its achat is CustomLLM's, which is chat under another name and blocks."""
    # LlamaIndex wraps the methods of every class anew, so only what is within can be compared.
    return inspect.unwrap(type(model).achat) is inspect.unwrap(CustomLLM.achat)


def _messages(prompt: Prompt) -> list[ChatMessage]:
    messages = [ChatMessage(role=MessageRole.USER, content=prompt.user)]
    if prompt.system:
        messages.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=prompt.system))
    return messages


def _completion(response: ChatResponse) -> Completion:
    return Completion(
        text=response.message.content or "",
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
