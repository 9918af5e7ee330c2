"""An index of Elasticsearch or OpenSearch, through their own bulk helpers."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from perspective_rag import ConfigError, MissingDependency, Passage
from perspective_rag.addons import redacted
from perspective_rag.extend import Matrix
from perspective_rag_scale.sinks.documents import check_dimensions, metadata_of, short_id

_AT_ONCE = 500
_PATIENCE = 120
"""Seconds that a request may take."""


class _SearchEngineSink(ABC):
    """What both have in common: documents with "text", a vector and "metadata"."""

    appends = True
    scheme: str
    vector: str
    """The field of vectors."""
    size: str
    """The name of their length in the mapping."""
    _client: Any
    _bulk: Any

    def __init__(self, url: str, index: str) -> None:
        self._url, self._index = url, index

    @property
    def name(self) -> str:
        """Address, without its user, and index."""
        return redacted(f"{self.scheme}:{self._url}#{self._index}")

    @property
    def key(self) -> str:
        """The same."""
        return self.name

    def open(self, dimensions: int) -> None:
        """Creates the index; one that is there must map the field of vectors."""
        indices = self._client.indices
        if not indices.exists(index=self._index):
            self._create(dimensions)
        mapped = indices.get_mapping(index=self._index)[self._index]["mappings"]
        field = mapped.get("properties", {}).get(self.vector, {})
        if self.size not in field:
            raise ConfigError(
                f"{self.name} maps no field {self.vector!r} of vectors: name another index"
            )
        check_dimensions(self.name, field[self.size], dimensions)

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Indexes documents under the passages' ids, 500 at a time; raises on the first failure."""
        self._bulk(self._client, self._actions(passages, rows), chunk_size=_AT_ONCE, max_retries=2)

    def finish(self, tell: Callable[[str], None]) -> None:
        """Makes what was written visible."""
        self._client.indices.refresh(index=self._index)

    def count(self) -> int:
        """The documents of the index."""
        if not self._client.indices.exists(index=self._index):
            return 0
        self._client.indices.refresh(index=self._index)
        return int(self._client.count(index=self._index)["count"])

    def close(self) -> None:
        """Closes the client."""
        self._client.close()

    @abstractmethod
    def _create(self, dimensions: int) -> None:
        """Makes the index."""

    def _actions(self, passages: Sequence[Passage], rows: Matrix) -> Iterator[Mapping[str, Any]]:
        for passage, row in zip(passages, rows.tolist(), strict=True):
            id = short_id(passage)
            source = {
                "text": passage.text,
                self.vector: row,
                "metadata": metadata_of(passage, id),
            }
            yield {"_op_type": "index", "_index": self._index, "_id": id, "_source": source}


class ElasticsearchSink(_SearchEngineSink):
    """A ``Sink`` into an index as ``langchain_elasticsearch.ElasticsearchStore`` reads it.

    ELASTICSEARCH_API_KEY holds the key, or the address user and password. Raises MissingDependency
    without ``elasticsearch``.
    """

    scheme, vector, size = "elasticsearch", "vector", "dims"

    def __init__(self, url: str, index: str) -> None:
        try:
            import elasticsearch
            from elasticsearch.helpers import bulk
        except ImportError as error:
            raise MissingDependency("elasticsearch", "filling Elasticsearch") from error
        super().__init__(url, index)
        key = os.environ.get("ELASTICSEARCH_API_KEY") or None
        self._client = elasticsearch.Elasticsearch(url, api_key=key, request_timeout=_PATIENCE)
        self._bulk = bulk

    def _create(self, dimensions: int) -> None:
        vector = {
            "type": "dense_vector",
            "dims": dimensions,
            "index": True,
            "similarity": "cosine",
        }
        version = str(self._client.info()["version"]["number"]).split(".")
        # A field of one metadata may be a number here and a text there.
        settings: dict[str, Any] = {"index.mapping.ignore_malformed": True}
        if tuple(map(int, version[:2])) >= (9, 2):
            settings["index.mapping.exclude_source_vectors"] = False  # they can be read back
        self._client.indices.create(
            index=self._index,
            mappings={"properties": {self.vector: vector, "text": {"type": "text"}}},
            settings=settings,
        )


class OpenSearchSink(_SearchEngineSink):
    """A ``Sink`` into an index as ``langchain_community``'s OpenSearchVectorSearch reads it.

    The address may hold user and password. Raises MissingDependency without ``opensearch-py``.
    """

    scheme, vector, size = "opensearch", "vector_field", "dimension"

    def __init__(self, url: str, index: str) -> None:
        try:
            import opensearchpy
            from opensearchpy.helpers import bulk
        except ImportError as error:
            raise MissingDependency("opensearch", "filling OpenSearch") from error
        super().__init__(url, index)
        self._client = opensearchpy.OpenSearch(url, timeout=_PATIENCE)
        self._bulk = bulk

    def _create(self, dimensions: int) -> None:
        # Rows have length one, so that the nearest by l2 are the nearest by cosine.
        method = {"name": "hnsw", "engine": "faiss", "space_type": "l2"}
        vector = {"type": "knn_vector", "dimension": dimensions, "method": method}
        self._client.indices.create(
            index=self._index,
            body={
                "settings": {"index": {"knn": True, "mapping": {"ignore_malformed": True}}},
                "mappings": {"properties": {self.vector: vector, "text": {"type": "text"}}},
            },
        )
