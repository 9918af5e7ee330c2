"""Embeddings by the protocol of OpenAI: ``POST /embeddings``, which vLLM and many others speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perspective_rag.extend import Vector


class OpenAIEmbeddings:
    """``extra`` are further fields of every request."""

    path = "embeddings"

    def __init__(self, model: str, extra: dict[str, Any] | None = None) -> None:
        self._fields = {"model": model, "encoding_format": "float", **(extra or {})}

    def body(self, items: Sequence[str]) -> dict[str, Any]:
        """The request."""
        return {**self._fields, "input": list(items)}

    def rows(self, reply: Any, items: Sequence[str]) -> Sequence[Vector]:
        """A vector for each text, by the indices of the reply."""
        data = sorted(reply["data"], key=lambda each: each["index"])
        rows = [np.array(each["embedding"], dtype=np.float32) for each in data]
        if len(rows) != len(items):
            shape = np.array(rows).shape
            raise ValueError(f"embeddings of shape {shape} for {len(items)} texts")
        return rows
