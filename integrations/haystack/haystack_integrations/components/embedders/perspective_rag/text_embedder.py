"""The packaged encoder as a text embedder."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

from typing import Any

from haystack import component, default_from_dict, default_to_dict
from typing_extensions import Self

from perspective_rag import OnnxMiniLM
from perspective_rag.extend import in_thread


@component
class PackagedTextEmbedder:
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
        self._given = {"max_tokens": max_tokens, "batch_size": batch_size, "threads": threads}
        self.encoder = OnnxMiniLM(max_tokens=max_tokens, batch_size=batch_size, threads=threads)

    @property
    def relevance_floor(self) -> Any:
        """From which cosine to the question a text is about it."""
        return self.encoder.relevance_floor

    def warm_up(self) -> None:
        """Loads the model."""
        self.encoder.embed_queries(["warm up"])

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """Embeds a text.

        Args:
            text: The text.

        Returns:
            ``embedding``: 384 numbers.

        Raises:
            TypeError: It is no text.
        """
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
