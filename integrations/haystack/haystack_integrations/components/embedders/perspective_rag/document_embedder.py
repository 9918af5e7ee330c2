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
    """Embeds documents in one batch, each as 384 numbers of length one, by all-MiniLM-L6-v2 (int8).

    A document without text gets a row of zeros. Parameters not listed are those of
    ``PackagedTextEmbedder``.

    Args:
        meta_fields_to_embed: Metadata fields put before the text.
        embedding_separator: Follows each of these fields.

    Raises:
        MissingDependency: The extra ``local`` is not installed.
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
        """Embeds documents.

        Args:
            documents: The documents.

        Returns:
            ``documents``: copies with their embeddings.

        Raises:
            TypeError: Something else than documents was given.
        """
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
        """The same as ``run``, without blocking the event loop."""
        return await in_thread(self.run, documents)

    def to_dict(self) -> dict[str, Any]:
        """Writes the component as plain values."""
        return default_to_dict(self, **self._given)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Makes the component that ``to_dict`` wrote.

        Args:
            data: What ``to_dict`` returned.

        Returns:
            The component.
        """
        return default_from_dict(cls, data)

    def _text(self, document: Document) -> str:
        given = [document.meta.get(name) for name in self._fields]
        parts = [str(value) for value in given if value is not None]
        return self._separator.join([*parts, document.content or ""])
