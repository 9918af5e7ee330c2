"""One small debate in the stores of every framework, behind embeddings that know words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from perspective_rag.testing import HashEmbedder
from tests.integrations.samples import TEXTS

DIMENSIONS = 64


class SaysYes:
    """A judge that takes every passage for support of everything."""

    name, threshold = "says yes", 0.5

    def judge(self, perspectives, passages):
        return np.full((len(passages), len(perspectives)), 0.99)


def langchain_embeddings(floor=None):
    from langchain_core.embeddings import Embeddings

    class Words(Embeddings):
        relevance_floor = floor

        def embed_documents(self, texts):
            return HashEmbedder(DIMENSIONS).embed_passages(texts).tolist()

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    return Words()


def _langchain_documents():
    from langchain_core.documents import Document

    return [
        Document(text, id=str(number), metadata={"key": key})
        for number, (key, text) in enumerate(TEXTS.items())
    ]


def _langchain_store(name, embeddings, folder):
    pytest.importorskip("langchain_core")
    documents = _langchain_documents()
    if name == "in-memory":
        from langchain_core.vectorstores import InMemoryVectorStore

        store = InMemoryVectorStore(embeddings)
    elif name == "faiss":
        pytest.importorskip("faiss")
        community = pytest.importorskip("langchain_community.vectorstores")
        return community.FAISS.from_documents(documents, embeddings)
    elif name == "chroma":
        chroma = pytest.importorskip("langchain_chroma")
        store = chroma.Chroma("debate", embeddings, persist_directory=str(folder))
    elif name == "qdrant":
        qdrant = pytest.importorskip("langchain_qdrant")
        texts = [document.page_content for document in documents]
        return qdrant.QdrantVectorStore.from_texts(texts, embeddings, location=":memory:")
    else:
        from langchain_core.runnables import RunnableLambda

        return RunnableLambda(lambda question: documents)
    store.add_documents(documents)
    return store


def langchain(name, folder, *, floor=None, **options):
    """A retriever over a LangChain store: what it finds, and its report."""
    from langchain_perspective_rag import PerspectiveRetriever

    embeddings = langchain_embeddings(floor)
    store = _langchain_store(name, embeddings, folder)
    if name == "keywords":
        options["embeddings"] = embeddings
    retriever = PerspectiveRetriever.wrap(store, **options)
    return SimpleNamespace(retriever=retriever, report=retriever.retrieve, ask=retriever.invoke)


def _llama_index_source(name, model, folder):
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [TextNode(id_=f"node-{n}", text=text) for n, text in enumerate(TEXTS.values())]
    if name == "keywords":

        class Keywords(BaseRetriever):
            def _retrieve(self, query_bundle):
                return [NodeWithScore(node=node, score=1.0) for node in nodes]

        return Keywords()
    kwargs = {}
    if name != "in-memory":
        kwargs["storage_context"] = StorageContext.from_defaults(
            vector_store=_llama_index_store(name, folder)
        )
    if name == "qdrant":  # which takes UUIDs only
        nodes = [TextNode(text=text) for text in TEXTS.values()]
    return VectorStoreIndex(nodes, embed_model=model, **kwargs)


def _llama_index_store(name, folder):
    if name == "faiss":
        faiss = pytest.importorskip("faiss")
        module = pytest.importorskip("llama_index.vector_stores.faiss")
        return module.FaissVectorStore(faiss_index=faiss.IndexFlatL2(DIMENSIONS))
    if name == "chroma":
        chromadb = pytest.importorskip("chromadb")
        module = pytest.importorskip("llama_index.vector_stores.chroma")
        collection = chromadb.PersistentClient(str(folder)).create_collection("debate")
        return module.ChromaVectorStore(chroma_collection=collection)
    client = pytest.importorskip("qdrant_client")
    module = pytest.importorskip("llama_index.vector_stores.qdrant")
    return module.QdrantVectorStore("debate", client=client.QdrantClient(":memory:"))


def llama_index_embeddings(floor=None):
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text):
            return HashEmbedder(DIMENSIONS).embed_passages([text])[0].tolist()

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

        @property
        def relevance_floor(self):
            return floor

    return Words()


def llama_index(name, folder, *, floor=None, **options):
    """The same over a LlamaIndex store."""
    pytest.importorskip("llama_index.core")
    from llama_index.retrievers.perspective_rag import PerspectiveRetriever

    model = llama_index_embeddings(floor)
    source = _llama_index_source(name, model, folder)
    if name == "keywords":
        options |= {"embed_model": model, "takes_vector": False}
    retriever = PerspectiveRetriever(source, **options)
    return SimpleNamespace(retriever=retriever, report=retriever.report, ask=retriever.retrieve)


def _haystack_retriever(name, documents, folder):
    memory = pytest.importorskip("haystack.document_stores.in_memory")
    from haystack.components.retrievers.in_memory import (
        InMemoryBM25Retriever,
        InMemoryEmbeddingRetriever,
    )

    if name in ("in-memory", "keywords"):
        # Of BM25's kinds the one that finds documents without any of the words too.
        store = memory.InMemoryDocumentStore(bm25_algorithm="BM25Okapi")
        kind = InMemoryEmbeddingRetriever if name == "in-memory" else InMemoryBM25Retriever
    elif name == "chroma":
        stores = pytest.importorskip("haystack_integrations.document_stores.chroma")
        store = stores.ChromaDocumentStore("debate", persist_path=str(folder))
        module = pytest.importorskip("haystack_integrations.components.retrievers.chroma")
        kind = module.ChromaEmbeddingRetriever
    elif name == "qdrant":
        stores = pytest.importorskip("haystack_integrations.document_stores.qdrant")
        store = stores.QdrantDocumentStore(
            ":memory:", embedding_dim=DIMENSIONS, progress_bar=False, index="debate"
        )
        module = pytest.importorskip("haystack_integrations.components.retrievers.qdrant")
        kind = module.QdrantEmbeddingRetriever
    else:
        pytest.skip(f"Haystack's package for {name} is not among those of the tests")
    store.write_documents(documents)
    return kind(document_store=store)


def haystack(name, folder, *, floor=None, **options):
    """The same over a Haystack store."""
    pytest.importorskip("haystack")
    from haystack import Document

    from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
    from tests.ecosystem.haystack_words import Words

    rows = HashEmbedder(DIMENSIONS).embed_passages(list(TEXTS.values())).tolist()
    documents = [
        Document(id=str(number), content=text, embedding=row)
        for number, (text, row) in enumerate(zip(TEXTS.values(), rows, strict=True))
    ]
    retriever = PerspectiveRetriever(
        _haystack_retriever(name, documents, folder), text_embedder=Words(floor), **options
    )
    return SimpleNamespace(
        retriever=retriever,
        report=retriever.report,
        ask=lambda question: retriever.run(question)["documents"],
    )
