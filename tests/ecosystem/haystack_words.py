"""The embeddings that know words, as a Haystack component.

Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.
"""

from haystack import component

from perspective_rag.testing import HashEmbedder

DIMENSIONS = 64


@component
class Words:
    """Texts that share words are similar."""

    def __init__(self, floor):
        self.relevance_floor = floor

    @component.output_types(embedding=list[float])
    def run(self, text: str):
        return {"embedding": HashEmbedder(DIMENSIONS).embed_queries([text])[0].tolist()}
