"""A LlamaIndex index or retriever, as perspective_rag searches it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.indices.base import BaseIndex
from llama_index.core.retrievers import BaseRetriever, VectorIndexRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.vector_stores import FilterCondition, MetadataFilters, SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index.retrievers.perspective_rag.nodes import passage_of
from perspective_rag.errors import CapabilityError, ConfigError
from perspective_rag.threads import in_thread
from perspective_rag.types import Hit, Vector


class LlamaIndexStore:
    """A ``Store`` over a LlamaIndex index or retriever.

    A VectorStoreIndex is asked for as many passages as each search wants, and ``filters`` go with
    every search. So is a VectorIndexRetriever, in its own mode and with its own filters. Any other
    retriever returns as many as it is set to.

    ``takes_vector`` says whether the retriever uses ``QueryBundle.embedding``; None knows it of a
    VectorStoreIndex and a VectorIndexRetriever, and takes the others to search by text.

    Hits come in the order of LlamaIndex and without a score: stores report similarities, squared
    distances and squashed distances under one name, so their numbers cannot be compared.
    """

    takes_vector: bool

    def __init__(
        self,
        source: BaseIndex[Any] | BaseRetriever,
        *,
        filters: MetadataFilters | None = None,
        takes_vector: bool | None = None,
    ) -> None:
        if not isinstance(source, (BaseIndex, BaseRetriever)):
            kind = type(source).__name__
            raise ConfigError(f"expected a LlamaIndex index or retriever, got a {kind}")
        self._source = source
        self._plain = source if isinstance(source, BaseRetriever) else source.as_retriever()
        self._vectors = _vectors_behind(self._plain)
        self._bundle: QueryBundle | None = None
        self.takes_vector = _takes_vector(self._plain) if takes_vector is None else takes_vector
        self.check_filters(filters)
        self._filters = filters

    @property
    def plain(self) -> BaseRetriever:
        """The retriever without perspectives."""
        return self._plain

    @property
    def embed_model(self) -> BaseEmbedding | None:
        """The model that embedded a VectorStoreIndex; None where the vectors are not known."""
        return self._plain._embed_model if isinstance(self._plain, VectorIndexRetriever) else None

    def for_query(self, bundle: QueryBundle) -> LlamaIndexStore:
        """This store for one query, whose image and custom embedding texts go with the searches."""
        own = copy.copy(self)
        own._bundle = bundle
        return own

    def check_filters(self, filters: MetadataFilters | None) -> None:
        """Raises CapabilityError when filters are given and could not reach the store."""
        if filters is not None and not isinstance(self._source, VectorStoreIndex):
            raise CapabilityError(
                f"filters cannot be handed to a {type(self._source).__name__}: pass the "
                "VectorStoreIndex itself, or index.as_retriever(filters=...)"
            )

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """At most ``k`` hits, best first; ``filter``, MetadataFilters, adds to ``filters``."""
        nodes = self._retriever(k, filter).retrieve(self._query(text, vector))
        return [self._hit(item) for item in nodes[:k]]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The same, without blocking the event loop."""
        retriever, query = self._retriever(k, filter), self._query(text, vector)
        if _awaits(retriever, self._vectors):
            nodes = await retriever.aretrieve(query)
        else:
            nodes = await in_thread(retriever.retrieve, query)
        return [self._hit(item) for item in nodes[:k]]

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
            embedding=None if vector is None else [float(value) for value in vector],
        )

    def _hit(self, item: NodeWithScore) -> Hit:
        return Hit(passage_of(item.node), embedding=self._embedding(item.node))

    def _embedding(self, node: BaseNode) -> Vector | None:
        """The vector under which the store keeps a node, where that is at hand."""
        if not self.takes_vector:
            return None
        if isinstance(self._vectors, SimpleVectorStore):
            kept = self._vectors.data.embedding_dict.get(node.node_id)
            return None if kept is None else np.array(kept)
        return None if node.embedding is None else np.array(node.embedding)


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


def _vectors_behind(retriever: BaseRetriever) -> Any:
    return retriever._vector_store if isinstance(retriever, VectorIndexRetriever) else None


def _takes_vector(retriever: BaseRetriever) -> bool:
    return isinstance(retriever, VectorIndexRetriever) and retriever._needs_embedding()


def _awaits(retriever: BaseRetriever, vectors: Any) -> bool:
    """Whether ``aretrieve`` leaves the event loop free; LlamaIndex's defaults search in it."""
    if type(retriever)._aretrieve is BaseRetriever._aretrieve:
        return False
    if isinstance(vectors, BasePydanticVectorStore):
        native = type(vectors).aquery is not BasePydanticVectorStore.aquery
        # Qdrant searches asynchronously with a client of its own only, and raises without it.
        return native and getattr(vectors, "_aclient", vectors) is not None
    return True
