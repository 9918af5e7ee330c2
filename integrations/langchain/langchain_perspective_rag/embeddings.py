"""The encoder that comes with the library, as LangChain embeddings."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, ConfigDict

from perspective_rag import OnnxMiniLM


class PackagedEmbeddings(BaseModel, Embeddings):
    """Unit embeddings of 384 dimensions by all-MiniLM-L6-v2 (int8), on this machine alone.

    Texts are cut after ``max_tokens``; ``batch_size`` texts are computed together; ``threads`` are
    those of one call (None: a thread a core). The model is loaded at the first text. A retriever
    made with these knows from which similarity on a document is about the question
    (``relevance_floor``). Raises MissingDependency without the extra ``local``.
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
        """One row for each text."""
        rows: list[list[float]] = self.encoder.embed_passages(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """The row of one text."""
        return self.embed_documents([text])[0]
