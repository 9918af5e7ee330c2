"""A Qdrant collection: a server's, or a local one in a folder or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from perspective_rag import ConfigError, MissingDependency, Passage
from perspective_rag.addons import redacted
from perspective_rag.extend import Matrix
from perspective_rag_scale.sinks.documents import (
    check_dimensions,
    key_of,
    metadata_of,
    pieces,
    uuid_of,
)

_AT_ONCE = 256
_PATIENCE = 120
"""Seconds that a request may take."""


class QdrantSink:
    """A ``Sink`` into a collection that compares by cosine, with the payload of
    ``langchain_qdrant.QdrantVectorStore``: "page_content" and "metadata".

    ``location`` is an address, a folder or ":memory:"; QDRANT_API_KEY holds the key. Qdrant takes
    UUIDs alone as ids: the passage's id is in ``metadata.passage_id``. Raises MissingDependency
    without ``qdrant-client``.
    """

    appends = True

    def __init__(self, location: str, collection: str, *, client: Any = None) -> None:
        try:
            import qdrant_client
        except ImportError as error:
            raise MissingDependency("qdrant", "filling Qdrant") from error
        self._models: Any = qdrant_client.models
        self._location, self._collection = location, collection
        if client is not None:
            self._client: Any = client
        elif "://" in location:
            key = os.environ.get("QDRANT_API_KEY") or None
            self._client = qdrant_client.QdrantClient(url=location, api_key=key, timeout=_PATIENCE)
        elif location == ":memory:":
            self._client = qdrant_client.QdrantClient(location)
        else:
            self._client = qdrant_client.QdrantClient(path=location)

    @property
    def name(self) -> str:
        """Address and collection."""
        return redacted(f"qdrant:{self._location}#{self._collection}")

    @property
    def key(self) -> str:
        """The same; a folder by its whole path."""
        return key_of("qdrant", self._location, self._collection)

    def open(self, dimensions: int) -> None:
        """Creates the collection; one that is there must have one unnamed vector."""
        models, collection = self._models, self._collection
        if not self._client.collection_exists(collection):
            self._client.create_collection(
                collection,
                vectors_config=models.VectorParams(
                    size=dimensions, distance=models.Distance.COSINE
                ),
                on_disk_payload=True,
            )
        found = self._client.get_collection(collection).config.params.vectors
        if not isinstance(found, models.VectorParams):
            raise ConfigError(f"{self.name} has named vectors or none: name another collection")
        if found.distance not in (models.Distance.COSINE, models.Distance.DOT):
            raise ConfigError(
                f"{self.name} compares by {found.distance.value}, expected Cosine: name another "
                "collection"
            )
        check_dimensions(self.name, found.size, dimensions)

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Upserts points, 256 at a time, and waits for them."""
        for places in pieces(range(len(passages)), _AT_ONCE):
            points = [self._point(passages[at], rows[at].tolist()) for at in places]
            self._client.upsert(self._collection, points=points, wait=True)

    def _point(self, passage: Passage, vector: list[float]) -> Any:
        id = uuid_of(passage)
        payload = {"page_content": passage.text, "metadata": metadata_of(passage, id)}
        return self._models.PointStruct(id=id, vector=vector, payload=payload)

    def finish(self, tell: Callable[[str], None]) -> None:
        """Nothing: Qdrant builds its index as points come."""

    def count(self) -> int:
        """The points of the collection, exactly."""
        if not self._client.collection_exists(self._collection):
            return 0
        return int(self._client.count(self._collection, exact=True).count)

    def close(self) -> None:
        """Closes the client."""
        self._client.close()
