"""Encoders of the transformers library with the pooling chosen: DPR, SimCSE, Contriever, TART."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.types import Matrix
from perspective_rag.vectors import normalised

Pooling = Literal["mean", "cls", "pooler"]
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "pooler")


class TransformersEncoder:
    """Unit embeddings by a model's last layer; ``passage_model`` where passages have their own.

    ``pooling`` is "mean" (of the token states, padding left out), "cls" (the first state) or
    "pooler" (the model's own ``pooler_output``, whatever it was trained for). Texts are cut after
    ``max_tokens``. Models are ids or folders, loaded at first use. Raises MissingDependency
    without transformers, ConfigError for an unknown pooling and for a model without a pooler.
    """

    def __init__(
        self,
        model: str,
        passage_model: str | None = None,
        *,
        pooling: Pooling = "mean",
        dpr: bool = False,
        max_tokens: int = 512,
        batch_size: int = 16,
    ) -> None:
        if pooling not in POOLINGS:
            raise ConfigError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")
        self._sources = {"query": model, "passage": passage_model or model}
        self._pooling = pooling
        self._dpr = dpr
        self._max_tokens = max_tokens
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._loaded: dict[str, tuple[Any, Any]] = {}

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """One unit row for each text, shape (n, d), float32."""
        return self._rows(texts, "query")

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One unit row for each text, shape (n, d), float32."""
        return self._rows(texts, "passage")

    def _rows(self, texts: Sequence[str], side: str) -> Matrix:
        if not texts:
            return self._rows([""], side)[:0]
        with self._lock:
            tokenizer, model = self._load(side)
            order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
            found = []
            for start in range(0, len(order), self._batch_size):
                batch = [texts[place] for place in order[start : start + self._batch_size]]
                found.append(self._embed(tokenizer, model, batch))
        rows: Matrix = np.empty((len(texts), found[0].shape[1]), dtype=np.float32)
        rows[order] = normalised(np.concatenate(found))
        return rows

    def _embed(self, tokenizer: Any, model: Any, texts: Sequence[str]) -> Matrix:
        import torch

        encoded = tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self._max_tokens,
            return_tensors="pt",
        )
        with torch.no_grad():
            output = model(**encoded, output_hidden_states=True, return_dict=True)
        if self._pooling == "pooler":
            pooled = getattr(output, "pooler_output", None)
            if pooled is None:
                raise ConfigError(f"{self._sources['query']} has no pooler: choose another pooling")
        elif self._pooling == "cls":
            pooled = output.hidden_states[-1][:, 0]
        else:
            mask = encoded["attention_mask"][:, :, None].to(output.hidden_states[-1].dtype)
            pooled = (output.hidden_states[-1] * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        result: Matrix = pooled.float().cpu().numpy()
        return result

    def _load(self, side: str) -> tuple[Any, Any]:
        source = self._sources[side]
        # Equal sources share one model; DPR's classes differ by side.
        key = f"{side} {source}" if self._dpr else source
        if key not in self._loaded:
            try:
                import transformers
            except ImportError as error:
                raise MissingDependency("judge", f"embedding texts with {source!r}") from error
            kind: Any = transformers.AutoModel
            if self._dpr:
                query = side == "query"
                kind = transformers.DPRQuestionEncoder if query else transformers.DPRContextEncoder
            tokenizer = transformers.AutoTokenizer.from_pretrained(source)
            self._loaded[key] = tokenizer, kind.from_pretrained(source).eval()
        return self._loaded[key]
