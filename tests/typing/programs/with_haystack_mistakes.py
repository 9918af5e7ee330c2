"""The mistakes of a Haystack program: each marked line holds one."""

from __future__ import annotations

from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.components.embedders.perspective_rag import PackagedTextEmbedder
from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever

QUESTION = "Should zoos be closed?"
store = InMemoryDocumentStore()
retriever = PerspectiveRetriever(document_store=store)

PerspectiveRetriever(document_store=store, mode="mmr")  # wrong: no such option
PerspectiveRetriever(document_store=store, projection="papp")  # wrong: no such projection
PerspectiveRetriever(document_store=store, top_k="3")  # wrong: a string for a number
PerspectiveRetriever(document_store=store, judge="accurate")  # wrong: no such judge
PerspectiveRetriever(document_store="store")  # wrong: a name is no store
PerspectiveRetriever(document_store=store, filters="year")  # wrong: a dictionary is meant
retriever.run(5)  # wrong: a question is text
retriever.run(QUESTION, filter={})  # wrong: filters is meant
retriever.report(QUESTION, fusion="sum")  # wrong: no such fusion
PerspectiveRanker(fetch_k=50)  # wrong: nothing is searched
PerspectiveRanker(coverage="always")  # wrong: no such policy
PerspectiveRanker(score_kind="rank")  # wrong: no such score
PackagedTextEmbedder(model="other")  # wrong: there is one model
