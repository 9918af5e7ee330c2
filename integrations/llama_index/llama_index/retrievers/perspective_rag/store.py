"""A LlamaIndex index or retriever, as perspective_rag searches it."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.indices.base import BaseIndex
from llama_index.core.retrievers import BaseRetriever, VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import FilterCondition, MetadataFilters
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQueryMode

from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder
from llama_index.retrievers.perspective_rag.nodes import passage_of
from perspective_rag import CapabilityError, ConfigError, Hit, Passage
from perspective_rag.extend import (
    Embedder,
    KeepsEmbeddings,
    Matrix,
    Store,
    StoreAdapter,
    Vector,
    chroma_vectors,
    faiss_vectors,
    hit_of,
    in_thread,
    is_local_qdrant,
    qdrant_vectors,
    scrubbing,
)

_BY_WORDS = (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE)


class LlamaIndexStore:
    """A LlamaIndex index or retriever as a Store.

    A VectorStoreIndex or VectorIndexRetriever is asked for as many nodes as a search wants; any
    other retriever returns as many as it is set to. Scores of stores are not used, since
    similarities and distances come under one name: a hit carries the cosine to the query where its
    vector is at hand, else the order alone. ``given`` holds the source's own scores for the
    question, by node id. ``embeddings_of`` exists where the vectors can be read back. For
    ``in_turn`` and ``thread_bound`` see ``Store``.

    Args:
        source: The index or retriever; a VectorIndexRetriever keeps its mode and filters.
        filters: Go with every search of a VectorStoreIndex.
        takes_vector: Whether the retriever reads ``QueryBundle.embedding``; None: as a
            VectorStoreIndex or VectorIndexRetriever says, and False for others.
        adapter: Knows what is special about a vector store; None: the one for its class, else the
            one for any store.

    Raises:
        ConfigError: ``source`` is neither an index nor a retriever.
        CapabilityError: ``filters`` cannot reach the source.
    """

    embeddings_of: Callable[[Sequence[Passage]], Matrix]

    def __init__(
        self,
        source: BaseIndex[Any] | BaseRetriever,
        *,
        filters: MetadataFilters | None = None,
        takes_vector: bool | None = None,
        adapter: StoreAdapter | None = None,
    ) -> None:
        if not isinstance(source, (BaseIndex, BaseRetriever)):
            kind = type(source).__name__
            raise ConfigError(f"source must be a LlamaIndex index or retriever, got a {kind}")
        self._source = source
        self._plain = source if isinstance(source, BaseRetriever) else source.as_retriever()
        by_index = isinstance(self._plain, VectorIndexRetriever)
        self._vectors: Any = getattr(self._plain, "_vector_store", None) if by_index else None
        self._bundle: QueryBundle | None = None
        self.given: dict[str, float] = {}
        self.takes_vector = _takes_vector(self._plain) if takes_vector is None else takes_vector
        self.check_filters(filters)
        self._filters = filters
        self._adapter = adapter or _adapter_of(self._plain)
        self.in_turn = self._adapter.in_turn(self._vectors)
        self.thread_bound = self._adapter.thread_bound(self._vectors)
        if self._adapter.vectors is not None and self.takes_vector:
            self.embeddings_of = partial(self._adapter.matrix, self._vectors)

    @property
    def plain(self) -> BaseRetriever:
        """The retriever without perspectives."""
        return self._plain

    @property
    def embed_model(self) -> BaseEmbedding | None:
        """The model that embedded a VectorStoreIndex; None where the vectors are not known."""
        return self._plain._embed_model if isinstance(self._plain, VectorIndexRetriever) else None

    def for_query(self, bundle: QueryBundle) -> LlamaIndexStore:
        """A copy for one query, whose image and custom embedding texts go with the searches."""
        own = copy.copy(self)
        own._bundle = bundle
        own.given = {}
        return own

    def narrowed(self, filters: MetadataFilters) -> LlamaIndexStore:
        """A copy with filters that hold besides its own; raises as ``check_filters`` does."""
        self.check_filters(filters)
        own = copy.copy(self)
        own._filters = joined(self._filters, filters)
        return own

    def check_filters(self, filters: MetadataFilters | None) -> None:
        """Raises CapabilityError where filters cannot reach the source."""
        if filters is not None and not isinstance(self._source, VectorStoreIndex):
            raise CapabilityError(
                f"filters cannot be handed to a {type(self._source).__name__}: pass the "
                "VectorStoreIndex itself, or index.as_retriever(filters=...)"
            )

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """Finds at most k nodes; ``filter``, MetadataFilters, adds to ``filters``. See
        ``Store.search``.
        """
        retriever, query = self._retriever(k, filter), self._query(text, vector)
        return self._hits(text, vector, self._retrieve(retriever, query)[:k])

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The same as ``search``, without blocking the event loop."""
        retriever, query = self._retriever(k, filter), self._query(text, vector)
        nodes: list[NodeWithScore] = []

        async def retrieve() -> None:
            with self._nothing_is_no_error():
                nodes.extend(await retriever.aretrieve(query))

        if not self._awaits(retriever):
            nodes += await in_thread(self._retrieve, retriever, query)
        elif self._adapter.blocks(self._vectors):  # it gets a loop of its own
            await in_thread(lambda: asyncio.run(retrieve()))
        else:
            await retrieve()
        return self._hits(text, vector, nodes[:k])

    def _retrieve(self, retriever: BaseRetriever, query: QueryBundle) -> list[NodeWithScore]:
        with self._nothing_is_no_error():
            return retriever.retrieve(query)
        return []

    @contextmanager
    def _nothing_is_no_error(self) -> Iterator[None]:
        """Passes on errors, without secrets, but those that say only that nothing was found."""
        with scrubbing(self._vectors):
            try:
                yield
            except Exception as error:
                # LanceDB raises a Warning then; some stores fail before the first node.
                if not isinstance(error, Warning) and not self._adapter.is_new(self._vectors):
                    raise

    def _awaits(self, retriever: BaseRetriever) -> bool:
        """Whether ``aretrieve`` leaves the event loop free; LlamaIndex's defaults search in it."""
        if type(retriever)._aretrieve is BaseRetriever._aretrieve:
            return False
        if not isinstance(self._vectors, BasePydanticVectorStore):
            return True
        native = type(self._vectors).aquery is not BasePydanticVectorStore.aquery
        return native and (self._adapter.awaits is None or self._adapter.awaits(self._vectors))

    def _retriever(self, k: int, filters: MetadataFilters | None) -> BaseRetriever:
        """A retriever of its own for a search, so that no other request sees its settings."""
        self.check_filters(filters)
        if isinstance(self._source, VectorStoreIndex):
            wanted = joined(self._filters, filters)
            return self._source.as_retriever(similarity_top_k=k, filters=wanted)
        if isinstance(self._source, VectorIndexRetriever):
            own = copy.copy(self._source)
            own.similarity_top_k = k
            return own
        return self._plain

    def _query(self, text: str, vector: Vector | None) -> QueryBundle:
        """A new bundle: LlamaIndex's retrievers write into the one they are given."""
        asked = self._bundle or QueryBundle(text)
        strings = asked.custom_embedding_strs
        # A retriever that embeds for itself would search every query by these texts.
        meant = vector is not None or text == " ".join(asked.query_str.split())
        return QueryBundle(
            query_str=text,
            image_path=asked.image_path,
            custom_embedding_strs=list(strings) if strings and meant else None,
            embedding=None if vector is None else np.asarray(vector).tolist(),
        )

    def _hits(self, text: str, vector: Vector | None, items: Sequence[NodeWithScore]) -> list[Hit]:
        if self._bundle is not None and text == " ".join(self._bundle.query_str.split()):
            for item in items:
                if item.score is not None:
                    self.given.setdefault(item.node.node_id, item.score)
        passages = [passage_of(item.node) for item in items]
        if self._adapter.at_hand and isinstance(self, KeepsEmbeddings):
            return self._adapter.hits(self._vectors, passages, vector)
        # Some stores hand their vectors back with their nodes.
        rows = [item.node.embedding if self.takes_vector else None for item in items]
        return [
            hit_of(passage, None if row is None else np.array(row), vector)
            for passage, row in zip(passages, rows, strict=True)
        ]


def joined(first: MetadataFilters | None, second: MetadataFilters | None) -> MetadataFilters | None:
    """Filters that hold when both do; flat where possible, as many stores refuse nesting."""
    if first is None or second is None:
        return first or second
    both: list[Any] = []
    for each in (first, second):
        flat = each.condition in (None, FilterCondition.AND) or (
            each.condition == FilterCondition.OR and len(each.filters) == 1
        )
        both += each.filters if flat else [each]
    return MetadataFilters(filters=both, condition=FilterCondition.AND)


def as_store(source: Any) -> tuple[Store, Embedder | None]:
    """A LlamaIndex index or retriever as a store of a plain pipeline, and the embedder that goes
    with it: None where the source does not say its model. Raises ConfigError for anything else.
    """
    store = LlamaIndexStore(source)
    return store, LlamaIndexEmbedder(store.embed_model) if store.embed_model else None


def _takes_vector(retriever: BaseRetriever) -> bool:
    if not isinstance(retriever, VectorIndexRetriever):
        return False
    by_words = retriever._vector_store_query_mode in _BY_WORDS
    return bool(retriever._vector_store.is_embedding_query) and not by_words


def _always(store: Any) -> bool:
    return True


def _simple(store: Any, ids: Sequence[str]) -> Mapping[str, Any]:
    kept = store.data.embedding_dict
    return {each: kept[each] for each in ids if each in kept}


def _milvus(store: Any, ids: Sequence[str]) -> Mapping[str, Any]:
    rows = store.client.query(
        store.collection_name, ids=list(ids), output_fields=[store.embedding_field]
    )
    return {row["id"]: row[store.embedding_field] for row in rows}


ADAPTERS: Mapping[str, StoreAdapter] = MappingProxyType(
    {
        "SimpleVectorStore": StoreAdapter(vectors=_simple, at_hand=True, in_turn=_always),
        "FaissVectorStore": StoreAdapter(at_hand=True),  # its reader needs the index
        "ChromaVectorStore": StoreAdapter(vectors=chroma_vectors),
        "QdrantVectorStore": StoreAdapter(
            vectors=lambda store, ids: qdrant_vectors(
                store._client, store.collection_name, ids, store.dense_vector_name
            ),
            # It searches asynchronously with a client of its own only, and raises without it.
            awaits=lambda store: store._aclient is not None,
            blocks=lambda store: is_local_qdrant(store._aclient),
            in_turn=lambda store: is_local_qdrant(store._client),
            is_new=lambda store: not store._client.collection_exists(store.collection_name),
        ),
        # Its vectors come with its nodes.
        "LanceDBVectorStore": StoreAdapter(is_new=lambda store: store._table is None),
        # Its async client belongs to the loop that used it first and fails in the next.
        "MilvusVectorStore": StoreAdapter(vectors=_milvus, awaits=lambda store: False),
    }
)
"""By the name of the store's class, as text: no store's package is needed to know the others."""


def _adapter_of(retriever: BaseRetriever) -> StoreAdapter:
    if not isinstance(retriever, VectorIndexRetriever):
        return StoreAdapter()
    found = StoreAdapter.of(retriever._vector_store, ADAPTERS)
    if found is ADAPTERS["FaissVectorStore"]:
        places: Any = retriever._index.index_struct.nodes_dict  # as text, to node id
        return replace(found, vectors=lambda store, ids: faiss_vectors(store.client, places, ids))
    return found
