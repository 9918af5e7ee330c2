"""What ``--to`` names, as the sink that is filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from perspective_rag import ConfigError, PerspectiveRAGError
from perspective_rag.addons import redacted, scrubbed
from perspective_rag.extend import unknown_name
from perspective_rag_scale.faiss_kinds import Kind
from perspective_rag_scale.sinks.faiss import FaissSink
from perspective_rag_scale.sinks.lancedb import LanceSink
from perspective_rag_scale.sinks.milvus import MilvusSink
from perspective_rag_scale.sinks.postgres import PostgresSink
from perspective_rag_scale.sinks.qdrant import QdrantSink
from perspective_rag_scale.sinks.search_engines import ElasticsearchSink, OpenSearchSink

FORMS: Mapping[str, str] = MappingProxyType(
    {
        "faiss": "faiss:FOLDER",
        "qdrant": "qdrant:URL#COLLECTION",
        "postgresql": "postgresql://USER@HOST/DATABASE#TABLE",
        "lancedb": "lancedb:FOLDER#TABLE",
        "milvus": "milvus:URL#COLLECTION",
        "elasticsearch": "elasticsearch:URL#INDEX",
        "opensearch": "opensearch:URL#INDEX",
    }
)
"""How each kind of target is written."""

_SINKS: Mapping[str, Callable[[str, str], Any]] = MappingProxyType(
    {
        "qdrant": QdrantSink,
        "postgresql": PostgresSink,
        "lancedb": LanceSink,
        "milvus": MilvusSink,
        "elasticsearch": ElasticsearchSink,
        "opensearch": OpenSearchSink,
    }
)


def make_sink(target: str, *, model_name: str, kind: Kind | None = None) -> Any:
    """The sink for a target such as ``faiss:FOLDER`` or ``qdrant:URL#COLLECTION``.

    ``kind`` is for FAISS alone. Raises ConfigError for a target that is not written so or that the
    client of its store refuses, and MissingDependency without this client.
    """
    scheme, found, rest = target.partition(":")
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    if not found or scheme not in FORMS:
        raise unknown_name(redacted(scheme if found else target), FORMS, "target of --to")
    if scheme == "faiss":
        if not rest:
            raise ConfigError(f"--to must be {FORMS[scheme]}")
        return FaissSink(rest, model_name=model_name, kind=kind)
    if kind is not None:
        raise ConfigError("a kind of index can be chosen for faiss:FOLDER alone")
    place, _, name = rest.rpartition("#")
    if scheme == "postgresql" and not place.startswith("//"):
        # What has no "//" is no address to psycopg, which repeats it whole, and to redaction.
        raise ConfigError(f"--to must be {FORMS[scheme]}")
    if not place or not name:
        raise ConfigError(f"--to must be {FORMS[scheme]}; got {redacted(target)!r}")
    try:
        return _SINKS[scheme](f"{scheme}:{place}" if scheme == "postgresql" else place, name)
    except PerspectiveRAGError:
        raise
    except Exception as raised:  # of each client's own kind
        error = scrubbed(raised)
        raise ConfigError(
            f"{redacted(target)} cannot be used: {redacted(str(error))[:300]}; expected "
            f"{FORMS[scheme]}, of a store that runs"
        ) from error
