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
    report_in,
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
        config = _child(config, callbacks)
        with _answering(query):
            found = retriever.invoke(query, config, **_arguments(config, perspectives))
        return as_text(found), found

    async def asearch(
        query: str,
        config: RunnableConfig,
        perspectives: list[str] | None = None,
        callbacks: Callbacks = None,
    ) -> tuple[str, list[Document]]:
        config = _child(config, callbacks)
        with _answering(query):
            found = await retriever.ainvoke(query, config, **_arguments(config, perspectives))
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


def _child(config: RunnableConfig | None, callbacks: Callbacks) -> RunnableConfig:
    """The tool's config for a call within it; an AgentExecutor gives none."""
    handed_on = ("tags", "metadata", "configurable")
    given = {name: value for name, value in (config or {}).items() if name in handed_on}
    return cast(RunnableConfig, {**given, "callbacks": callbacks})


@contextmanager
def _answering(query: str) -> Iterator[None]:
    """What the model is to read is raised as a ToolException."""
    if not query.strip():
        raise ToolException("the query is empty: write the question in full")
    try:
        yield
    except CoverageError as error:
        raise ToolException(str(error)) from error


def _arguments(config: RunnableConfig, perspectives: list[str] | None) -> dict[str, Any]:
    given = (config.get("configurable") or {}).get(CONFIGURABLE) or {}
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"configurable[{CONFIGURABLE!r}] must hold arguments of the retriever by name, "
            f"got {given!r:.60}"
        )
    return {"perspectives": tool_perspectives(perspectives), **given}


def as_text(documents: list[Document]) -> str:
    """The numbered documents, each with how it stands to the sides, and the sides without one."""
    return tool_text(
        [
            (str(each.metadata.get("title") or ""), each.page_content, report_in(each.metadata))
            for each in documents
        ]
    )
