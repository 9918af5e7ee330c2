"""A Qdrant collection for ``perspective-rag serve --retriever collection:make``, and its filling.

``python collection.py FOLDER`` reads a corpus, embeds it at ENCODER_URL and writes it to the
collection, which it makes where it is missing: sharded, replicated, its vectors quantised in memory
and whole on disk. Points have the form of ``perspective-rag index --to qdrant:...``. Every search
compares what the quantised vectors found with the whole ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from perspective_rag import Passage
from perspective_rag.extend import Embedder
from perspective_rag_scale import OpenAICompatibleEmbedder
from perspective_rag_scale.sinks.qdrant import QdrantSink

SETTINGS = {
    "QDRANT_URL": "http://127.0.0.1:6333",
    "QDRANT_COLLECTION": "passages",
    "ENCODER_URL": "http://127.0.0.1:8080/v1",
    "ENCODER_MODEL": "sentence-transformers/all-MiniLM-L6-v2",
    "SHARDS": "1",
    "REPLICAS": "1",
}
"""What is read from the environment, with what holds where nothing is said."""

RESCORED = models.SearchParams(
    quantization=models.QuantizationSearchParams(rescore=True, oversampling=3.0)
)
"""Three times as many candidates by quantised vectors; the whole vectors decide among them."""

BATCH = 256


class Whole(Embeddings):
    """The library's client of the encoder in LangChain's form."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._inner.embed_passages(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        return self._inner.embed_queries([text])[0].tolist()  # type: ignore[no-any-return]


class Rescored(QdrantVectorStore):
    """Every search by vector compares its candidates with the whole vectors."""

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: models.Filter | None = None,
        search_params: models.SearchParams | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        wanted = search_params or RESCORED
        return super().similarity_search_by_vector(embedding, k, filter, wanted, **kwargs)


def setting(name: str) -> str:
    """A setting, from the environment where it is there and not empty."""
    return os.environ.get(name) or SETTINGS[name]


def encoder() -> Embedder:
    """The client of the encoder; a server of one's own needs no key."""
    return OpenAICompatibleEmbedder(
        setting("ENCODER_MODEL"), base_url=setting("ENCODER_URL"), api_key="none"
    )


def make(client: QdrantClient | None = None, embedder: Embedder | None = None) -> Rescored:
    """The collection as a store; it is asked for nothing yet, so that the server starts before it
    is there.
    """
    return Rescored(
        client or QdrantClient(setting("QDRANT_URL"), timeout=30, check_compatibility=False),
        setting("QDRANT_COLLECTION"),
        embedding=Whole(embedder or encoder()),
        validate_collection_config=False,
    )


def create(client: QdrantClient, dimensions: int) -> None:
    """Makes the collection where it is missing."""
    name = setting("QDRANT_COLLECTION")
    if client.collection_exists(name):
        return
    client.create_collection(
        name,
        vectors_config=models.VectorParams(
            size=dimensions, distance=models.Distance.COSINE, on_disk=True
        ),
        quantization_config=models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(
                type=models.ScalarType.INT8, quantile=0.99, always_ram=True
            )
        ),
        shard_number=int(setting("SHARDS")),
        replication_factor=int(setting("REPLICAS")),
        write_consistency_factor=int(setting("REPLICAS")) // 2 + 1,
    )


def fill(passages: Iterable[Passage], client: QdrantClient, embedder: Embedder) -> int:
    """Writes the passages, 256 at a time; how many. What is there already is written over."""
    sink = QdrantSink(setting("QDRANT_URL"), setting("QDRANT_COLLECTION"), client=client)
    done = 0
    for batch in _batches(passages):
        rows = embedder.embed_passages([each.titled for each in batch])
        create(client, rows.shape[1])
        sink.write(batch, rows, done)
        done += len(batch)
    return done


def _batches(passages: Iterable[Passage]) -> Iterator[Sequence[Passage]]:
    rest = iter(passages)
    while batch := list(islice(rest, BATCH)):
        yield batch


if __name__ == "__main__":
    from perspective_rag.local.corpus import read_corpus

    count = fill(
        read_corpus(sys.argv[1]),
        QdrantClient(setting("QDRANT_URL"), timeout=60, check_compatibility=False),
        encoder(),
    )
    sys.stdout.write(f"{count} passages in {setting('QDRANT_COLLECTION')}\n")
