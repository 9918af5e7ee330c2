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

    def search(query: str, perspectives: list[str] | None = None) -> list[NodeWithScore]:
        asked = retriever.with_options(perspectives=tool_perspectives(perspectives))
        return list(asked.retrieve(_check(query)))

    async def asearch(query: str, perspectives: list[str] | None = None) -> list[NodeWithScore]:
        asked = retriever.with_options(perspectives=tool_perspectives(perspectives))
        return list(await asked.aretrieve(_check(query)))

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


def _check(query: str) -> str:
    if not query.strip():
        raise ValueError("the query is empty: write the question in full")
    return query


def as_text(nodes: list[NodeWithScore]) -> str:
    """The numbered nodes, each with how it stands to the sides, and the sides without one."""
    return tool_text(
        [
            (
                str(node.metadata.get("title") or ""),
                node.get_content(metadata_mode=MetadataMode.NONE),
                report_in(node.metadata),
            )
            for node in (each.node for each in nodes)
        ]
    )
