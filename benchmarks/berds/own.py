"""A retriever of the user's own: ``module:factory`` that makes it, in whatever framework."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.berds.retrievers import StoreRetriever
from perspective_rag import Passage
from perspective_rag.commands import made_store


def own_retriever(spec: str, passages: Callable[[], list[Passage]] | None = None) -> StoreRetriever:
    """The retriever that ``factory()`` or ``factory(passages)`` returns; see ``made_store``."""
    store, embedder = made_store(spec, passages)
    return StoreRetriever(spec, store, embedder)
