"""What LangChainStore needs to know of a vector store, and how most stores answer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from perspective_rag import Passage
from perspective_rag.types import Matrix

Rows = Sequence[Any]
FILTER_KEYWORDS = ("filter", "expr", "filters", "efficient_filter", "pre_filter")


class StoreAdapter:
    """How to search one kind of vector store, and how to read its vectors back.

    The methods as they stand serve any store that has ``similarity_search_by_vector``. An adapter
    of your own overrides what is different in yours; most need ``vectors`` alone. It is handed to
    ``LangChainStore(adapter=)`` or ``PerspectiveRetriever(adapter=)``, holds nothing of a store or
    a request, and is checked with ``perspective_rag.testing.check_store``.
    """

    id_key: ClassVar[str | None] = None
    """The metadata key of the ids of a store that gives its documents none."""
    at_hand: ClassVar[bool] = False
    """Whether the vectors lie in this process and cost a look-up instead of a request."""

    def takes_vector(self, store: VectorStore) -> bool:
        """Whether ``by_vector`` can be used."""
        own = ("similarity_search_by_vector", "asimilarity_search_by_vector")
        return self._searches() or any(overrides(store, method) for method in own)

    def by_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """The k nearest documents, best first; ``filter`` is None or what the caller gave."""
        if filter is not None:
            more[self.filter_keyword(store)] = filter
        return list(store.similarity_search_by_vector(vector, k=k, **more))

    async def aby_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """The same; used only where ``awaits`` says so, else ``by_vector`` in a thread."""
        if filter is not None:
            more[self.filter_keyword(store)] = filter
        return list(await store.asimilarity_search_by_vector(vector, k=k, **more))

    def awaits(self, store: VectorStore) -> bool:
        """Whether the store's async search leaves the event loop free, in any loop."""
        # A store that lies in this process computes and never waits: it would block the loop.
        own = overrides(store, "asimilarity_search_by_vector")
        return own and not self.at_hand and not self._searches()

    def in_turn(self, store: Any) -> bool:
        """Whether the store computes in Python, so that searches side by side gain nothing."""
        return False

    def filter_keyword(
        self, store: VectorStore, method: str = "similarity_search_by_vector"
    ) -> str:
        """The store's own name for a filter, as its method's signature shows it."""
        if not overrides(store, method) and overrides(store, f"a{method}"):
            method = f"a{method}"
        names = inspect.signature(getattr(store, method)).parameters
        return next((name for name in FILTER_KEYWORDS if name in names), "filter")

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """The vector of each passage, in order, from one request; None where there is none."""
        raise NotImplementedError(
            f"{type(self).__name__} reads no vectors: write its method vectors, or ask "
            "keeps_vectors before"
        )

    @property
    def keeps_vectors(self) -> bool:
        """Whether ``vectors`` is written for this kind of store."""
        return type(self).vectors is not StoreAdapter.vectors

    def matrix(self, store: VectorStore, passages: Sequence[Passage]) -> Matrix:
        """``vectors`` as shape (n, d); NaN rows where the store has none."""
        rows = self.vectors(store, passages)
        width = next((len(row) for row in rows if row is not None), 1)
        result = np.full((len(passages), width), np.nan)
        for index, row in enumerate(rows):
            if row is not None:
                result[index] = row
        return result

    def _searches(self) -> bool:
        return type(self).by_vector is not StoreAdapter.by_vector


def overrides(store: VectorStore, method: str) -> bool:
    """Whether a store has a method of its own, and not only LangChain's."""
    return getattr(type(store), method) is not getattr(VectorStore, method)


def names_of(passages: Sequence[Passage]) -> list[str]:
    """The ids of passages, each once."""
    return list(dict.fromkeys(passage.id for passage in passages))


def placed(passages: Sequence[Passage], found: Mapping[str, Any]) -> Rows:
    """What was found by id, in the order of the passages."""
    return [found.get(passage.id) for passage in passages]
