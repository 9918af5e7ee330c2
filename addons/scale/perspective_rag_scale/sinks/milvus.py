"""A Milvus collection: a server's, or Milvus Lite's in a file."""

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
    short_id,
)

_AT_ONCE = 256  # a request has at most 64 MB
_LONGEST = 65_535  # bytes of a text field
_FIELDS = ("pk", "text", "vector")


class MilvusSink:
    """A ``Sink`` into a collection as ``langchain_milvus.Milvus(enable_dynamic_field=True)`` reads
    it: pk, text, vector, and metadata as dynamic fields.

    ``uri`` is an address or a file of Milvus Lite; MILVUS_TOKEN holds the token. Metadata fields
    that have the name of another field get a "_" at their end. Raises MissingDependency without
    ``pymilvus``.
    """

    appends = True

    def __init__(self, uri: str, collection: str) -> None:
        try:
            import pymilvus
        except ImportError as error:
            raise MissingDependency("milvus", "filling Milvus") from error
        self._types: Any = pymilvus.DataType
        self._uri, self._collection = uri, collection
        token = os.environ.get("MILVUS_TOKEN") or ""
        self._client: Any = pymilvus.MilvusClient(uri=uri, token=token)

    @property
    def name(self) -> str:
        """Address and collection."""
        return redacted(f"milvus:{self._uri}#{self._collection}")

    @property
    def key(self) -> str:
        """The same; a folder by its whole path."""
        return key_of("milvus", self._uri, self._collection)

    def open(self, dimensions: int) -> None:
        """Creates the collection; one that is there must have these fields."""
        client = self._client
        if not client.has_collection(self._collection):
            schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
            schema.add_field("pk", self._types.VARCHAR, is_primary=True, max_length=_LONGEST)
            schema.add_field("text", self._types.VARCHAR, max_length=_LONGEST)
            schema.add_field("vector", self._types.FLOAT_VECTOR, dim=dimensions)
            index = client.prepare_index_params()
            index.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
            client.create_collection(self._collection, schema=schema, index_params=index)
        found = {
            each["name"]: each for each in client.describe_collection(self._collection)["fields"]
        }
        missing = [each for each in _FIELDS if each not in found]
        if missing:
            raise ConfigError(f"{self.name} has no field {missing[0]!r}: name another collection")
        check_dimensions(self.name, int(found["vector"]["params"].get("dim", 0)), dimensions)

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Upserts rows, 256 at a time."""
        for places in pieces(range(len(passages)), _AT_ONCE):
            self._client.upsert(
                self._collection, data=[_row(passages[at], rows[at].tolist()) for at in places]
            )

    def finish(self, tell: Callable[[str], None]) -> None:
        """Seals what was written."""
        self._client.flush(self._collection)

    def count(self) -> int:
        """The rows of the collection."""
        if not self._client.has_collection(self._collection):
            return 0
        self._client.load_collection(self._collection)
        [found] = self._client.query(
            self._collection,
            filter="",
            output_fields=["count(*)"],
            consistency_level="Strong",
        )
        return int(found["count(*)"])

    def close(self) -> None:
        """Closes the client."""
        self._client.close()


def _row(passage: Passage, vector: list[float]) -> dict[str, Any]:
    id = short_id(passage)
    more = {
        f"{name}_" if name in _FIELDS else name: value
        for name, value in metadata_of(passage, id).items()
    }
    return {**more, "pk": id, "text": passage.text, "vector": vector}
