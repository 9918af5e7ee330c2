"""Every LlamaIndex vector store that can run here, put through the checks any store must pass."""

from __future__ import annotations

import os
from uuid import uuid4

import pytest
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters, SimpleVectorStore

from llama_index.retrievers.perspective_rag import LlamaIndexStore
from perspective_rag.testing import STORE_CHECKS, StoreCase
from tests.integrations import stand_ins
from tests.integrations.conforming import DIMENSIONS, NUMBERS, chroma_client, filled

TABLE = "llama-index"
AGAINST = MetadataFilters(filters=[ExactMatchFilter(key="side", value="against")])


def faiss(tmp, kind):
    index = pytest.importorskip("faiss")
    stores = pytest.importorskip("llama_index.vector_stores.faiss")
    return stores.FaissVectorStore(faiss_index=getattr(index, kind)(DIMENSIONS))


def chroma(tmp, space):
    stores = pytest.importorskip("llama_index.vector_stores.chroma")
    client = chroma_client(tmp)
    made = client.create_collection("quay", metadata={"hnsw:space": space})
    return stores.ChromaVectorStore(chroma_collection=made)


def qdrant(tmp):
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    stores = pytest.importorskip("llama_index.vector_stores.qdrant")
    return stores.QdrantVectorStore(collection_name="quay", client=client)


def on_server(url):
    """An empty store on a Qdrant server."""
    client = pytest.importorskip("qdrant_client").QdrantClient(url, prefer_grpc=False)
    stores = pytest.importorskip("llama_index.vector_stores.qdrant")
    return stores.QdrantVectorStore(f"perspective-rag-{uuid4().hex}", client=client)


def lancedb(tmp):
    pytest.importorskip("lancedb")
    stores = pytest.importorskip("llama_index.vector_stores.lancedb")
    return stores.LanceDBVectorStore(uri=str(tmp / f"{next(NUMBERS)}"), mode="overwrite")


def milvus(tmp, metric):
    pytest.importorskip("milvus_lite")
    stores = pytest.importorskip("llama_index.vector_stores.milvus")
    return stores.MilvusVectorStore(
        uri=str(tmp / "milvus.db"),
        collection_name=f"quay{next(NUMBERS)}",
        dim=DIMENSIONS,
        similarity_metric=metric,
        index_config={"index_type": "FLAT"},
        consistency_level="Strong",
    )


def remove(store, ids):
    store._source.delete_nodes(list(ids))


def remove_rows(store, ids):
    # LanceDBVectorStore quotes ids as if they were columns, and deletes nothing by them.
    quoted = ", ".join(f"'{name}'" for name in ids)
    store._source.vector_store.table.delete(f"id IN ({quoted})")


# name -> (what makes an empty store, its filter, what deletes)
STORES = {
    "Simple": (lambda tmp: SimpleVectorStore(), AGAINST, remove),
    "Faiss, L2": (lambda tmp: faiss(tmp, "IndexFlatL2"), None, None),
    "Faiss, inner product": (lambda tmp: faiss(tmp, "IndexFlatIP"), None, None),
    "Chroma, l2": (lambda tmp: chroma(tmp, "l2"), AGAINST, remove),
    "Chroma, cosine": (lambda tmp: chroma(tmp, "cosine"), AGAINST, remove),
    "Qdrant local": (qdrant, AGAINST, remove),
    "Qdrant, stand-in server": (lambda tmp: on_server(stand_ins.qdrant()[1]), AGAINST, remove),
    "LanceDB": (lancedb, AGAINST, remove_rows),
    "Milvus Lite, IP": (lambda tmp: milvus(tmp, "IP"), AGAINST, remove),
}


@pytest.fixture
def build(zoo):
    """An index over passages, with the case's embedder as its model."""

    def build(vector_store, passages, embedder):
        model = zoo.HashEmbedding()
        model._fake = embedder
        keys = ["side", "number"]
        nodes = [
            TextNode(
                id_=p.id,
                text=p.text,
                metadata=dict(p.metadata),
                excluded_embed_metadata_keys=keys,
            )
            for p in passages
        ]
        return zoo.index(embed_model=model, vector_store=vector_store, nodes=nodes)

    return build


CASES: dict = {}


@pytest.fixture(params=list(STORES))
def case(request, table, folder, build):
    """The case for one store, filled once for all checks that do not change it."""
    name = request.param
    if name not in CASES:
        make, wanted, removes = STORES[name]

        def fill(passages, embedder):
            return LlamaIndexStore(build(make(folder), passages, embedder))

        CASES[name] = StoreCase(fill, filter=wanted, remove=removes)
    return filled(name, lambda: CASES[name], table)


@pytest.fixture(scope="module")
def served():
    """Makes empty stores on the server at QDRANT_URL, and drops them in the end."""
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("needs a server: QDRANT_URL=http://...")
    stores = []

    def make():
        stores.append(on_server(url))
        return stores[-1]

    yield make
    for store in stores:
        store.client.delete_collection(store.collection_name)


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store_on_a_real_server(served, check, table, build):
    """It does what the document says of it on its stand-in."""

    def fill(passages, embedder):
        return LlamaIndexStore(build(served(), passages, embedder))

    said = STORE_CHECKS[check](StoreCase(fill, filter=AGAINST, remove=remove))
    table.expect("Qdrant, stand-in server", check, said)


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store(case, check, table):
    name, made = case
    table.record(name, check, lambda: STORE_CHECKS[check](made))


def test_the_document_names_the_stores_that_are_tested(table):
    table.expect_rows(list(STORES))
