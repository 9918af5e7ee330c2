"""Search by vector in stores that only search by text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from langchain_core.embeddings import Embeddings

from perspective_rag import CapabilityError


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
        """Embeds texts with the wrapped embeddings.

        Args:
            texts: n texts.

        Returns:
            n rows.
        """
        return self.embeddings.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Returns the vector of the search under way, else embeds the text.

        Args:
            text: The text.

        Returns:
            The vector.
        """
        steered = _steering_vector()
        return self.embeddings.embed_query(text) if steered is None else steered

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The same as ``embed_documents``, without blocking the event loop."""
        return await self.embeddings.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """The same as ``embed_query``, without blocking the event loop."""
        steered = _steering_vector()
        return await self.embeddings.aembed_query(text) if steered is None else steered


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
