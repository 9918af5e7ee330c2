"""The retriever as a tool that a model calls."""

from __future__ import annotations

from langchain_core.callbacks import Callbacks
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from langchain_perspective_rag.documents import REPORT_KEY

NAME = "search_every_side"
DESCRIPTION = "Finds passages on every side of a question, and says which side each one supports."


class Search(BaseModel):
    """What the model fills in."""

    query: str = Field(description="The question, in full.")
    perspectives: list[str] | None = Field(
        default=None,
        description="The sides to look for, a sentence each; left out, they are found.",
    )


def search_tool(
    retriever: BaseRetriever, *, name: str | None = None, description: str | None = None
) -> StructuredTool:
    """A tool whose message is text for the model and whose artifact is the list of documents."""

    def search(
        query: str, perspectives: list[str] | None = None, callbacks: Callbacks = None
    ) -> tuple[str, list[Document]]:
        config = RunnableConfig(callbacks=callbacks)
        found = retriever.invoke(query, config=config, perspectives=_named(perspectives))
        return as_text(found), found

    async def asearch(
        query: str, perspectives: list[str] | None = None, callbacks: Callbacks = None
    ) -> tuple[str, list[Document]]:
        config = RunnableConfig(callbacks=callbacks)
        found = await retriever.ainvoke(query, config=config, perspectives=_named(perspectives))
        return as_text(found), found

    return StructuredTool.from_function(
        search,
        asearch,
        name=name or NAME,
        description=description or DESCRIPTION,
        args_schema=Search,
        response_format="content_and_artifact",
    )


def _named(perspectives: list[str] | None) -> list[str] | None:
    """What a model filled in, without the blanks; None where nothing is left."""
    return [text for text in perspectives or () if text.strip()] or None


def as_text(documents: list[Document]) -> str:
    """The numbered documents, each with the perspectives it supports."""
    return "\n\n".join(map(_line, range(1, len(documents) + 1), documents)) or "Nothing was found."


def _line(number: int, document: Document) -> str:
    sides = "; ".join(document.metadata[REPORT_KEY]["perspectives"])
    return f"[{number}] {document.page_content}" + (f"\n    supports: {sides}" if sides else "")
