"""Servers of the Open Inference Protocol (KServe v2): Triton, KServe, OpenVINO Model Server.

Source: https://github.com/kserve/open-inference-protocol, ``specification/protocol/inference_rest``
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

_EXPECTED = (
    "Expected an address that ends in /v2/models/NAME, of a model that the server has loaded and "
    "names the inputs and outputs of"
)


class KServeInfer:
    """Logits of pairs by ``MODEL/infer``; the address ends in ``/v2/models/MODEL``.

    The model is what ``perspective-rag judge export --to onnx`` writes: its inputs are token ids,
    made here with the model's own tokenizer. The protocol knows no labels: of the outputs only
    their number is checked, and their order is that of the folder's ``config.json``.
    """

    path = "infer"

    def __init__(self, reader: PairReader) -> None:
        self._reader = reader
        self._inputs: dict[str, str] = {}
        self._output = "logits"

    async def check(self, client: Client) -> int | None:
        """None: the protocol names no limit.

        Raises ConfigError where there is no such model, and where it takes other inputs or gives
        another number of classes.
        """
        try:
            model = await client.exchange("GET", "")
        except ServerError as error:
            if error.status not in (400, 404, 405):
                raise
            raise ConfigError(f"{error}. {_EXPECTED}") from error
        if isinstance(model, dict) and not model.get("inputs"):
            raise ConfigError(f"{client.shown} names no inputs of a model. {_EXPECTED}")
        try:
            inputs = {each["name"]: each["datatype"] for each in model["inputs"]}
            outputs = {each["name"]: list(each["shape"]) for each in model["outputs"]}
        except (KeyError, TypeError, AttributeError) as error:
            raise client.failure(f"gave another reply than expected: {error!r}") from None
        ours = ("input_ids", "attention_mask", "token_type_ids")
        if not {"input_ids"} <= inputs.keys() <= set(ours):
            raise ConfigError(
                f"{client.shown} takes {', '.join(inputs) or 'nothing'}; expected {', '.join(ours)}"
            )
        if wrong := {n: t for n, t in inputs.items() if t not in ("INT64", "INT32")}:
            raise ConfigError(f"{client.shown}: expected inputs of INT64 or INT32, found {wrong}")
        self._output = "logits" if "logits" in outputs else next(iter(outputs), "logits")
        classes = (outputs.get(self._output) or [-1])[-1]
        if classes not in (-1, len(self._reader.labels)):
            found = [f"class {place}" for place in range(int(classes))]
            check_labels(client.shown, found, self._reader.labels)
        self._inputs = inputs
        return None

    def body(self, items: Sequence[PairItem]) -> dict[str, Any]:
        """The request."""
        values = {
            "input_ids": ([item.ids for item in items], self._reader.pad_id),
            "attention_mask": ([[1] * len(item.ids) for item in items], 0),
            "token_type_ids": ([item.type_ids for item in items], 0),
        }
        inputs = []
        for name, datatype in self._inputs.items():
            rows, fill = values[name]
            matrix = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
            for target, row in zip(matrix, rows, strict=True):
                target[: len(row)] = row
            inputs.append(
                {
                    "name": name,
                    "shape": list(matrix.shape),
                    "datatype": datatype,
                    "data": matrix.ravel().tolist(),
                }
            )
        return {"inputs": inputs, "outputs": [{"name": self._output}]}

    def rows(self, reply: Any, items: Sequence[PairItem]) -> Sequence[Vector]:
        """The logits of each pair, shape (classes,)."""
        (output,) = (each for each in reply["outputs"] if each["name"] == self._output)
        wanted = (len(items), len(self._reader.labels))
        if tuple(output["shape"]) != wanted:
            raise ValueError(f"shape {output['shape']!r:.80} instead of {wanted}")
        numbers = np.array(output["data"], dtype=np.float64)  # flat or nested; null is NaN
        return list(numbers.reshape(wanted))
