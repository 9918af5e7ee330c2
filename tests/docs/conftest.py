"""What pages take for given: the reader's own vector store and index."""

from __future__ import annotations

import importlib
from functools import cache

import numpy as np
import pytest

from perspective_rag import OnnxMiniLM


@pytest.fixture(scope="module", autouse=True)
def embedded_once():
    """Every text is embedded once for all pages of a module of tests, which would each begin with the same corpus."""
    known = {}
    embed = OnnxMiniLM.embed_passages

    def remembered(self, texts):
        lacking = list(dict.fromkeys(text for text in texts if text not in known))
        if lacking:
            known.update(zip(lacking, embed(self, lacking), strict=True))
        return np.array([known[text] for text in texts]) if len(texts) else embed(self, texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnnxMiniLM, "embed_passages", remembered)
        yield


@pytest.fixture(scope="session")
def given():
    """``given("vectorstore")``, ``given("index")``, ``given("document_store")``: over the sample debates, made when asked for."""

    @cache
    def make(name):
        pytest.importorskip("onnxruntime")
        if name == "vectorstore":
            pytest.importorskip("langchain_core")
            return importlib.import_module("examples.wrap_langchain").build_store()
        if name == "document_store":
            pytest.importorskip("haystack")
            return importlib.import_module("examples.wrap_haystack").build_store()
        pytest.importorskip("llama_index.core")
        return importlib.import_module("examples.wrap_llama_index").build_index()

    return make
