"""Every side of a question, from any LlamaIndex index or retriever.

>>> retriever = PerspectiveRetriever(index, k=5)
>>> nodes = retriever.retrieve("Should zoos be closed?")
"""

from llama_index.retrievers.perspective_rag.base import PerspectiveRetriever
from llama_index.retrievers.perspective_rag.models import (
    LlamaIndexEmbedder,
    LlamaIndexLLM,
    PackagedEmbeddings,
)
from llama_index.retrievers.perspective_rag.postprocessor import PerspectivePostprocessor
from llama_index.retrievers.perspective_rag.store import LlamaIndexStore, as_store
from perspective_rag.extend import StoreAdapter, report_in

__all__ = [
    "LlamaIndexEmbedder",
    "LlamaIndexLLM",
    "LlamaIndexStore",
    "PackagedEmbeddings",
    "PerspectivePostprocessor",
    "PerspectiveRetriever",
    "StoreAdapter",
    "as_store",
    "report_in",
]
