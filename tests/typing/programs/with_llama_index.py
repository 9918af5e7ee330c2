"""A LlamaIndex program as a user writes it; every line of it is right."""

from __future__ import annotations

from llama_index.core import Document, MockEmbedding, VectorStoreIndex
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from llama_index.retrievers.perspective_rag import (
    PerspectivePostprocessor,
    PerspectiveRetriever,
    as_store,
)
from perspective_rag import PerspectivePipeline, PipelineOptions

QUESTION = "Should zoos be closed?"
model = MockEmbedding(embed_dim=8)
documents = [Document(text="Zoos save species."), Document(text="Zoos are prisons.")]
index = VectorStoreIndex(documents, embed_model=model)

retriever = PerspectiveRetriever(
    index, k=2, projection="pap+", mmr_threshold=0.7, judge="default", perspectives=["Zoos help"]
)
nodes: list[NodeWithScore] = retriever.retrieve(QUESTION)
filters = MetadataFilters(filters=[MetadataFilter(key="year", value=2020)])
narrowed = retriever.with_options(k=1, coverage="off", filters=filters)
report = narrowed.report(QUESTION, fusion="round-robin", perspectives=["Zoos harm"])
chooser = PerspectivePostprocessor(k=1, judge=None, coverage_weight=0.5, options=PipelineOptions())
kept = chooser.postprocess_nodes(nodes, query_str=QUESTION)
store, embedder = as_store(index)
pipeline = PerspectivePipeline(store, embedder=embedder, similarity_top_k=2)
print([node.score for node in kept], report.coverage, pipeline.options.k)
