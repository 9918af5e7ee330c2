"""The mistakes of a LlamaIndex program: each marked line holds one."""

from __future__ import annotations

from llama_index.core import MockEmbedding, VectorStoreIndex

from llama_index.retrievers.perspective_rag import PerspectivePostprocessor, PerspectiveRetriever

QUESTION = "Should zoos be closed?"
index = VectorStoreIndex([], embed_model=MockEmbedding(embed_dim=8))
retriever = PerspectiveRetriever(index)

PerspectiveRetriever(index, mode="mmr")  # wrong: no such option
PerspectiveRetriever(index, projection="papp")  # wrong: no such projection
PerspectiveRetriever(index, similarity_top_k="3")  # wrong: a string for a number
PerspectiveRetriever(index, llm="gpt")  # wrong: a name is no model
PerspectiveRetriever(index, judge="accurate")  # wrong: no such judge
PerspectiveRetriever(index, embed_model="local")  # wrong: a name is no model
PerspectiveRetriever("index")  # wrong: a name is no index
retriever.with_options(kk=3)  # wrong: an option's name
retriever.with_options(fusion="sum")  # wrong: no such fusion
retriever.report(QUESTION, filter=None)  # wrong: filters is meant
PerspectivePostprocessor(fetch_k=50)  # wrong: nothing is searched
PerspectivePostprocessor(coverage="always")  # wrong: no such policy
