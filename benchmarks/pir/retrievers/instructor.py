"""INSTRUCTOR: an encoder that is told what a text is to be represented for (Su et al. 2022)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from perspective_rag import MissingDependency
from perspective_rag.extend import Matrix

SEPARATOR = "\x1f"
"""Between the instruction and the text of an input; a text without it has no instruction."""


def instructed(instruction: str, text: str) -> str:
    """An input of ``InstructorEncoder``."""
    return f"{instruction}{SEPARATOR}{text}"


class InstructorEncoder:
    """Unit embeddings by a sentence-transformers model whose pooling leaves the instruction out.

    The instruction is read by the model before the text, and only the text's states are averaged.
    ``model`` is an id or a folder, loaded at first use. Raises MissingDependency without the
    library.
    """

    def __init__(self, model: str, *, batch_size: int = 16) -> None:
        self._source = model
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._model: Any = None

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """One unit row for each input, shape (n, d), float32."""
        if not texts:
            return self.embed_queries([""])[:0]
        by_instruction: dict[str, list[int]] = {}
        split = [text.rpartition(SEPARATOR) for text in texts]
        for place, (instruction, _, _) in enumerate(split):
            by_instruction.setdefault(instruction, []).append(place)
        parts, order = [], []
        with self._lock:
            model = self._load()
            for instruction, places in by_instruction.items():
                found = model.encode(
                    [split[place][2] for place in places],
                    prompt=instruction or None,
                    batch_size=self._batch_size,
                    normalize_embeddings=True,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
                parts.append(np.asarray(found, dtype=np.float32))
                order.extend(places)
        stacked = np.concatenate(parts)
        rows: Matrix = np.empty_like(stacked)
        rows[order] = stacked
        return rows

    embed_passages = embed_queries

    def _load(self) -> Any:
        if self._model is None:
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                raise MissingDependency(
                    "sentence-transformers", f"embedding texts with {self._source!r}"
                ) from error
            self._model = SentenceTransformer(self._source)
            self._model.set_pooling_include_prompt(include_prompt=False)
        return self._model
