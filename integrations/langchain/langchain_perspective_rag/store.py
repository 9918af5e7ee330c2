"""LangChain's vector stores and retrievers as stores of the pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_perspective_rag.documents import passage_of
from langchain_perspective_rag.steering import SteerableEmbeddings, steered_to
from langchain_perspective_rag.tracing import atraced_search, child_config, traced_search
from langchain_perspective_rag.vectors_back import READERS
from perspective_rag import CapabilityError, Hit, Passage
from perspective_rag.threads import in_thread
from perspective_rag.types import Matrix, Vector
from perspective_rag.vectors import cosine

FILTER_KEYWORDS = ("filter", "expr", "filters", "efficient_filter", "pre_filter")


@dataclass(frozen=True, slots=True)
class Traits:
    """Where a store differs from the others.

    ``id_key``: the metadata key of its ids; ``async_usable``: whether its async methods can be
    used; ``overfetch``: a store that filters what it found must find this many times more.
    """

    id_key: str | None = None
    async_usable: bool = True
    overfetch: int = 0


TRAITS = {
    "QdrantVectorStore": Traits(id_key="_id"),
    "Qdrant": Traits(id_key="_id"),
    # Its async client belongs to the event loop that used it first and fails in the next one.
    "Milvus": Traits(id_key="pk", async_usable=False),
    "FAISS": Traits(overfetch=20),
}
"""By the name of the store's class, so that no store's package is needed."""


class LangChainStore:
    """Any LangChain ``VectorStore`` as a Store.

    Searches by vector; a store that cannot (``takes_vector`` is then False) is searched by text,
    unless it was made with ``SteerableEmbeddings``. What stores call a score means something else
    in each of them, distances included, so none is used: hits carry the cosine to the query where
    the vectors are at hand, else their order alone. ``embeddings_of`` exists where the store's
    vectors can be read back (``vectors_back``).

    A filter reaches every search under the name the store's own method has for it, or
    ``filter_keyword``; ``search_kwargs`` are added to every search. The store's own async methods
    are used where it has any, else its sync ones in a thread.
    """

    embeddings_of: Callable[[Sequence[Passage]], Matrix]

    def __init__(
        self,
        vectorstore: VectorStore,
        *,
        filter_keyword: str | None = None,
        search_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.vectorstore = vectorstore
        self.search_kwargs = dict(search_kwargs or {})
        self._by_vector = _overrides(vectorstore, "similarity_search_by_vector")
        steerable = isinstance(vectorstore.embeddings, SteerableEmbeddings)
        self.takes_vector = self._by_vector or steerable
        method = "similarity_search_by_vector" if self._by_vector else "similarity_search"
        self._search = getattr(vectorstore, method)
        self._asearch = getattr(vectorstore, f"a{method}")
        self._traits = _of_class(vectorstore, TRAITS) or Traits()
        self.filter_keyword = filter_keyword or _filter_keyword(self._search)
        reader = _of_class(vectorstore, READERS)
        self._at_hand = reader is not None and reader.at_hand
        if reader is not None:
            self.embeddings_of = partial(reader.matrix, vectorstore)
        # A store that lies in this process computes and never waits: its async methods would block.
        self._native_async = (
            self._traits.async_usable
            and not self._at_hand
            and _overrides(vectorstore, f"a{method}")
        )

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k nearest documents, best first."""
        query, steering, wanted = self._call(text, vector, k, filter)

        def find() -> list[Document]:
            with steering:
                return list(self._search(query, **wanted))

        return self._hits(traced_search(type(self.vectorstore).__name__, text, find), vector)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same, without blocking the event loop."""
        if not self._native_async:
            return await in_thread(self.search, text, vector, k=k, filter=filter)
        query, steering, wanted = self._call(text, vector, k, filter)

        async def find() -> list[Document]:
            with steering:
                return list(await self._asearch(query, **wanted))

        found = await atraced_search(type(self.vectorstore).__name__, text, find)
        return self._hits(found, vector)

    def _call(
        self, text: str, vector: Vector | None, k: int, filter: Any
    ) -> tuple[str | list[float], Any, dict[str, Any]]:
        wanted = {**self.search_kwargs, "k": k}
        if filter is not None:
            wanted[self.filter_keyword] = filter
            if self._traits.overfetch:
                wanted.setdefault("fetch_k", self._traits.overfetch * k)
        # Several stores refuse numpy arrays.
        values = None if vector is None else [float(value) for value in vector]
        if self._by_vector:
            if values is None:
                raise CapabilityError("this store searches by vector: pass embedder=")
            return values, nullcontext(), wanted
        steering = steered_to(values) if self.takes_vector and values is not None else nullcontext()
        return text, steering, wanted

    def _hits(self, documents: Sequence[Document], vector: Vector | None) -> list[Hit]:
        passages = [passage_of(each, id_key=self._traits.id_key) for each in documents]
        if vector is None or not self._at_hand or not passages:
            return [Hit(passage) for passage in passages]
        rows = self.embeddings_of(passages)
        hits = []
        for passage, row in zip(passages, rows, strict=True):
            known = bool(np.isfinite(row).all())
            score = (
                float(cosine(row[None, :], np.asarray(vector)[None, :])[0, 0]) if known else None
            )
            hits.append(Hit(passage, score, row if known else None))
        return hits


class RetrieverStore:
    """Any retriever as a Store that is searched by text.

    ``k`` and ``filter`` are handed on where the retriever takes them at each call; else it returns
    as many as it always does, and a filter raises CapabilityError.
    """

    takes_vector = False

    def __init__(
        self,
        retriever: Runnable[str, list[Document]],
        *,
        search_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.retriever = retriever
        self.search_kwargs = dict(search_kwargs or {})
        named, anything = _parameters(retriever)
        # A retriever that takes any name may pass it on or fail: k is only sent where it is listed,
        # a filter that was asked for wherever it may arrive.
        self._takes_k = "k" in named or isinstance(retriever, VectorStoreRetriever)
        self.takes_filter = "filter" in named or anything

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """What the retriever finds, at most k."""
        wanted = self._wanted(k, filter)
        found = self.retriever.invoke(text, config=child_config("search"), **wanted)
        return [Hit(passage_of(document)) for document in found[:k]]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same, through the retriever's ``ainvoke``."""
        wanted = self._wanted(k, filter)
        found = await self.retriever.ainvoke(text, config=child_config("search"), **wanted)
        return [Hit(passage_of(document)) for document in found[:k]]

    def _wanted(self, k: int, filter: Any) -> dict[str, Any]:
        wanted = dict(self.search_kwargs)
        if self._takes_k:
            wanted["k"] = k
        if filter is not None:
            if not self.takes_filter:
                raise CapabilityError(
                    f"{type(self.retriever).__name__} takes no filter: set it on that retriever, "
                    "or pass the vector store itself"
                )
            wanted["filter"] = filter
        return wanted


def _overrides(vectorstore: VectorStore, method: str) -> bool:
    return getattr(type(vectorstore), method) is not getattr(VectorStore, method)


def _of_class(vectorstore: VectorStore, table: Mapping[str, Any]) -> Any:
    names = (base.__name__ for base in type(vectorstore).__mro__)
    return next((table[name] for name in names if name in table), None)


def _filter_keyword(method: Callable[..., Any]) -> str:
    names = inspect.signature(method).parameters
    return next((name for name in FILTER_KEYWORDS if name in names), "filter")


def _parameters(retriever: Runnable[str, list[Document]]) -> tuple[set[str], bool]:
    if not isinstance(retriever, BaseRetriever):
        return set(), False
    parameters = inspect.signature(retriever._get_relevant_documents).parameters
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return set(parameters), anything
