"""The retriever as a tool that a model calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.callbacks import Callbacks
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, Field

from perspective_rag import ConfigError, CoverageError
from perspective_rag.extend import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PERSPECTIVES,
    TOOL_QUERY,
    tool_perspectives,
    tool_text,
)

CONFIGURABLE = "perspective_rag"
"""Where a config's ``configurable`` holds arguments of the retriever for one request."""


class Search(BaseModel):
    """What the model fills in."""

    query: str = Field(description=TOOL_QUERY)
    perspectives: list[str] | None = Field(default=None, description=TOOL_PERSPECTIVES)


def search_tool(
    retriever: BaseRetriever, *, name: str | None = None, description: str | None = None
) -> StructuredTool:
    """A tool whose message is text for the model and whose artifact is the list of documents.

    An empty query, and coverage that is required and missing, become a ToolException, which is
    answered as a tool error that the model can read. What the config's ``configurable`` holds under
    "perspective_rag" goes to the retriever: a filter, for example.
    """

    def search(
        query: str,
        config: RunnableConfig,
        perspectives: list[str] | None = None,
        callbacks: Callbacks = None,
    ) -> tuple[str, list[Document]]:
        with _asking(query, config, callbacks, perspectives) as (own, given):
            found = retriever.invoke(query, own, **given)
        return as_text(found), found

    async def asearch(
        query: str,
        config: RunnableConfig,
        perspectives: list[str] | None = None,
        callbacks: Callbacks = None,
    ) -> tuple[str, list[Document]]:
        with _asking(query, config, callbacks, perspectives) as (own, given):
            found = await retriever.ainvoke(query, own, **given)
        return as_text(found), found

    return StructuredTool.from_function(
        search,
        asearch,
        name=name or TOOL_NAME,
        description=description or TOOL_DESCRIPTION,
        args_schema=Search,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


@contextmanager
def _asking(
    query: str,
    config: RunnableConfig | None,
    callbacks: Callbacks,
    perspectives: list[str] | None,
) -> Iterator[tuple[RunnableConfig, dict[str, Any]]]:
    """The config and the arguments for the retriever; what the model is to read is raised as a
    ToolException.
    """
    handed_on = ("tags", "metadata", "configurable")  # an AgentExecutor gives no config
    own = {name: value for name, value in (config or {}).items() if name in handed_on}
    configured = cast(dict[str, Any], own.get("configurable") or {})
    given = configured.get(CONFIGURABLE) or {}
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"configurable[{CONFIGURABLE!r}] must hold arguments of the retriever by name, "
            f"got {given!r:.60}"
        )
    if not query.strip():
        raise ToolException("the query is empty: write the question in full")
    try:
        yield (
            cast(RunnableConfig, {**own, "callbacks": callbacks}),
            {"perspectives": tool_perspectives(perspectives), **given},
        )
    except CoverageError as error:
        raise ToolException(str(error)) from error


def as_text(documents: list[Document]) -> str:
    """The numbered documents, each with how it stands to the sides, and the sides without one."""
    return tool_text((each.metadata, each.page_content) for each in documents)
