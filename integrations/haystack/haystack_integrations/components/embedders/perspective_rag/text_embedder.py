"""The packaged encoder as a text embedder."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

from typing import Any

from haystack import component, default_from_dict, default_to_dict
from typing_extensions import Self

from perspective_rag import OnnxMiniLM
from perspective_rag.extend import in_thread


@component
class PackagedTextEmbedder:
    """Embeds a text: 384 dimensions, length one, by all-MiniLM-L6-v2 (int8).

    Texts are cut after ``max_tokens``; ``batch_size`` texts are computed together; ``threads`` are
    those of one call (None: a thread a core). The model is loaded by ``warm_up`` or at the first
    text. A retriever made with it knows from which similarity on a document is about the question
    (``relevance_floor``). Raises MissingDependency without the extra ``local``.
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
        """The embedding of a text; raises TypeError for anything else."""
        if not isinstance(text, str):
            raise TypeError(
                f"PackagedTextEmbedder takes a text, got a {type(text).__name__}: documents go to "
                "PackagedDocumentEmbedder"
            )
        return {"embedding": self.encoder.embed_queries([text])[0].tolist()}

    @component.output_types(embedding=list[float])
    async def run_async(self, text: str) -> dict[str, Any]:
        """The same, without blocking the event loop."""
        return await in_thread(self.run, text)

    def to_dict(self) -> dict[str, Any]:
        """The component as plain values."""
        return default_to_dict(self, **self._given)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that ``to_dict`` wrote."""
        return default_from_dict(cls, data)
