"""The encoder that comes with the library, as Haystack embedders: it runs on this machine alone.

>>> embedding = PackagedTextEmbedder().run("Should zoos be closed?")["embedding"]
"""

from haystack_integrations.components.embedders.perspective_rag.document_embedder import (
    PackagedDocumentEmbedder,
)
from haystack_integrations.components.embedders.perspective_rag.text_embedder import (
    PackagedTextEmbedder,
)

__all__ = ["PackagedDocumentEmbedder", "PackagedTextEmbedder"]
