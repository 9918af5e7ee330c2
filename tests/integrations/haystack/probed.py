"""The small debate behind Haystack's components, which go through a probe.

Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.
"""

from types import SimpleNamespace
from typing import Any

from haystack import Document, component
from haystack.dataclasses import ChatMessage

from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from tests.integrations.samples import TEXTS


def probed(probe, shared, *, awaits, llm, judged, options):
    """A retriever over components that count their calls; ``shared`` is what all frameworks use."""

    @component
    class Words:
        @component.output_types(embedding=list[float])
        def run(self, text: str):
            with probe.call("embed"):
                return {"embedding": shared.vector(text).tolist()}

    @component
    class Shelf:
        def found(self, query_embedding):
            return {
                "documents": [
                    Document(id=name, content=TEXTS[name], meta={"n": name}, score=score)
                    for name, score in shared.nearest(query_embedding, 10)
                ]
            }

        @component.output_types(documents=list[Document])
        def run(self, query_embedding: list[float], top_k: int | None = None):
            with probe.call("store"):
                return self.found(query_embedding)

    @component
    class AwaitedShelf(Shelf):
        @component.output_types(documents=list[Document])
        async def run_async(self, query_embedding: list[float], top_k: int | None = None):
            async with probe.acall("store"):
                return self.found(query_embedding)

    def replies(messages):
        return {"replies": [ChatMessage.from_assistant(shared.reply_to(messages[-1].text))]}

    @component
    class Model:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None):
            with probe.call("llm"):
                return replies(messages)

    @component
    class AwaitedModel(Model):
        @component.output_types(replies=list[ChatMessage])
        async def run_async(
            self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None
        ):
            async with probe.acall("llm"):
                return replies(messages)

    retriever = PerspectiveRetriever(
        AwaitedShelf() if awaits else Shelf(),
        text_embedder=Words(),
        judge=shared.judge(probe) if judged else None,
        chat_generator=(AwaitedModel() if awaits else Model()) if llm else None,
        **options,
    )

    def told(found):
        return [document.to_dict() for document in found["documents"]]

    async def aask(question):
        return told(await retriever.run_async(question))

    return SimpleNamespace(
        retriever_limiter=retriever.pipeline.limiter,
        ask=lambda question: told(retriever.run(question)),
        aask=aask,
        report=retriever.report,
        areport=retriever.areport,
    )
