"""The dense encoders of the papers, loaded through transformers: names, pooling, prefixes, score.

A model is given by its name in ``ENCODERS``, or as ``NAME=FOLDER`` with the weights elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from perspective_rag import ConfigError, MissingDependency, Passage
from perspective_rag.extend import Matrix, unknown_name

Pooling = Literal["mean", "cls", "pooler", "own"]
Similarity = Literal["dot", "cosine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSpec:
    """How a model is fed and read.

    ``queries`` is the model of the queries where it is not ``passages``. ``pooling``: "mean" of the
    token embeddings, "cls" the first one, "pooler" the model's pooler output, "own" the model's
    ``encode`` method. ``similarity`` is the score the model was trained for. ``query_prefix`` is
    put before a query, ``title_separator`` between a passage's title and its text.
    """

    passages: str
    queries: str | None = None
    pooling: Pooling = "mean"
    similarity: Similarity = "dot"
    query_prefix: str = ""
    title_separator: str = " "
    max_tokens: int = 512
    architecture: Literal["auto", "dpr"] = "auto"
    remote_code: bool = False

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("pooling", self.pooling, get_args(Pooling)),
            ("similarity", self.similarity, get_args(Similarity)),
        ):
            if value not in allowed:
                raise unknown_name(str(value), allowed, name)

    def passage_text(self, passage: Passage) -> str:
        """What the model reads of a passage."""
        title = passage.title
        return f"{title}{self.title_separator}{passage.text}" if title else passage.text


TART_TASK = "Retrieve passages that hold an opinion or argument on this question"
"""The instruction of the TART models; theirs is not published for these data, this is ours."""

ENCODERS: Mapping[str, EncoderSpec] = {
    "dpr": EncoderSpec(
        passages="facebook/dpr-ctx_encoder-single-nq-base",
        queries="facebook/dpr-question_encoder-single-nq-base",
        pooling="pooler",
        title_separator=" [SEP] ",
        max_tokens=256,
        architecture="dpr",
    ),
    "contriever": EncoderSpec(passages="facebook/contriever"),
    "contriever-msmarco": EncoderSpec(passages="facebook/contriever-msmarco"),
    "tart-dual": EncoderSpec(
        passages="facebook/tart-dual-contriever-msmarco", query_prefix=f"{TART_TASK} [SEP] "
    ),
    "simcse": EncoderSpec(
        passages="princeton-nlp/sup-simcse-bert-base-uncased", similarity="cosine"
    ),
    "simcse-unsup": EncoderSpec(
        passages="princeton-nlp/unsup-simcse-bert-base-uncased", similarity="cosine"
    ),
    "nv-embed-v2": EncoderSpec(
        passages="nvidia/NV-Embed-v2",
        pooling="own",
        similarity="cosine",
        query_prefix="Instruct: Given a question, retrieve passages that answer it\nQuery: ",
        max_tokens=32_768,
        remote_code=True,
    ),
}


def encoder_spec(name: str, *, pooling: Pooling | None = None) -> EncoderSpec:
    """The specification by name, ``NAME=FOLDER`` with weights from a folder, or with two folders
    ``NAME=PASSAGES,QUERIES``; ``pooling`` replaces the model's own.
    """
    known, _, folders = name.partition("=")
    if known not in ENCODERS:
        raise unknown_name(known, ENCODERS, "encoder")
    spec = ENCODERS[known]
    if folders:
        passages, _, queries = folders.partition(",")
        spec = replace(spec, passages=passages, queries=queries or (spec.queries and passages))
    return replace(spec, pooling=pooling) if pooling is not None else spec


class TransformersEncoder:
    """An embedder of the given specification: shape (n, d), float32, unit rows for "cosine".

    ``device`` None takes the GPU where there is one, in half precision. The models are loaded at
    first use; texts are cut after ``max_tokens``. Raises MissingDependency without torch.
    """

    def __init__(
        self, name: str, spec: EncoderSpec, *, device: str | None = None, batch_size: int = 32
    ) -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, got {batch_size}")
        self.spec = spec
        self.name = f"{name}:{spec.pooling}"
        self._device = device
        self._batch_size = batch_size
        self._models: dict[bool, tuple[Any, Any]] = {}
        self._lock = threading.Lock()

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """One row for each text, the prefix for queries before it."""
        if self.spec.pooling == "own":
            return self._rows(texts, queries=True)
        return self._rows([self.spec.query_prefix + text for text in texts], queries=True)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row for each text; see ``EncoderSpec.passage_text`` for titles."""
        return self._rows(texts, queries=False)

    def _rows(self, texts: Sequence[str], *, queries: bool) -> Matrix:
        if not texts:
            return self._rows([""], queries=queries)[:0]
        with self._lock:
            order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
            batches = [
                self._batch([texts[i] for i in some], queries)
                for some in _chunks(order, self._batch_size)
            ]
        found = np.concatenate(batches)
        rows: Matrix = np.empty_like(found)
        rows[order] = found
        if self.spec.similarity == "cosine":
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows

    def _batch(self, texts: list[str], queries: bool) -> Matrix:
        tokenizer, model = self._loaded(queries)
        import torch

        with torch.no_grad():
            if self.spec.pooling == "own":
                found = model.encode(
                    texts,
                    instruction=self.spec.query_prefix if queries else "",
                    max_length=self.spec.max_tokens,
                )
                return np.asarray(found.float().cpu().numpy(), dtype=np.float32)
            inputs = tokenizer(
                texts,
                padding=True,
                truncation=True,
                max_length=self.spec.max_tokens,
                return_tensors="pt",
            ).to(model.device)
            output = model(**inputs)
            if self.spec.pooling == "pooler":
                pooled = output.pooler_output
            elif self.spec.pooling == "cls":
                pooled = output.last_hidden_state[:, 0]
            else:
                mask = inputs["attention_mask"][..., None].to(output.last_hidden_state.dtype)
                pooled = (output.last_hidden_state * mask).sum(1) / mask.sum(1)
            return np.asarray(pooled.float().cpu().numpy(), dtype=np.float32)

    def _loaded(self, queries: bool) -> tuple[Any, Any]:
        own = queries and self.spec.queries is not None
        if own not in self._models:
            source = (self.spec.queries if own else None) or self.spec.passages
            self._models[own] = self._load(source, queries=own)
        return self._models[own]

    def _load(self, source: str, *, queries: bool) -> tuple[Any, Any]:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingDependency("judge", f"embedding with {source!r}") from error
        loader: Any = transformers.AutoModel
        if self.spec.architecture == "dpr":
            # AutoModel takes any DPR for a question encoder and leaves a passage encoder untrained.
            loader = transformers.DPRQuestionEncoder if queries else transformers.DPRContextEncoder
        options: dict[str, Any] = {"trust_remote_code": True} if self.spec.remote_code else {}
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source, **options)
        model = loader.from_pretrained(source, **options)
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        model = model.to(device).eval()
        return tokenizer, model.half() if device.startswith("cuda") else model


def _chunks(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]
