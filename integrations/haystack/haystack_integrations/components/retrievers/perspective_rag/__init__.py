"""Every side of a question, from any Haystack retriever.

>>> retriever = PerspectiveRetriever(document_store=document_store, top_k=5)
>>> documents = retriever.run("Should zoos be closed?")["documents"]
"""

from haystack_integrations.components.retrievers.perspective_rag.retriever import (
    PerspectiveRetriever,
)

__all__ = ["PerspectiveRetriever"]
