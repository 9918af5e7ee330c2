"""The retriever as a tool that a model calls."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, Field

from perspective_rag.extend import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PERSPECTIVES,
    TOOL_QUERY,
    report_in,
)


class Search(BaseModel):
    """What the model fills in."""

    query: str = Field(description=TOOL_QUERY)
    perspectives: list[str] | None = Field(default=None, description=TOOL_PERSPECTIVES)


def search_tool(
    retriever: Any, *, name: str | None = None, description: str | None = None
) -> FunctionTool:
    """A tool whose message is text for the model and whose raw output is the list of nodes.

    An empty query raises ValueError, which LlamaIndex's agents hand to the model as a tool error.
    """

    def search(query: str, perspectives: list[str] | None = None) -> list[NodeWithScore]:
        asked = retriever.with_options(perspectives=_named(perspectives))
        return list(asked.retrieve(_checked(query)))

    async def asearch(query: str, perspectives: list[str] | None = None) -> list[NodeWithScore]:
        asked = retriever.with_options(perspectives=_named(perspectives))
        return list(await asked.aretrieve(_checked(query)))

    async def ashown(nodes: list[NodeWithScore]) -> str:
        return as_text(nodes)

    return FunctionTool.from_defaults(
        search,
        async_fn=asearch,
        name=name or TOOL_NAME,
        description=description or TOOL_DESCRIPTION,
        fn_schema=Search,
        callback=as_text,
        async_callback=ashown,
    )


def _checked(query: str) -> str:
    if not query.strip():
        raise ValueError("the query is empty: write the question in full")
    return query


def _named(perspectives: list[str] | None) -> list[str] | None:
    """What a model filled in, without the blanks; None where nothing is left."""
    return [text for text in perspectives or () if text.strip()] or None


def as_text(nodes: list[NodeWithScore]) -> str:
    """The numbered nodes, each with the perspectives it supports."""
    return "\n\n".join(map(_line, range(1, len(nodes) + 1), nodes)) or "Nothing was found."


def _line(number: int, found: NodeWithScore) -> str:
    sides = "; ".join(report_in(found.node.metadata)["perspectives"])
    text = found.node.get_content(metadata_mode=MetadataMode.NONE)
    return f"[{number}] {text}" + (f"\n    supports: {sides}" if sides else "")
