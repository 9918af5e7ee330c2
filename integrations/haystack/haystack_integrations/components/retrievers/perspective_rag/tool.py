"""The retriever as a tool that a model calls."""

# Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.

from typing import Any

from haystack import Document, component, default_to_dict
from haystack.core.serialization import component_from_dict, component_to_dict, import_class_by_name
from haystack.tools import ComponentTool
from typing_extensions import Self

from haystack_integrations.common.perspective_rag.documents import as_text
from perspective_rag.extend import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PERSPECTIVES,
    TOOL_QUERY,
    tool_perspectives,
)

_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": TOOL_QUERY},
        "perspectives": {
            "type": "array",
            "items": {"type": "string"},
            "description": TOOL_PERSPECTIVES,
        },
    },
    "required": ["query"],
}


@component
class SearchForModel:
    """What a model may ask of a retriever: a query and perspectives.

    Haystack hands a tool's component every argument that the model writes, and prefers it to what
    the agent's state has. So nothing else is an input here, filters least of all.
    """

    def __init__(self, retriever: Any) -> None:
        self.retriever = retriever

    def warm_up(self) -> None:
        """Warms up the retriever."""
        self.retriever.warm_up()

    @component.output_types(documents=list[Document], report=dict[str, Any])
    def run(self, query: str, perspectives: list[str] | None = None) -> dict[str, Any]:
        """The retriever's outputs; blank perspectives are left out."""
        found: dict[str, Any] = self.retriever.run(query, tool_perspectives(perspectives))
        return found

    @component.output_types(documents=list[Document], report=dict[str, Any])
    async def run_async(self, query: str, perspectives: list[str] | None = None) -> dict[str, Any]:
        """The same, without blocking the event loop."""
        found: dict[str, Any] = await self.retriever.run_async(
            query, tool_perspectives(perspectives)
        )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The component as plain values."""
        return default_to_dict(self, retriever=component_to_dict(self.retriever, "retriever"))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that ``to_dict`` wrote."""
        written = data["init_parameters"]["retriever"]
        kind = import_class_by_name(written["type"])
        return cls(component_from_dict(kind, written, "retriever"))


def search_tool(
    retriever: Any, *, name: str | None = None, description: str | None = None
) -> ComponentTool:
    """A tool whose message is text for the model, and whose outputs are those of the retriever."""
    return ComponentTool(
        SearchForModel(retriever),
        name=name or TOOL_NAME,
        description=description or TOOL_DESCRIPTION,
        parameters=_SCHEMA,
        outputs_to_string={"source": "documents", "handler": as_text},
    )
