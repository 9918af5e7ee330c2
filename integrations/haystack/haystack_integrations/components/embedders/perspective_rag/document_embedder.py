"""The packaged encoder as a document embedder."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from typing_extensions import Self

from perspective_rag import OnnxMiniLM
from perspective_rag.extend import in_thread


@component
class PackagedDocumentEmbedder:
    """Embeds documents, in one batch: 384 dimensions, length one, by all-MiniLM-L6-v2 (int8).

    ``meta_fields_to_embed`` are put before the text, each followed by ``embedding_separator``; the
    other parameters are those of ``PackagedTextEmbedder``. A document without text has a row of
    zeros. Raises MissingDependency without the extra ``local``.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 256,
        batch_size: int = 8,
        threads: int | None = None,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
    ) -> None:
        self._given = {
            "max_tokens": max_tokens,
            "batch_size": batch_size,
            "threads": threads,
            "meta_fields_to_embed": meta_fields_to_embed,
            "embedding_separator": embedding_separator,
        }
        self._fields = list(meta_fields_to_embed or ())
        self._separator = embedding_separator
        self.encoder = OnnxMiniLM(max_tokens=max_tokens, batch_size=batch_size, threads=threads)

    def warm_up(self) -> None:
        """Loads the model."""
        self.encoder.embed_passages(["warm up"])

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Copies of the documents with their embeddings; raises TypeError for anything else."""
        if not all(isinstance(each, Document) for each in documents):
            raise TypeError(
                "PackagedDocumentEmbedder takes a list of documents: a text goes to "
                "PackagedTextEmbedder"
            )
        rows = self.encoder.embed_passages([self._text(each) for each in documents])
        return {
            "documents": [
                replace(document, embedding=row.tolist())
                for document, row in zip(documents, rows, strict=True)
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document]) -> dict[str, Any]:
        """The same, without blocking the event loop."""
        return await in_thread(self.run, documents)

    def to_dict(self) -> dict[str, Any]:
        """The component as plain values."""
        return default_to_dict(self, **self._given)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that ``to_dict`` wrote."""
        return default_from_dict(cls, data)

    def _text(self, document: Document) -> str:
        given = [document.meta.get(name) for name in self._fields]
        parts = [str(value) for value in given if value is not None]
        return self._separator.join([*parts, document.content or ""])
