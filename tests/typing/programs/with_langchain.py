"""A LangChain program as a user writes it; every line of it is right."""

from __future__ import annotations

import asyncio

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever, as_store
from perspective_rag import PerspectivePipeline, PipelineOptions

QUESTION = "Should zoos be closed?"
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
store.add_documents([Document("Zoos save species."), Document("Zoos are prisons.")])

wrapped = PerspectiveRetriever.wrap(store, k=2, projection="pap", tags=["zoo"])
retriever = PerspectiveRetriever(
    vectorstore=store, judge=None, k=2, fetch_k=10, lambda_mult=0.7, skip_if=str.isupper
)
documents: list[Document] = retriever.invoke(QUESTION, k=1, coverage="off")
documents += asyncio.run(retriever.ainvoke(QUESTION, filter=None, perspectives=["Zoos help"]))
result = retriever.retrieve(QUESTION, fusion="rrf", search_kwargs={})
by_text = PerspectiveRetriever.wrap(store.as_retriever(), options={"k": 2}, judge="default")
tool = retriever.as_tool(name="search")
compressor = PerspectiveCompressor(k=1, judge=None, options=PipelineOptions())
kept = compressor.compress_documents(documents, QUESTION)
plain_store, embedder = as_store(store)
pipeline = PerspectivePipeline(plain_store, embedder=embedder, k=2)
print([document.page_content for document in kept], result.coverage, tool.name)
