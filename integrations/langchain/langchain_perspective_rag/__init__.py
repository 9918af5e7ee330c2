"""Retrieval that shows every side of a question, as a LangChain retriever.

    from langchain_perspective_rag import PerspectiveRetriever
    retriever = PerspectiveRetriever.wrap(vectorstore, k=6)

``PerspectiveRetriever`` takes the place of ``vectorstore.as_retriever()``,
``PerspectiveCompressor`` chooses among documents that another retriever found, and the adapters
lend LangChain's stores, embeddings and models to a plain ``perspective_rag`` pipeline.
"""

from langchain_perspective_rag.compressor import PerspectiveCompressor
from langchain_perspective_rag.embeddings import PackagedEmbeddings, SteerableEmbeddings
from langchain_perspective_rag.models import LangChainEmbedder, LangChainLLM
from langchain_perspective_rag.retriever import PerspectiveRetriever
from langchain_perspective_rag.store import LangChainStore, as_store
from perspective_rag.extend import StoreAdapter, report_in

__all__ = [
    "LangChainEmbedder",
    "LangChainLLM",
    "LangChainStore",
    "PackagedEmbeddings",
    "PerspectiveCompressor",
    "PerspectiveRetriever",
    "SteerableEmbeddings",
    "StoreAdapter",
    "as_store",
    "report_in",
]
