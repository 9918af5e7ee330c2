"""The two ways a cross-encoder runs: ONNX Runtime without torch, and transformers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.types import Matrix


class OnnxClassifier:
    """A classifier in an ONNX file beside its ``tokenizer.json`` and ``config.json`` (for the label
    names).
    """

    def __init__(
        self, model: Path, *, max_tokens: int, threads: int | None = None, batch_size: int = 16
    ) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency("local", "judging with an ONNX model") from error
        path = model if model.suffix == ".onnx" else model / "model.onnx"
        for needed in (path, path.parent / "tokenizer.json", path.parent / "config.json"):
            if not needed.is_file():
                raise ConfigError(
                    f"{needed} is missing: needed are model.onnx, tokenizer.json, config.json"
                )
        config = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
        names = config.get("id2label") or {}
        self.labels = tuple(names[key] for key in sorted(names, key=int))
        self._tokenizer = Tokenizer.from_file(str(path.parent / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._batch_size = batch_size

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix:
        """The model's outputs, shape (n, classes), in the order of the pairs."""
        encoded = self._tokenizer.encode_batch(list(zip(documents, statements, strict=True)))
        result = np.zeros((len(encoded), len(self.labels) or 1))
        for rows in _by_length([len(each.ids) for each in encoded], self._batch_size):
            width = max(len(encoded[i].ids) for i in rows)
            feed = {
                "input_ids": _padded([encoded[i].ids for i in rows], width),
                "attention_mask": _padded([encoded[i].attention_mask for i in rows], width),
                "token_type_ids": _padded([encoded[i].type_ids for i in rows], width),
            }
            outputs = self._session.run(None, {k: v for k, v in feed.items() if k in self._inputs})
            result[rows] = outputs[0]
        return result


class TransformersClassifier:
    """Any sequence-classification model of transformers, from a folder or a Hugging Face id."""

    def __init__(
        self, model: str, *, max_tokens: int, device: str | None = None, batch_size: int = 32
    ) -> None:
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise MissingDependency("judge", f"judging with {model!r}") from error
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
        self._model: Any = (
            AutoModelForSequenceClassification.from_pretrained(model).to(self._device).eval()
        )
        names = self._model.config.id2label
        self.labels = tuple(names[key] for key in sorted(names))
        self._max_tokens = min(
            max_tokens, int(getattr(self._model.config, "max_position_embeddings", max_tokens))
        )
        self._batch_size = batch_size

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix:
        """The model's outputs, shape (n, classes), in the order of the pairs."""
        result = np.zeros((len(documents), len(self.labels)))
        lengths = [len(d) + len(s) for d, s in zip(documents, statements, strict=True)]
        for rows in _by_length(lengths, self._batch_size):
            inputs = self._tokenizer(
                [documents[i] for i in rows],
                [statements[i] for i in rows],
                truncation="longest_first",
                max_length=self._max_tokens,
                padding=True,
                return_tensors="pt",
            ).to(self._device)
            with self._torch.no_grad():
                result[rows] = self._model(**inputs).logits.float().cpu().numpy()
        return result


def _by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Rows in batches of similar length, so that little is padded."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def _padded(rows: Sequence[Sequence[int]], width: int) -> Any:
    matrix = np.zeros((len(rows), width), dtype=np.int64)
    for target, row in zip(matrix, rows, strict=True):
        target[: len(row)] = row
    return matrix
