"""LangChain's vector stores and retrievers as stores of the pipeline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_perspective_rag.adapters import StoreAdapter, adapter_of
from langchain_perspective_rag.adapters.base import (
    FILTER_KEYWORDS,
    named_parameters,
    no_filter,
    overrides,
)
from langchain_perspective_rag.documents import passage_of
from langchain_perspective_rag.steering import SteerableEmbeddings, steered_to
from langchain_perspective_rag.tracing import atraced_search, child_config, traced_search
from perspective_rag import CapabilityError, Hit, Passage
from perspective_rag.extend import Matrix, Vector, in_thread, scored_hits, scrubbing


class LangChainStore:
    """A LangChain ``VectorStore`` as a Store, searched by vector.

    A store that cannot is searched by text (``takes_vector`` is then False), unless it was made
    with ``SteerableEmbeddings``. Its own scores mean something else in each store and are not used:
    hits carry the cosine to the query where the vectors are at hand, else their order alone.
    ``embeddings_of`` exists where the vectors can be read back. Its async methods are used where
    they leave the event loop free, else the sync ones in a thread. For ``in_turn`` and
    ``thread_bound`` see ``Store``.

    Args:
        vectorstore: The vector store.
        adapter: Knows what is special about this kind of store; None: the one for its class, else
            the one for any store.
        filter_keyword: The store's name for a filter; None: as its method's signature shows it.
        search_kwargs: Added to every search.

    Raises:
        CapabilityError: ``search_kwargs`` hold a filter under a name that the store does not show:
            it may drop it.
    """

    in_turn: bool
    thread_bound: bool
    embeddings_of: Callable[[Sequence[Passage]], Matrix]

    def __init__(
        self,
        vectorstore: VectorStore,
        *,
        adapter: StoreAdapter | None = None,
        filter_keyword: str | None = None,
        search_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.vectorstore = vectorstore
        self.search_kwargs = dict(search_kwargs or {})
        self.adapter = adapter or adapter_of(vectorstore)
        if filter_keyword is not None:
            self.adapter = copy.copy(self.adapter)
            self.adapter.given_filter_name = filter_keyword
        self.in_turn = self.adapter.in_turn(vectorstore)
        self.thread_bound = self.adapter.thread_bound(vectorstore)
        self._by_vector = self.adapter.takes_vector(vectorstore)
        self.takes_vector = self._by_vector or isinstance(
            vectorstore.embeddings, SteerableEmbeddings
        )
        if self.adapter.keeps_vectors:
            self.embeddings_of = partial(self.adapter.matrix, vectorstore)
        self._awaits = (
            self.adapter.awaits(vectorstore)
            if self._by_vector
            else overrides(vectorstore, "asimilarity_search")
        )
        for name in self.search_kwargs:
            if name in FILTER_KEYWORDS and not self._takes(name):
                raise no_filter(vectorstore)

    @property
    def takes_filter(self) -> bool:
        """Whether a filter reaches the store under a name that is known."""
        return self._filter_name() is not None

    def check_filter(self) -> None:
        """Checks that a filter reaches the store.

        Raises:
            CapabilityError: No name for a filter is known.
        """
        if not self.takes_filter:
            raise no_filter(self.vectorstore)

    def unnamed(self, search_kwargs: Mapping[str, Any]) -> list[str]:
        """Lists search arguments of which it is not known whether the store reads them.

        Args:
            search_kwargs: The search arguments.

        Returns:
            Their names.
        """
        return [name for name in search_kwargs if name != "k" and not self._takes(name)]

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """Finds the k nearest documents; see ``Store.search``.

        Raises:
            CapabilityError: A filter cannot reach the store, or it cannot search in this way.
        """
        values, wanted = self._call(vector, k, filter)
        name = type(self.vectorstore).__name__
        found = traced_search(name, text, lambda: self._find(text, values, wanted))
        return self._hits(found, vector)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same as ``search``, without blocking the event loop."""
        values, wanted = self._call(vector, k, filter)
        hits: list[Hit] = []

        def in_this_thread() -> list[Document]:
            found = self._find(text, values, wanted)
            hits.extend(self._hits(found, vector))
            return found

        async def find() -> list[Document]:
            if not self._awaits:
                return await in_thread(in_this_thread)
            found = await self._afind(text, values, wanted)
            hits.extend(self._hits(found, vector))
            return found

        await atraced_search(type(self.vectorstore).__name__, text, find)
        return hits

    def _find(
        self, text: str, values: list[float] | None, wanted: dict[str, Any]
    ) -> list[Document]:
        vectorstore, written = self.vectorstore, "similarity_search_by_vector"
        alone = self._awaits and not (self._by_vector and overrides(vectorstore, written))
        with scrubbing(vectorstore), self._what_to_do(alone=alone):
            if self._by_vector and values is not None:
                return self.adapter.by_vector(self.vectorstore, values, **wanted)
            with self._steering(values):
                return list(self.vectorstore.similarity_search(text, **wanted))

    async def _afind(
        self, text: str, values: list[float] | None, wanted: dict[str, Any]
    ) -> list[Document]:
        with scrubbing(self.vectorstore), self._what_to_do():
            if self._by_vector and values is not None:
                return await self.adapter.aby_vector(self.vectorstore, values, **wanted)
            with self._steering(values):
                return list(await self.vectorstore.asimilarity_search(text, **wanted))

    def _call(
        self, vector: Vector | None, k: int, filter: Any
    ) -> tuple[list[float] | None, dict[str, Any]]:
        if self._by_vector and vector is None:
            raise CapabilityError("this store searches by vector: pass embedder=")
        wanted = {**self.search_kwargs, "k": k}
        if filter is not None:
            name = self._filter_name()
            if name is None:
                raise no_filter(self.vectorstore)
            wanted[name] = filter
        # Several stores refuse numpy arrays.
        return None if vector is None else np.asarray(vector).tolist(), wanted

    def _filter_name(self) -> str | None:
        if self._by_vector:  # by_vector has its own name for it
            return "filter" if self.adapter.takes_filter(self.vectorstore) else None
        return self.adapter.given_filter_name or self.adapter.filter_keyword(
            self.vectorstore, "similarity_search"
        )

    def _takes(self, name: str) -> bool:
        if name in (self.adapter.given_filter_name, self._filter_name()):
            return True
        method = "similarity_search_by_vector" if self._by_vector else "similarity_search"
        return name in self.adapter.parameters(self.vectorstore, method)[0]

    def _steering(self, values: list[float] | None) -> AbstractContextManager[None]:
        return nullcontext() if values is None or not self.takes_vector else steered_to(values)

    @contextmanager
    def _what_to_do(self, *, alone: bool = False) -> Iterator[None]:
        """Says what to do about a search that is not there, be it that it raises or was never
        written; ``alone``: only the asynchronous one is.
        """
        try:
            yield
        except NotImplementedError as error:
            kind = type(self.vectorstore).__name__
            if alone:
                problem = f"{kind} searches asynchronously alone: use ainvoke or aretrieve"
            elif self._by_vector:
                problem = (
                    f"{kind} cannot search by vector: search it by text, with "
                    "retriever=vectorstore.as_retriever()"
                )
            else:
                raise
            raise CapabilityError(problem) from error

    def _hits(self, documents: Sequence[Document], vector: Vector | None) -> list[Hit]:
        passages = [passage_of(each, id_key=self.adapter.id_key) for each in documents]
        at_hand = self.adapter.at_hand and self.adapter.keeps_vectors
        if vector is None or not at_hand or not passages:
            return [Hit(passage) for passage in passages]
        return scored_hits(passages, self.embeddings_of(passages), vector)


class RetrieverStore:
    """Any retriever as a Store that is searched by text.

    ``k`` and ``filter`` are handed on where the retriever takes them at each call, the filter also
    as ``filter_keyword``; else it returns as many as it always does, and a filter raises
    CapabilityError.
    """

    takes_vector = False

    def __init__(
        self,
        retriever: Runnable[str, list[Document]],
        *,
        search_kwargs: Mapping[str, Any] | None = None,
        filter_keyword: str | None = None,
    ) -> None:
        self.retriever = retriever
        self.search_kwargs = dict(search_kwargs or {})
        named = _parameters(retriever)
        # A retriever that takes any name may pass it on, fail or drop it: only what it lists is
        # sent.
        self._takes_k = "k" in named or isinstance(retriever, VectorStoreRetriever)
        self._filter_name = filter_keyword or ("filter" if "filter" in named else None)
        if self._filter_name is None and isinstance(retriever, VectorStoreRetriever):
            store = retriever.vectorstore
            self._filter_name = adapter_of(store).filter_keyword(store, "similarity_search")

    @property
    def takes_filter(self) -> bool:
        """Whether a filter reaches the retriever under a name that is known."""
        return self._filter_name is not None

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """What the retriever finds, at most k."""
        wanted = self._arguments(k, filter)
        with scrubbing(self.retriever):
            found = self.retriever.invoke(text, config=child_config("search"), **wanted)
        return [Hit(passage_of(document)) for document in found[:k]]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same, through the retriever's ``ainvoke``."""
        wanted = self._arguments(k, filter)
        with scrubbing(self.retriever):
            found = await self.retriever.ainvoke(text, config=child_config("search"), **wanted)
        return [Hit(passage_of(document)) for document in found[:k]]

    def _arguments(self, k: int, filter: Any) -> dict[str, Any]:
        wanted = dict(self.search_kwargs)
        if self._takes_k:
            wanted["k"] = k
        if filter is not None:
            self.check_filter()
            wanted[str(self._filter_name)] = filter
        return wanted

    def check_filter(self) -> None:
        """Raises CapabilityError where a filter could not reach the retriever."""
        if not self.takes_filter:
            raise CapabilityError(
                f"{type(self.retriever).__name__} takes no filter that can be seen: set it on that "
                "retriever, name it with filter_keyword=, or pass vectorstore= instead"
            )


def _parameters(retriever: Runnable[str, list[Document]]) -> frozenset[str]:
    if not isinstance(retriever, BaseRetriever):
        return frozenset()
    return named_parameters(retriever._get_relevant_documents)[0]
