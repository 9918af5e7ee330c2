"""Text Embeddings Inference: ``/predict``, ``/embed`` and ``/info``.

Sources: ``docs/openapi.json``, and for statuses and limits ``router/src/http/server.rs``, both of
version 1.9.3, https://github.com/huggingface/text-embeddings-inference
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perspective_rag import ConfigError
from perspective_rag.extend import Vector
from perspective_rag_scale.remote.client import Client
from perspective_rag_scale.remote.labels import check_labels
from perspective_rag_scale.remote.pairs import PairItem, PairReader


class TEIPredict:
    """Logits of pairs by ``/predict`` with ``raw_scores``.

    The server tokenises the texts; they are sent as far as the model reads them. Its classes come
    sorted by score, and are put in the model's order by their labels.
    """

    path = "predict"

    def __init__(self, reader: PairReader) -> None:
        self._reader = reader
        self._places = {label: place for place, label in enumerate(reader.labels)}

    async def check(self, client: Client) -> int | None:
        """The largest batch that the server takes.

        Raises ConfigError where ``/info`` names another kind of model, other labels or another
        order of them, and where the server reads fewer tokens than the judge.
        """
        info = await client.exchange("GET", "info")
        try:
            kinds = info["model_type"]
            model = kinds.get("classifier") or kinds.get("reranker")
            names = model["id2label"] if model is not None else None
            labels = None if names is None else [names[key] for key in sorted(names, key=int)]
            longest = int(info["max_input_length"])
            # Each pair of a batch counts as a request under way.
            most = min(int(info["max_client_batch_size"]), int(info["max_concurrent_requests"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise client.failure(f"/info gave another reply than expected: {error!r}") from None
        if labels is None:
            raise ConfigError(
                f"{client.shown} serves {', '.join(kinds) or 'no'} model; expected a classifier "
                "of pairs (sequence classification)"
            )
        check_labels(client.shown, labels, self._reader.labels)
        if longest < self._reader.max_tokens:
            raise ConfigError(
                f"{client.shown} reads at most {longest} tokens, the judge "
                f"{self._reader.max_tokens}: start the server without a lower limit, or lower "
                "max_tokens in the judge's judge.json"
            )
        return max(1, most)

    def body(self, items: Sequence[PairItem]) -> dict[str, Any]:
        """The request."""
        inputs = [list(item.texts) for item in items]
        return {"inputs": inputs, "raw_scores": True, "truncate": True}

    def rows(self, reply: Any, items: Sequence[PairItem]) -> Sequence[Vector]:
        """The logits of each pair, shape (classes,); NaN for a class without a number."""
        if not isinstance(reply, list) or len(reply) != len(items):
            raise ValueError(f"{_count(reply)} for {len(items)} pairs")
        found = []
        for classes in reply:
            scores = {each["label"]: each["score"] for each in classes}
            if scores.keys() != self._places.keys() or len(classes) != len(scores):
                check_labels("the server", [each["label"] for each in classes], tuple(self._places))
            row = np.full(len(self._places), np.nan)
            for label, score in scores.items():
                row[self._places[label]] = np.nan if score is None else float(score)
            found.append(row)
        return found


class TEIEmbed:
    """Embeddings by ``/embed``."""

    path = "embed"

    def body(self, items: Sequence[str]) -> dict[str, Any]:
        """The request; long texts are cut by the server."""
        return {"inputs": list(items), "truncate": True, "normalize": True}

    def rows(self, reply: Any, items: Sequence[str]) -> Sequence[Vector]:
        """A vector for each text."""
        if not isinstance(reply, list) or len(reply) != len(items):
            raise ValueError(f"{_count(reply)} for {len(items)} texts")
        return [np.array(row, dtype=np.float32) for row in reply]


def _count(reply: Any) -> str:
    return f"{len(reply)} rows" if isinstance(reply, list) else f"a {type(reply).__name__}"
