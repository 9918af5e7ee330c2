"""Every side of a question, from any LlamaIndex index or retriever.

>>> retriever = PerspectiveRetriever(index, k=5)
>>> nodes = retriever.retrieve("Should zoos be closed?")
"""

from llama_index.retrievers.perspective_rag.adapters import StoreAdapter
from llama_index.retrievers.perspective_rag.base import PerspectiveRetriever
from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder, LlamaIndexLLM
from llama_index.retrievers.perspective_rag.nodes import METADATA_KEY
from llama_index.retrievers.perspective_rag.postprocessor import PerspectivePostprocessor
from llama_index.retrievers.perspective_rag.store import LlamaIndexStore

__all__ = [
    "METADATA_KEY",
    "LlamaIndexEmbedder",
    "LlamaIndexLLM",
    "LlamaIndexStore",
    "PerspectivePostprocessor",
    "PerspectiveRetriever",
    "StoreAdapter",
]
