"""LangChain embeddings: the encoder that comes with the library, and those that can be steered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, ConfigDict

from perspective_rag import CapabilityError

if TYPE_CHECKING:
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
        from perspective_rag import OnnxMiniLM

        return OnnxMiniLM(**dict(self))

    @property
    def relevance_floor(self) -> Any:
        """From which cosine to the question a text is about it."""
        return self.encoder.relevance_floor

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts, each as 384 numbers."""
        rows: list[list[float]] = self.encoder.embed_passages(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Embeds one text as 384 numbers."""
        return self.embed_documents([text])[0]


@dataclass(slots=True)
class _Steer:
    vector: list[float]
    used: bool = False


_STEER: ContextVar[_Steer | None] = ContextVar("langchain_perspective_rag_steer", default=None)


class SteerableEmbeddings(Embeddings):
    """Embeddings that make a text-only store (langchain-lancedb, Elasticsearch) search by vector.

    Give them to the store when it is made: ``LanceDB(embedding=SteerableEmbeddings(embeddings),
    ...)``. They embed as ``embeddings`` do; during a search by ``LangChainStore`` the store gets
    that search's vector in place of the one of the text, so that projection works.

    Args:
        embeddings: What embeds.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts with the wrapped embeddings."""
        return self.embeddings.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Returns the vector of the search under way, else embeds the text."""
        return _steering_vector() or self.embeddings.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The same as ``embed_documents``, awaited."""
        return await self.embeddings.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """The same as ``embed_query``, awaited."""
        return _steering_vector() or await self.embeddings.aembed_query(text)


def _steering_vector() -> list[float] | None:
    steer = _STEER.get()
    if steer is None:
        return None
    steer.used = True
    return list(steer.vector)


@contextmanager
def steered_to(vector: list[float]) -> Iterator[None]:
    """Searches inside find the neighbours of ``vector``.

    Raises CapabilityError when the store never asked for it, and so found something else.
    """
    steer = _Steer(vector)
    token = _STEER.set(steer)
    try:
        yield
    finally:
        _STEER.reset(token)
    if not steer.used:
        raise CapabilityError(
            "the store did not embed the query with its SteerableEmbeddings (it caches, or embeds "
            "elsewhere): give the store plain embeddings and search with projection='none'"
        )
