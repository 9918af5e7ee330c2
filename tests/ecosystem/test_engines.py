"""A query engine with LlamaIndex's own cut-off keeps its answer."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")

from tests.ecosystem.samples import llama_index


def test_a_similarity_cut_off_leaves_nodes_to_answer_from(tmp_path, says_yes):
    from llama_index.core.llms import MockLLM
    from llama_index.core.postprocessor import SimilarityPostprocessor
    from llama_index.core.query_engine import RetrieverQueryEngine

    for store in ("in-memory", "faiss", "chroma", "qdrant"):
        retriever = llama_index(store, tmp_path, judge=says_yes, k=5).retriever
        engine = RetrieverQueryEngine.from_args(
            retriever,
            llm=MockLLM(),
            node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.5)],
        )
        response = engine.query("Should zoos be closed?")
        assert response.source_nodes, store
        assert all(0.5 <= item.score <= 1.0 + 1e-6 for item in response.source_nodes), store
        assert "zoos" in str(response)
