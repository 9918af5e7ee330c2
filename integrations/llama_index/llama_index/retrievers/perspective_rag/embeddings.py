"""The encoder that comes with the library, as a LlamaIndex embedding model."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, PrivateAttr

from perspective_rag import OnnxMiniLM
from perspective_rag.extend import in_thread


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

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._encoder.embed_passages(texts).tolist()
        return rows

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await in_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await in_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await in_thread(self._get_text_embeddings, texts)
