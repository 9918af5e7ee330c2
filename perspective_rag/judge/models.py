"""The two ways a cross-encoder runs: ONNX Runtime without torch, and transformers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.flow.cancelling import check_wanted
from perspective_rag.flow.threads import map_in_pool
from perspective_rag.judge.encoding import PairEncoder, batches_by_length, padded
from perspective_rag.types import Matrix, Vector
from perspective_rag.values import from_json


def onnx_runtime() -> tuple[Any, Any]:
    """The module onnxruntime and the class Tokenizer; raises MissingDependency without them."""
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingDependency("packaged-judge", "judging with an ONNX model") from error
    return onnxruntime, Tokenizer


class OnnxClassifier:
    """A classifier in an ONNX file beside its ``tokenizer.json`` and ``config.json`` (for the label
    names).

    ``threads`` pairs are read side by side (None: one a core), each by itself: an int8 model scales
    its activations by the largest in its input, so that in a batch a verdict would depend on its
    company, and on a CPU a batch is no faster.
    """

    def __init__(self, model: Path, *, max_tokens: int, threads: int | None = None) -> None:
        onnxruntime, tokenizer = onnx_runtime()
        path = model if model.suffix == ".onnx" else model / "model.onnx"
        for needed in (path, path.parent / "tokenizer.json", path.parent / "config.json"):
            if not needed.is_file():
                raise ConfigError(
                    f"{needed} is missing: needed are model.onnx, tokenizer.json, config.json"
                )
        try:
            config = from_json((path.parent / "config.json").read_text(encoding="utf-8"))
            names = config.get("id2label") or {}
            self.labels = tuple(names[key] for key in sorted(names, key=int))
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path.parent / 'config.json'} cannot be read: {error}") from error
        self._encoder = PairEncoder(
            tokenizer.from_file(str(path.parent / "tokenizer.json")), max_tokens
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._readers = ThreadPoolExecutor(threads or cores(), thread_name_prefix="judge")

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside every statement."""
        return self._encoder.pieces(text, statements)

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix:
        """The model's outputs, shape (n, classes), in the order of the pairs."""
        encoded = self._encoder.pairs(documents, statements)
        rows = map_in_pool(self._readers, self._read, encoded)
        return np.array(rows, dtype=np.float64).reshape(len(encoded), len(self.labels) or 1)

    def _read(self, pair: Any) -> Vector:
        values = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        feed = {name: np.array([values[name]], dtype=np.int64) for name in self._inputs}
        logits: Vector = self._session.run(None, feed)[0][0]
        return logits


def cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class TransformersClassifier:
    """Any sequence-classification model of transformers, from a folder or a Hugging Face id.

    ``revision`` is the hub's branch, tag or commit. Raises MissingDependency without torch and
    transformers, ConfigError for a tokenizer without a fast form.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int,
        revision: str | None = None,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise MissingDependency("judge", f"judging with {model!r}") from error
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer: Any = AutoTokenizer.from_pretrained(model, revision=revision)
        self._model: Any = (
            AutoModelForSequenceClassification.from_pretrained(model, revision=revision)
            .to(self._device)
            .eval()
        )
        config = self._model.config
        self.labels = tuple(config.id2label[key] for key in sorted(config.id2label))
        if not tokenizer.is_fast:
            raise ConfigError(
                f"{model!r} has no fast tokenizer: save one beside the model (tokenizer.json)"
            )
        limit = int(getattr(config, "max_position_embeddings", -1))
        # RoBERTa and its kin start counting positions after the padding's.
        limit -= 2 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
        self._encoder = PairEncoder(
            tokenizer.backend_tokenizer, min(max_tokens, limit) if limit > 0 else max_tokens
        )
        self._fill = {
            "input_ids": int(tokenizer.pad_token_id or 0),
            "attention_mask": 0,
            "token_type_ids": int(getattr(tokenizer, "pad_token_type_id", 0)),
        }
        self._inputs = set(tokenizer.model_input_names)
        self._batch_size = batch_size

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside every statement."""
        return self._encoder.pieces(text, statements)

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix:
        """The model's outputs, shape (n, classes), in the order of the pairs."""
        encoded = self._encoder.pairs(documents, statements)
        result = np.zeros((len(encoded), len(self.labels)))
        for rows in batches_by_length([len(each.ids) for each in encoded], self._batch_size):
            check_wanted()
            fields = {
                "input_ids": [encoded[i].ids for i in rows],
                "attention_mask": [encoded[i].attention_mask for i in rows],
                "token_type_ids": [encoded[i].type_ids for i in rows],
            }
            inputs = {
                name: self._torch.from_numpy(padded(values, self._fill[name])).to(self._device)
                for name, values in fields.items()
                if name in self._inputs
            }
            with self._torch.no_grad():
                result[rows] = self._model(**inputs).logits.float().cpu().numpy()
        return result
