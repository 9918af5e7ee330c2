"""The encoder that comes with the library, as LangChain embeddings."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, ConfigDict

from perspective_rag import OnnxMiniLM


class PackagedEmbeddings(BaseModel, Embeddings):
    """Unit vectors of 384 numbers by all-MiniLM-L6-v2 (int8), computed on this machine.

    The model is loaded at the first text. A retriever made with these knows from which similarity
    on a document is about the question (``relevance_floor``).

    Attributes:
        max_tokens: Texts are cut after this many tokens.
        batch_size: Maximum number of texts computed together.
        threads: Threads of one call; None: one for each core.

    Raises:
        MissingDependency: The extra ``local`` is not installed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = 256
    batch_size: int = 8
    threads: int | None = None

    def model_post_init(self, context: Any) -> None:
        """What is missing is said at once."""
        _ = self.encoder

    @cached_property
    def encoder(self) -> OnnxMiniLM:
        """The library's own embedder, which does the work."""
        return OnnxMiniLM(
            max_tokens=self.max_tokens, batch_size=self.batch_size, threads=self.threads
        )

    @property
    def relevance_floor(self) -> Any:
        """From which cosine to the question a text is about it."""
        return self.encoder.relevance_floor

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts.

        Args:
            texts: n texts.

        Returns:
            n rows of 384 numbers.
        """
        rows: list[list[float]] = self.encoder.embed_passages(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Embeds one text.

        Args:
            text: The text.

        Returns:
            384 numbers.
        """
        return self.embed_documents([text])[0]
