"""Stores that need a server, through their own clients, against a local one that stands in for it,
and against real ones where their addresses are given.

The stand-ins show that the adapters ask rightly and read the answers rightly; that a real server
answers alike they cannot show. With a real one, which gets indices of its own and loses them again:

    QDRANT_URL=http://localhost:6333 python -m pytest tests/integrations -k real_server

and the same with ELASTICSEARCH_URL and OPENSEARCH_URL.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from uuid import uuid4

import pytest

from perspective_rag.testing import STORE_CHECKS
from tests.integrations import stand_ins
from tests.integrations.conforming import DIMENSIONS
from tests.integrations.langchain.samples import filled_case, qdrant_filter

TABLE = "langchain-http"


def elasticsearch(embeddings, url):
    module = pytest.importorskip("langchain_elasticsearch")
    client = pytest.importorskip("elasticsearch").Elasticsearch(url)
    vector = {"type": "dense_vector", "dims": DIMENSIONS, "index": True, "similarity": "cosine"}
    # By default newer servers keep a rounded copy of each vector, which ranks less exactly.
    vector["index_options"] = {"type": "hnsw"}
    version = tuple(map(int, client.info()["version"]["number"].split(".")[:2]))
    hidden = {"index.mapping.exclude_source_vectors": False} if version >= (9, 2) else None
    name = new_name()
    client.indices.create(index=name, mappings={"properties": {"vector": vector}}, settings=hidden)
    strategy = module.DenseVectorStrategy()
    store = module.ElasticsearchStore(name, embedding=embeddings, client=client, strategy=strategy)
    return store, lambda: client.indices.delete(index=name)


def opensearch(embeddings, url):
    pytest.importorskip("opensearchpy")
    module = pytest.importorskip("langchain_community.vectorstores.opensearch_vector_search")
    name = new_name()
    store = module.OpenSearchVectorSearch(url, name, embeddings, engine="faiss")
    mapping = module._default_text_mapping(DIMENSIONS, engine="faiss")
    store.client.indices.create(index=name, body=mapping)
    return store, lambda: store.delete_index(name)


def qdrant(embeddings, url):
    client = pytest.importorskip("qdrant_client")
    module = pytest.importorskip("langchain_qdrant")
    made, name = client.QdrantClient(url, prefer_grpc=False), new_name()
    given = client.models.VectorParams(size=DIMENSIONS, distance=client.models.Distance.COSINE)
    made.create_collection(name, vectors_config=given)
    return module.QdrantVectorStore(made, name, embeddings), lambda: made.delete_collection(name)


def new_name():
    return f"perspective-rag-{uuid4().hex}"


def search_engine():
    return stand_ins.start(stand_ins.SearchEngine)


TERM = {"term": {"metadata.side.keyword": "against"}}
# name -> (what makes an empty store, what keeps the passages against, the stand-in, its variable)
SERVERS = {
    "Elasticsearch": (elasticsearch, [TERM], search_engine, "ELASTICSEARCH_URL"),
    "OpenSearch (faiss)": (opensearch, TERM, search_engine, "OPENSEARCH_URL"),
    "Qdrant": (qdrant, qdrant_filter, stand_ins.qdrant, "QDRANT_URL"),
}
SAID = ", stand-in server"


@contextmanager
def on_server(name, url, table):
    """The case for a store on a server, from which all that it made is dropped in the end."""
    build, wanted, _, _ = SERVERS[name]
    drops = []

    def make(embeddings):
        store, drop = build(embeddings, url)
        drops.append(drop)
        return store

    try:
        yield filled_case(name + SAID, make, wanted, table)
    finally:
        for drop in drops:
            drop()


@pytest.fixture(scope="module", params=list(SERVERS))
def case(request, table):
    """The case for one store on its stand-in, filled once for all checks that do not change it."""
    server, url = SERVERS[request.param][2]()
    with on_server(request.param, url, table) as made:
        yield made
    assert not server.indices, "indices were left behind"
    server.shutdown()


@pytest.fixture(scope="module", params=list(SERVERS))
def real_case(request, table):
    """The same on a real server."""
    variable = SERVERS[request.param][3]
    if not os.environ.get(variable):
        pytest.skip(f"needs a server: {variable}=http://...")
    with on_server(request.param, os.environ[variable], table) as made:
        yield made


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store(case, check, table):
    name, store = case
    table.record(name, check, lambda: STORE_CHECKS[check](store))


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store_on_a_real_server(real_case, check, table):
    """It does what the document says of it on its stand-in."""
    name, store = real_case
    table.expect(name, check, STORE_CHECKS[check](store))


def test_the_document_names_the_stores_that_are_tested(table):
    table.expect_rows([name + SAID for name in SERVERS])
