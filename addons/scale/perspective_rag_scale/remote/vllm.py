"""vLLM's pooling server: ``/classify`` and ``/v1/models``.

Source: vllm 0.32, ``entrypoints/pooling/classify/protocol.py``,
https://docs.vllm.ai/en/latest/models/pooling_models.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perspective_rag import ConfigError
from perspective_rag.extend import Vector
from perspective_rag_scale.remote.client import Client
from perspective_rag_scale.remote.failures import ServerError
from perspective_rag_scale.remote.labels import check_labels
from perspective_rag_scale.remote.pairs import PairItem, PairReader


class VLLMClassify:
    """Logits of pairs by ``/classify`` with ``use_activation: false``.

    ``/classify`` takes one text, and ``/score`` only models of one class, so the token ids of the
    pair are sent. Neither says which text a token belongs to, which BERT adds to its embedding:
    ``perspective-rag judge export --to vllm`` writes a second copy of the vocabulary in which it is
    added already, and the second text's ids point there (exact; twice the embedding matrix).
    ``served`` is the model's name on the server (None: the only one).
    """

    path = "classify"

    def __init__(self, reader: PairReader, served: str | None = None) -> None:
        self._reader = reader
        self._served = served
        self._logits = True

    async def check(self, client: Client) -> int | None:
        """None: vLLM takes batches of any size.

        Raises ConfigError where the server has another model, another number of classes or other
        labels, reads fewer tokens than the judge, or lacks the second vocabulary.
        """
        models = await client.exchange("GET", "v1/models")
        try:
            lengths = {each["id"]: each.get("max_model_len") for each in models["data"]}
        except (KeyError, TypeError, AttributeError) as error:
            raise client.failure(
                f"/v1/models gave another reply than expected: {error!r}"
            ) from None
        if self._served is None and len(lengths) == 1:
            self._served = next(iter(lengths))
        if self._served not in lengths:
            named = ", ".join(map(repr, lengths)) or "none"
            wanted = f"expected {self._served!r}" if self._served else "name one of them: served="
            raise ConfigError(f"{client.shown} serves {named}; {wanted}")
        longest = lengths[self._served]
        if isinstance(longest, int) and longest < self._reader.max_tokens:
            raise ConfigError(
                f"{client.shown} reads at most {longest} tokens, the judge "
                f"{self._reader.max_tokens}: start the server with a larger --max-model-len"
            )
        await self._probe(client)
        return None

    async def _probe(self, client: Client) -> None:
        items = self._reader.items(["It rains."], ["The weather is wet."])
        try:
            plain, activated = [
                self._numbers(await client.exchange("POST", self.path, body), items)[0]
                for body in (
                    self.body(items),
                    {**self.body(items), "use_activation": True, "activation": True},
                )
            ]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            if isinstance(error, ConfigError):
                raise
            raise client.failure(f"/classify gave another reply than expected: {error!r}") from None
        except ServerError as error:
            if error.status in (404, 405):
                raise ConfigError(
                    f"{error}. Expected a classifier: vllm serve FOLDER --runner pooling"
                ) from error
            if error.status in (400, 422) and self._reader.second_text_offset:
                raise ConfigError(
                    f"{error}. Expected a folder that `perspective-rag judge export --to vllm` "
                    "wrote: token ids alone do not say which text they belong to"
                ) from error
            raise
        # A version that does not know use_activation gives probabilities both times: their
        # logarithms are logits up to a constant, which no use of them sees.
        self._logits = not np.allclose(plain, activated, atol=1e-6)

    def body(self, items: Sequence[PairItem]) -> dict[str, Any]:
        """The request; ``activation`` is what versions before 0.12 call ``use_activation``."""
        return {
            "model": self._served,
            "input": [self._ids(item) for item in items],
            "add_special_tokens": False,
            "use_activation": False,
            "activation": False,
        }

    def rows(self, reply: Any, items: Sequence[PairItem]) -> Sequence[Vector]:
        """The logits of each pair, shape (classes,).

        Raises ConfigError where the label of the largest is not the one of the model's folder.
        """
        found = self._numbers(reply, items)
        if self._logits:
            return found
        with np.errstate(divide="ignore"):
            return [np.log(np.maximum(row, np.finfo(np.float32).tiny)) for row in found]

    def _numbers(self, reply: Any, items: Sequence[PairItem]) -> list[Vector]:
        """What the server gives: logits, or probabilities of one that gives nothing else."""
        data = sorted(reply["data"], key=lambda each: each["index"])
        if [each["index"] for each in data] != list(range(len(items))):
            raise ValueError(f"{len(data)} rows for {len(items)} pairs")
        found: list[Vector] = []
        labels = self._reader.labels
        for each in data:
            numbers = [np.nan if value is None else value for value in each["probs"]]
            row = np.array(numbers, dtype=np.float64)
            if row.shape != (len(labels),):
                names = [f"class {place}" for place in range(row.size)]
                check_labels("the server", names, labels)
            if np.isfinite(row).all() and each.get("label") is not None:
                best = int(row.argmax())
                wrong = [*labels[:best], each["label"], *labels[best + 1 :]]
                check_labels("the server", wrong, labels)
            found.append(row)
        return found

    def _ids(self, item: PairItem) -> list[int]:
        step = self._reader.second_text_offset
        if not step:
            return item.ids
        return [i + step * kind for i, kind in zip(item.ids, item.type_ids, strict=True)]
