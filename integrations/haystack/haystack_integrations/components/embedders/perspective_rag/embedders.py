"""The packaged encoder as Haystack embedders."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from typing_extensions import Self

from perspective_rag import OnnxMiniLM
from perspective_rag.extend import in_thread


class _PackagedEmbedder:
    """What both embedders do; ``_given`` are the constructor's parameters by name."""

    def _take(self, of_encoder: dict[str, Any], **others: Any) -> None:
        self._given = {**of_encoder, **others}
        self.encoder = OnnxMiniLM(**of_encoder)

    @property
    def relevance_floor(self) -> Any:
        """From which cosine to the question a text is about it."""
        return self.encoder.relevance_floor

    def warm_up(self) -> None:
        """Loads the model."""
        self.encoder.embed_queries(["warm up"])

    def to_dict(self) -> dict[str, Any]:
        """Writes the component as plain values."""
        return default_to_dict(self, **self._given)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Makes the component that ``to_dict`` wrote."""
        return default_from_dict(cls, data)


@component
class PackagedTextEmbedder(_PackagedEmbedder):
    """Embeds a text as 384 numbers of length one, by all-MiniLM-L6-v2 (int8), on this machine.

    The model is loaded by ``warm_up`` or at the first text. A retriever made with it knows from
    which similarity on a document is about the question (``relevance_floor``).

    Args:
        max_tokens: Texts are cut after this many tokens.
        batch_size: Maximum number of texts computed together.
        threads: Threads of one call; None: one for each core.

    Raises:
        MissingDependency: The extra ``local`` is not installed.
    """

    def __init__(
        self, *, max_tokens: int = 256, batch_size: int = 8, threads: int | None = None
    ) -> None:
        self._take({"max_tokens": max_tokens, "batch_size": batch_size, "threads": threads})

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """Returns the ``embedding`` of a text: 384 numbers. Raises TypeError for documents."""
        if not isinstance(text, str):
            raise TypeError(
                f"PackagedTextEmbedder takes a text, got a {type(text).__name__}: documents go to "
                "PackagedDocumentEmbedder"
            )
        return {"embedding": self.encoder.embed_queries([text])[0].tolist()}

    @component.output_types(embedding=list[float])
    async def run_async(self, text: str) -> dict[str, Any]:
        """The same as ``run``, without blocking the event loop."""
        return await in_thread(self.run, text)


@component
class PackagedDocumentEmbedder(_PackagedEmbedder):
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
        self._take(
            {"max_tokens": max_tokens, "batch_size": batch_size, "threads": threads},
            meta_fields_to_embed=meta_fields_to_embed,
            embedding_separator=embedding_separator,
        )

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Returns copies of the ``documents`` with embeddings. Raises TypeError for a text."""
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

    def _text(self, document: Document) -> str:
        given = [document.meta.get(name) for name in self._given["meta_fields_to_embed"] or ()]
        parts = [str(value) for value in given if value is not None]
        return str(self._given["embedding_separator"]).join([*parts, document.content or ""])
