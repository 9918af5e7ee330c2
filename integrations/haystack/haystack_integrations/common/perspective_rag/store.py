"""A Haystack retriever or document store, as perspective_rag searches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.common.perspective_rag.documents import passage_of
from haystack_integrations.common.perspective_rag.sockets import (
    arun_component,
    check_component_kind,
    inputs_of,
    run_component,
)
from perspective_rag import CapabilityError, ConfigError, Hit, Passage
from perspective_rag.extend import (
    Embedder,
    GivenPassages,
    Matrix,
    Store,
    StoreAdapter,
    Vector,
    hit_of,
    in_thread,
    matrix_of,
    scrubbing,
)

_GIVEN = ("query", "query_embedding", "top_k", "filters", "return_embedding")


def _is_local(store: Any) -> bool:
    return bool(store.location == ":memory:" or store.path)


# ``awaits``: where the async client is the database that the sync one has.
ADAPTERS: Mapping[str, StoreAdapter] = MappingProxyType(
    {
        "InMemoryDocumentStore": StoreAdapter(in_turn=lambda store: True),
        "ChromaDocumentStore": StoreAdapter(awaits=lambda store: store._host is not None),
        "QdrantDocumentStore": StoreAdapter(
            awaits=lambda store: not _is_local(store), in_turn=_is_local
        ),
    }
)
"""By the name of the document store's class: no store's package is needed to know the others."""


class HaystackStore:
    """A Haystack retriever component as a Store.

    One that takes ``query_embedding`` is searched by vector, any other that takes ``query`` by
    text. ``top_k`` and ``filters`` are handed on; what the retriever was set to (filters and their
    policy, scaling) holds. A hit's score is its cosine to the query where its vector comes along,
    which a retriever with ``return_embedding`` is asked for; else the retriever's own, where these
    fall from one document to the next. ``run_async`` is used where it sees the same data, else
    ``run`` in a thread. For ``in_turn`` see ``Store``.

    Args:
        retriever: The retriever component.

    Raises:
        ConfigError: It is no retriever, or needs more than a query.
    """

    thread_bound = False

    def __init__(self, retriever: Any) -> None:
        check_component_kind("retriever", retriever)
        inputs = inputs_of(retriever)
        name = type(retriever).__name__
        if not {"query", "query_embedding"} & set(inputs):
            raise ConfigError(
                "retriever must be a Haystack retriever, which takes 'query' or 'query_embedding'; "
                f"{name} takes {', '.join(map(repr, inputs))}"
            )
        more = [key for key, socket in inputs.items() if socket.is_mandatory and key not in _GIVEN]
        if more:
            raise ConfigError(
                f"{name} needs {', '.join(map(repr, more))} too, which nothing here gives it"
            )
        self.retriever = retriever
        self.takes_vector = "query_embedding" in inputs
        named = (getattr(retriever, each, None) for each in ("document_store", "_document_store"))
        self._document_store = store = next((each for each in named if each is not None), None)
        adapter = StoreAdapter.of(store, ADAPTERS)
        self._awaits = adapter.awaits is None or adapter.awaits(store)
        self.in_turn = adapter.in_turn(store)
        self._inputs = frozenset(inputs)
        self._keeps_embedding = bool(getattr(retriever, "return_embedding", True))

    @property
    def takes_filter(self) -> bool:
        """Whether a filter reaches the retriever."""
        return "filters" in self._inputs

    def check_filter(self) -> None:
        """Raises CapabilityError where the retriever takes no ``filters``."""
        if not self.takes_filter:
            raise CapabilityError(
                f"{type(self.retriever).__name__} takes no filters: set them on that retriever, or "
                "use one whose run takes filters"
            )

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """Finds at most k documents, with a filter in Haystack's form; see ``Store.search``.

        Raises:
            CapabilityError: A filter cannot reach the retriever, or it searches by vector and none
                is given.
        """
        wanted = self._inputs_for(text, vector, k, filter)
        with scrubbing(self.retriever, self._document_store):
            found = run_component(self.retriever, **wanted)
        return self._hits(found["documents"][:k], vector)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The same as ``search``, without blocking the event loop."""
        wanted = self._inputs_for(text, vector, k, filter)
        with scrubbing(self.retriever, self._document_store):
            if self._awaits:
                found = await arun_component(self.retriever, **wanted)
            else:
                found = await in_thread(run_component, self.retriever, **wanted)
        return self._hits(found["documents"][:k], vector)

    def _inputs_for(self, text: str, vector: Vector | None, k: int, filter: Any) -> dict[str, Any]:
        if filter is not None:
            self.check_filter()
        if self.takes_vector and vector is None:
            raise CapabilityError("this retriever searches by vector: pass text_embedder=")
        values = {
            "query": text,
            "query_embedding": None if vector is None else np.asarray(vector, float).tolist(),
            "top_k": k,
            "filters": filter,
            "return_embedding": True if self.takes_vector else None,
        }
        return {
            name: value
            for name, value in values.items()
            if name in self._inputs and value is not None
        }

    def _hits(self, documents: Sequence[Document], vector: Vector | None) -> list[Hit]:
        known = [document.score for document in documents if document.score is not None]
        falling = len(known) == len(documents) and known == sorted(known, reverse=True)
        hits = []
        for document in documents:
            row = document.embedding if self.takes_vector else None
            if not self._keeps_embedding:
                document = replace(document, embedding=None)
            score = document.score if falling else None
            own = None if row is None else np.array(row)
            hits.append(hit_of(passage_of(document), own, vector, score))
        return hits


class GivenDocuments(GivenPassages):
    """``GivenPassages`` with the scores and the embeddings that documents bring along."""

    def __init__(self, documents: Sequence[Document], *, takes_vector: bool) -> None:
        rows = [None if each.embedding is None else np.array(each.embedding) for each in documents]
        self.hits = [
            Hit(passage_of(document), document.score, row)
            for document, row in zip(documents, rows, strict=True)
        ]
        super().__init__([hit.passage for hit in self.hits], takes_vector=takes_vector)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        rows = {hit.passage.id: hit.embedding for hit in self.hits}
        return matrix_of([rows.get(passage.id) for passage in passages])


def retriever_over(document_store: Any, *, by_vector: bool) -> Any:
    """The retriever of an InMemoryDocumentStore; raises ConfigError for another store."""
    from haystack.components.retrievers.in_memory import (
        InMemoryBM25Retriever,
        InMemoryEmbeddingRetriever,
    )

    if not isinstance(document_store, InMemoryDocumentStore):
        raise ConfigError(
            "document_store must be an InMemoryDocumentStore, got a "
            f"{type(document_store).__name__}: pass the store's own retriever component, retriever="
        )
    kind = InMemoryEmbeddingRetriever if by_vector else InMemoryBM25Retriever
    return kind(document_store=document_store)


def as_store(source: Any) -> tuple[Store, Embedder | None]:
    """A Haystack retriever, or an InMemoryDocumentStore (searched by BM25), as a store of a plain
    pipeline, and None: retrievers do not say which embedder goes with them. Raises ConfigError for
    anything else.
    """
    if isinstance(source, InMemoryDocumentStore):
        return HaystackStore(retriever_over(source, by_vector=False)), None
    return HaystackStore(source), None
