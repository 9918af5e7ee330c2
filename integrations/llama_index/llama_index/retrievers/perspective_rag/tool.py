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
    tool_perspectives,
    tool_text,
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

    def asked(query: str, perspectives: list[str] | None) -> Any:
        if not query.strip():
            raise ValueError("the query is empty: write the question in full")
        return retriever.with_options(perspectives=tool_perspectives(perspectives))

    def search(query: str, perspectives: list[str] | None = None) -> list[NodeWithScore]:
        return list(asked(query, perspectives).retrieve(query))

    async def asearch(query: str, perspectives: list[str] | None = None) -> list[NodeWithScore]:
        return list(await asked(query, perspectives).aretrieve(query))

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


def as_text(nodes: list[NodeWithScore]) -> str:
    """The numbered nodes, each with how it stands to the sides, and the sides without one."""
    return tool_text(
        (each.node.metadata, each.node.get_content(metadata_mode=MetadataMode.NONE))
        for each in nodes
    )
