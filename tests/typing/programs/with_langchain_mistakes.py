"""The mistakes of a LangChain program: each marked line holds one."""

from __future__ import annotations

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever

QUESTION = "Should zoos be closed?"
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
retriever = PerspectiveRetriever.wrap(store)

PerspectiveRetriever(vectorstore=store, fetchk=3)  # wrong: an option's name
PerspectiveRetriever(vectorstore=store, k="3")  # wrong: a string for a number
PerspectiveRetriever(vectorstore=store, judge="accurate")  # wrong: no such judge
PerspectiveRetriever(vectorstore=store, llm="gpt")  # wrong: a name is no model
PerspectiveRetriever(vectorstore="faiss")  # wrong: a name is no store
PerspectiveRetriever.wrap(store, fusion="sum")  # wrong: no such fusion
PerspectiveRetriever.wrap(store, score_threshold=0.5)  # wrong: no such argument
retriever.invoke(QUESTION, k="3")  # wrong: a string for a number
retriever.invoke(QUESTION, filters={"year": 2020})  # wrong: filter is meant
retriever.retrieve(QUESTION, coverage="always")  # wrong: no such policy
PerspectiveCompressor(top_n=3)  # wrong: k is meant
PerspectiveCompressor(coverage="some")  # wrong: no such policy
