"""Any model of the sentence-transformers library as an embedder."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import MissingDependency
from perspective_rag.addons import fingerprint
from perspective_rag.extend import Matrix

_ENDS = 1 << 20


class SentenceTransformerEmbedder:
    """Embeds with a sentence-transformers model, loaded at first use.

    Args:
        model: A Hugging Face id or a folder.
        query_prompt: Is put before queries. None: the model's own prompts for queries and
            documents.
        device: Where it runs, such as "cuda". None: the library's choice.
        batch_size: Texts that go through the model together. Higher: faster on a GPU, more memory.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        query_prompt: str | None = None,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        self._source = os.fspath(model)
        self._query_prompt = query_prompt
        self._device = device
        self._batch_size = batch_size
        # The tokenizers of transformers fail ("Already borrowed") when threads share them.
        self._lock = threading.Lock()
        self._model: Any = None

    @cached_property
    def name(self) -> str:
        """The model's id; for a folder, its name and a hash of the ends of its files."""
        folder = Path(self._source)
        if not folder.is_dir():
            return self._source
        files = sorted(each for each in folder.rglob("*") if each.is_file())
        ends = ((path.relative_to(folder).as_posix(), *_ends(path)) for path in files)
        return f"{folder.resolve().name}@{fingerprint(ends, digits=12)}"

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same as ``embed_passages``, with the prompt for queries."""
        if self._query_prompt is not None:
            return self._rows("encode", texts, prompt=self._query_prompt)
        return self._rows("encode_query", texts)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds passages.

        Args:
            texts: The texts of the passages.

        Returns:
            Rows of length 1, shape (n, d), float32; zeros for a blank text.

        Raises:
            MissingDependency: sentence-transformers is not installed.
        """
        return self._rows("encode_document", texts)

    def _rows(self, method: str, texts: Sequence[str], **options: Any) -> Matrix:
        if not texts:
            return self._rows(method, [""], **options)[:0]
        with self._lock:
            if self._model is None:
                self._model = self._load()
            found = getattr(self._model, method)(
                list(texts),
                batch_size=self._batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
                **options,
            )
        rows: Matrix = np.array(found, dtype=np.float32)
        rows[[i for i, text in enumerate(texts) if not text.strip()]] = 0.0
        return rows

    def _load(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependency(
                "sentence-transformers", f"embedding texts with {self._source!r}"
            ) from error
        return SentenceTransformer(self._source, device=self._device)


def _ends(path: Path) -> tuple[int, bytes, bytes]:
    """A file's size, first and last bytes, which tell large weights apart without reading them."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        first = stream.read(_ENDS)
        stream.seek(max(0, size - _ENDS))
        return size, first, stream.read(_ENDS)
