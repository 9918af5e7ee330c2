"""The encoder that comes with the library, as Haystack embedders: it runs on this machine alone.

>>> embedding = PackagedTextEmbedder().run("Should zoos be closed?")["embedding"]
"""

from haystack_integrations.components.embedders.perspective_rag.embedders import (
    PackagedDocumentEmbedder,
    PackagedTextEmbedder,
)

__all__ = ["PackagedDocumentEmbedder", "PackagedTextEmbedder"]
