"""What LangChainStore needs to know of a vector store, and how most stores answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from perspective_rag import CapabilityError, Passage
from perspective_rag.extend import Matrix, matrix_of

Rows = Sequence[Any]
FILTER_KEYWORDS = ("filter", "expr", "filters", "efficient_filter", "pre_filter", "where")


class StoreAdapter:
    """How to search one kind of vector store, and how to read its vectors back.

    As it stands it serves any store that has ``similarity_search_by_vector``. Override what is
    different in yours; most need ``vectors`` alone. An adapter holds nothing of a store or a
    request. Pass it to ``LangChainStore(adapter=)`` or ``PerspectiveRetriever(adapter=)``, and
    check it with ``perspective_rag.testing.check_store``. ``store`` below is always the vector
    store.
    """

    id_key: ClassVar[str | None] = None
    """The metadata key of the ids of a store that gives its documents none."""
    filter_name: ClassVar[str | None] = None
    """The store's name for a filter, where its methods take it and do not show it."""
    given_filter_name: str | None = None
    """The name that the application gives."""
    at_hand: ClassVar[bool] = False
    """Whether the vectors lie in this process and cost a look-up instead of a request."""

    def takes_vector(self, store: VectorStore) -> bool:
        """Whether ``by_vector`` can be used."""
        own = ("similarity_search_by_vector", "asimilarity_search_by_vector")
        return self._searches() or any(overrides(store, method) for method in own)

    def by_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """Finds the k nearest documents.

        Args:
            store: The vector store.
            vector: The query's vector.
            k: Maximum number of documents.
            filter: What the caller gave as filter; None: no filter.
            **more: Further search arguments.

        Returns:
            Documents, best first.

        Raises:
            CapabilityError: No name is known for the filter.
        """
        wanted = self._with_filter(store, filter, more)
        return list(store.similarity_search_by_vector(vector, k=k, **wanted))

    async def aby_vector(
        self, store: Any, vector: list[float], *, k: int, filter: Any = None, **more: Any
    ) -> list[Document]:
        """The same as ``by_vector``; used only where ``awaits`` says so, else ``by_vector`` in a
        thread.
        """
        wanted = self._with_filter(store, filter, more)
        return list(await store.asimilarity_search_by_vector(vector, k=k, **wanted))

    def awaits(self, store: VectorStore) -> bool:
        """Whether the store's async search leaves the event loop free, in any loop."""
        # A store that lies in this process computes and never waits: it would block the loop.
        own = overrides(store, "asimilarity_search_by_vector")
        return own and not self.at_hand and not self._searches()

    def in_turn(self, store: Any) -> bool:
        """Whether the store computes in Python, so that searches side by side gain nothing."""
        return False

    def thread_bound(self, store: Any) -> bool:
        """Whether the store works only in the thread that made it."""
        return False

    def takes_filter(self, store: VectorStore) -> bool:
        """Whether ``by_vector`` hands a filter on under a name that is known."""
        known = self.given_filter_name or self.filter_keyword(store)
        return self._searches() or known is not None

    def filter_keyword(
        self, store: VectorStore, method: str = "similarity_search_by_vector"
    ) -> str | None:
        """Finds the store's name for a filter.

        Args:
            store: The vector store.
            method: The method that takes the filter.

        Returns:
            The name as the method's signature shows it, else ``filter_name``. None where neither
            does: a method that takes any name may drop what it does not know.
        """
        named, _ = self.parameters(store, method)
        return next((name for name in FILTER_KEYWORDS if name in named), self.filter_name)

    def parameters(
        self, store: VectorStore, method: str = "similarity_search_by_vector"
    ) -> tuple[frozenset[str], bool]:
        """Lists the parameters of a method of the store.

        Args:
            store: The vector store.
            method: The method's name.

        Returns:
            Their names, and whether it takes any others.
        """
        if not overrides(store, method) and overrides(store, f"a{method}"):
            method = f"a{method}"
        return named_parameters(getattr(store, method))

    def vectors(self, store: Any, passages: Sequence[Passage]) -> Rows:
        """Reads vectors back, in one request.

        Args:
            store: The vector store.
            passages: n passages that the store found.

        Returns:
            n vectors, in their order; None where the store has none.

        Raises:
            NotImplementedError: This kind of store gives no vectors back; ask ``keeps_vectors``
                first.
        """
        raise NotImplementedError(
            f"{type(self).__name__} reads no vectors: write its method vectors, or ask "
            "keeps_vectors before"
        )

    @property
    def keeps_vectors(self) -> bool:
        """Whether ``vectors`` is written for this kind of store."""
        return type(self).vectors is not StoreAdapter.vectors

    def matrix(self, store: VectorStore, passages: Sequence[Passage]) -> Matrix:
        """Reads vectors back as an array.

        Args:
            store: The vector store.
            passages: n passages that the store found.

        Returns:
            Shape (n, d); NaN rows where the store has no vector.
        """
        return matrix_of(self.vectors(store, passages))

    def _with_filter(self, store: Any, filter: Any, more: dict[str, Any]) -> dict[str, Any]:
        if filter is None:
            return more
        name = self.given_filter_name or self.filter_keyword(store)
        if name is None:
            raise no_filter(store)
        return {**more, name: filter}

    def _searches(self) -> bool:
        return type(self).by_vector is not StoreAdapter.by_vector


def overrides(store: VectorStore, method: str) -> bool:
    """Whether a store has a method of its own, and not only LangChain's."""
    return getattr(type(store), method) is not getattr(VectorStore, method)


def named_parameters(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The parameters that a function names, and whether it takes any others by keyword."""
    parameters = inspect.signature(function).parameters.values()
    anything = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    return frozenset(each.name for each in parameters), anything


def no_filter(source: Any) -> CapabilityError:
    """The error for a filter that may not arrive: filters keep tenants apart."""
    return CapabilityError(
        f"{type(source).__name__} shows no parameter for a filter and could drop it in silence: "
        'pass filter_keyword="the name its search has for a filter", or filter in a store that can'
    )


def names_of(passages: Sequence[Passage]) -> list[str]:
    """The ids of passages, each once."""
    return list(dict.fromkeys(passage.id for passage in passages))


def placed(passages: Sequence[Passage], found: Mapping[str, Any]) -> Rows:
    """What was found by id, in the order of the passages."""
    return [found.get(passage.id) for passage in passages]
