"""LangChain's vector stores and retrievers as stores of the pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_perspective_rag.adapters import adapter_of
from langchain_perspective_rag.documents import passage_of
from langchain_perspective_rag.embeddings import SteerableEmbeddings, steered_to
from langchain_perspective_rag.models import LangChainEmbedder
from langchain_perspective_rag.tracing import achild_run, child_config, child_run
from perspective_rag import CapabilityError, ConfigError, Hit, Passage
from perspective_rag.extend import (
    Embedder,
    Matrix,
    Store,
    StoreAdapter,
    Vector,
    in_thread,
    scrubbing,
)

FILTER_KEYWORDS = ("filter", "expr", "filters", "efficient_filter", "pre_filter", "where")


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
        self.in_turn = self.adapter.in_turn(vectorstore)
        self.thread_bound = self.adapter.thread_bound(vectorstore)
        if self.adapter.vectors is not None:
            self.embeddings_of = partial(self.adapter.matrix, vectorstore)
        by_vector = "similarity_search_by_vector"
        self._by_vector = self.adapter.search is not None or any(
            _overrides(vectorstore, method) for method in (by_vector, f"a{by_vector}")
        )
        steerable = isinstance(vectorstore.embeddings, SteerableEmbeddings)
        self.takes_vector = self._by_vector or steerable
        self._method = by_vector if self._by_vector else "similarity_search"
        self._has_sync = self.adapter.search is not None or _overrides(vectorstore, self._method)
        has_async = _overrides(vectorstore, f"a{self._method}")
        # A store that lies in this process computes and never waits: it would block the loop.
        self._awaits = has_async
        if self._by_vector:
            self._awaits &= not self.adapter.at_hand and self.adapter.search is None
            if self.adapter.awaits is not None:
                self._awaits = self.adapter.awaits(vectorstore)
        shown_by = f"a{self._method}" if has_async and not self._has_sync else self._method
        self._named = _parameters(getattr(vectorstore, shown_by))
        self._filter_name = filter_keyword or _filter_in(self._named) or self.adapter.filter_name
        if self.adapter.search is not None:
            self._filter_name = "filter"
        for name in self.search_kwargs:
            if name in FILTER_KEYWORDS and not self._takes(name):
                raise self._no_filter()

    @property
    def takes_filter(self) -> bool:
        """Whether a filter reaches the store under a name that is known."""
        return self._filter_name is not None

    def check_filter(self) -> None:
        """Raises CapabilityError where no name for a filter is known: it would not arrive."""
        if not self.takes_filter:
            raise self._no_filter()

    def _no_filter(self) -> CapabilityError:  # filters keep tenants apart
        return CapabilityError(
            f"{type(self.vectorstore).__name__} shows no parameter for a filter and could drop it "
            'in silence: pass filter_keyword="the name its search has for a filter", or filter in '
            "a store that can"
        )

    def unnamed(self, search_kwargs: Mapping[str, Any]) -> list[str]:
        """Lists search arguments of which it is not known whether the store reads them."""
        return [name for name in search_kwargs if name != "k" and not self._takes(name)]

    def _takes(self, name: str) -> bool:
        return name == self._filter_name or name in self._named

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """Finds the k nearest documents; see ``Store.search``.

        Raises:
            CapabilityError: A filter cannot reach the store, or it cannot search in this way.
        """
        asked, wanted = self._asked(text, vector, k, filter)
        with child_run("search", "retriever", type(self.vectorstore).__name__, text) as end:
            found, hits = self._find(asked, wanted, vector)
            end(found)
        return hits

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same as ``search``, without blocking the event loop."""
        asked, wanted = self._asked(text, vector, k, filter)
        async with achild_run("search", "retriever", type(self.vectorstore).__name__, text) as end:
            if self._awaits:
                find = getattr(self.vectorstore, f"a{self._method}")
                with self._failing(), self._steering(vector):
                    found = list(await find(asked, **wanted))
                hits = self._hits(found, vector)
            else:
                found, hits = await in_thread(self._find, asked, wanted, vector)
            end(found)
        return hits

    def _asked(
        self, text: str, vector: Vector | None, k: int, filter: Any
    ) -> tuple[str | list[float], dict[str, Any]]:
        """What the store is asked for, and with which further arguments."""
        wanted = {**self.search_kwargs, "k": k}
        if filter is not None:
            self.check_filter()
            wanted[str(self._filter_name)] = filter
        if not self._by_vector:
            return text, wanted
        if vector is None:
            raise CapabilityError("this store searches by vector: pass embedder=")
        return vector.tolist(), wanted  # several stores refuse numpy arrays

    def _find(
        self, asked: str | list[float], wanted: dict[str, Any], vector: Vector | None
    ) -> tuple[list[Document], list[Hit]]:
        search = self.adapter.search
        if search is None:
            find = getattr(self.vectorstore, self._method)
        else:
            find = partial(search, self.vectorstore)
        alone = self._awaits and not (self._by_vector and self._has_sync)
        with self._failing(alone=alone), self._steering(vector):
            found = list(find(asked, **wanted))
        return found, self._hits(found, vector)

    def _hits(self, documents: Sequence[Document], vector: Vector | None) -> list[Hit]:
        passages = [passage_of(each, id_key=self.adapter.id_key) for each in documents]
        return self.adapter.hits(self.vectorstore, passages, vector)

    @contextmanager
    def _steering(self, vector: Vector | None) -> Iterator[None]:
        steers = vector is not None and self.takes_vector and not self._by_vector
        with steered_to(vector.tolist()) if steers and vector is not None else nullcontext():
            yield

    @contextmanager
    def _failing(self, *, alone: bool = False) -> Iterator[None]:
        """Says what to do about a search that is not there, be it that it raises or was never
        written; ``alone``: only the asynchronous one is.
        """
        with scrubbing(self.vectorstore):
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
        # A retriever that takes any name may pass it on, fail or drop it: only what it lists is
        # sent.
        named: frozenset[str] = frozenset()
        if isinstance(retriever, BaseRetriever):
            named = _parameters(retriever._get_relevant_documents)
        self._takes_k = "k" in named or isinstance(retriever, VectorStoreRetriever)
        self._filter_name = filter_keyword or ("filter" if "filter" in named else None)
        if self._filter_name is None and isinstance(retriever, VectorStoreRetriever):
            store = retriever.vectorstore
            shown = _filter_in(_parameters(store.similarity_search))
            self._filter_name = shown or adapter_of(store).filter_name

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
        wanted = {**self.search_kwargs, "k": k} if self._takes_k else dict(self.search_kwargs)
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


def as_store(source: Any) -> tuple[Store, Embedder | None]:
    """A LangChain vector store or retriever as a store of a plain pipeline, and the embedder that
    goes with it: None where the source does not say its embeddings. Raises ConfigError for anything
    else.
    """
    if isinstance(source, VectorStore):
        embeddings = source.embeddings
        return LangChainStore(source), LangChainEmbedder(embeddings) if embeddings else None
    if isinstance(source, Runnable):
        return RetrieverStore(source), None
    raise ConfigError(
        f"expected a LangChain vector store or retriever, got a {type(source).__name__}"
    )


def _overrides(store: VectorStore, method: str) -> bool:
    """Whether a store has a method of its own, and not only LangChain's."""
    return getattr(type(store), method) is not getattr(VectorStore, method)


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _filter_in(named: frozenset[str]) -> str | None:
    """The name for a filter that a signature shows; what takes any name may drop a filter."""
    return next((name for name in FILTER_KEYWORDS if name in named), None)
