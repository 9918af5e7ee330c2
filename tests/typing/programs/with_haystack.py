"""A Haystack program as a user writes it; every line of it is right."""

from __future__ import annotations

from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.common.perspective_rag import as_store
from haystack_integrations.components.embedders.perspective_rag import (
    PackagedDocumentEmbedder,
    PackagedTextEmbedder,
)
from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag import PerspectivePipeline, PipelineOptions

QUESTION = "Should zoos be closed?"
store = InMemoryDocumentStore()
documents: list[Document] = [Document(content="Zoos save species.")]
store.write_documents(PackagedDocumentEmbedder(batch_size=4).run(documents)["documents"])

retriever = PerspectiveRetriever(
    document_store=store,
    text_embedder=PackagedTextEmbedder(),
    top_k=2,
    projection="pap+",
    judge="default",
    perspectives=["Zoos help"],
    filters={"field": "meta.year", "operator": "==", "value": 2020},
)
found = retriever.run(QUESTION, top_k=1, options={"coverage": "off"})
report = retriever.report(QUESTION, fusion="round-robin", perspectives=["Zoos harm"])
ranker = PerspectiveRanker(k=1, judge=None, coverage_weight=0.5, options=PipelineOptions())
kept = ranker.run(QUESTION, documents)
read: PerspectiveRanker = PerspectiveRanker.from_dict(ranker.to_dict())
plain_store, embedder = as_store(store)
plain = PerspectivePipeline(plain_store, embedder=embedder, k=2)
print(read.options, found["documents"], kept["report"], report.coverage, plain.options.k)
