"""What can never work is refused where it is passed, in LlamaIndex's words; repr is for people."""

from __future__ import annotations

import pytest
from llama_index.core import Document, MockEmbedding, VectorStoreIndex

from llama_index.retrievers.perspective_rag import (
    LlamaIndexEmbedder,
    LlamaIndexStore,
    PerspectivePostprocessor,
    PerspectiveRetriever,
    as_store,
)
from perspective_rag import ConfigError, PerspectivePipeline
from perspective_rag.commands.user_retriever import as_store as registered_store


def function(*arguments):
    raise AssertionError("never called")


@pytest.fixture
def index():
    documents = [Document(text="Zoos save species."), Document(text="Zoos are prisons.")]
    return VectorStoreIndex(documents, embed_model=MockEmbedding(embed_dim=8))


@pytest.mark.parametrize(
    ("parameter", "given", "said"),
    [
        ("llm", "gpt", r"a LlamaIndex LLM, or an LLM of perspective_rag .* got 'gpt'"),
        ("llm", function, r"wrap it, CallableLLM\(function\)"),
        ("judge", "accurate", r"\"default\", None, or a Judge of .* got 'accurate'"),
        ("judge", function, r"wrap it, CallableJudge\(function\)"),
        ("embed_model", "local", r"a LlamaIndex embedding model \(BaseEmbedding\), got 'local'"),
        ("extractor", function, r"wrap it, CallableExtractor\(function\)"),
        ("limiter", 4, r"a Limiter .* got 4"),
    ],
)
def test_what_is_no_part_is_refused_at_construction(parameter, given, said, index):
    for make in (
        lambda: PerspectiveRetriever(index, **{parameter: given}),
        lambda: PerspectivePostprocessor(**{parameter: given}),
    ):
        with pytest.raises(ConfigError, match=f"^{parameter} must be .*{said}"):
            make()


def test_what_is_no_index_is_refused():
    with pytest.raises(
        ConfigError, match="source must be a LlamaIndex index or retriever, got a f"
    ):
        PerspectiveRetriever(function)


def test_repr_names_what_is_searched_and_the_options_that_are_not_the_default(index):
    retriever = PerspectiveRetriever(index, k=3, projection="pap", judge=None)
    expected = (
        "PerspectiveRetriever(VectorIndexRetriever, options=PipelineOptions(k=3, projection='pap'))"
    )
    assert repr(retriever) == str(retriever) == expected
    chooser = PerspectivePostprocessor(k=2, judge=None)
    assert repr(chooser) == str(chooser) == "PerspectivePostprocessor(options=PipelineOptions(k=2))"


def test_as_store_takes_an_index_or_a_retriever(index):
    for source in (index, index.as_retriever()):
        store, embedder = as_store(source)
        assert isinstance(store, LlamaIndexStore)
        assert isinstance(embedder, LlamaIndexEmbedder)
        pipeline = PerspectivePipeline(store, embedder=embedder, k=2)
        assert len(pipeline.retrieve("Should zoos be closed?").passages) == 2
    with pytest.raises(
        ConfigError, match="source must be a LlamaIndex index or retriever, got a str"
    ):
        as_store("index")


def test_the_command_line_finds_it_through_its_entry_point(index):
    store, embedder = registered_store(index, "mine:factory")
    assert isinstance(store, LlamaIndexStore)
    assert isinstance(embedder, LlamaIndexEmbedder)
