"""What a Haystack component takes, and how it is run in either way."""

from __future__ import annotations

from typing import Any

from perspective_rag import ConfigError
from perspective_rag.extend import in_thread

_KINDS = {
    "retriever": ("retriever", ()),
    "text_embedder": ("text embedder", ("text",)),
    "document_embedder": ("document embedder", ("documents",)),
    "chat_generator": ("chat generator", ("messages",)),
}


def inputs_of(component: Any) -> dict[str, Any]:
    """The input sockets of a component by name; empty for what is no component."""
    return dict(getattr(getattr(component, "__haystack_input__", None), "_sockets_dict", {}))


def check_component_kind(parameter: str, given: Any) -> None:
    """Raises ConfigError for what cannot be the component that ``parameter`` asks for."""
    kind, wanted = _KINDS[parameter]
    inputs = inputs_of(given)
    if isinstance(given, type) or not inputs:
        shown = f"the class {given.__name__}" if isinstance(given, type) else f"{given!r:.60}"
        raise ConfigError(f"{parameter} must be a Haystack {kind} (a component), got {shown}")
    for name in wanted:
        if name not in inputs:
            raise ConfigError(
                f"{parameter} must be a Haystack {kind}, which takes {name!r}; "
                f"{type(given).__name__} takes {', '.join(map(repr, inputs))}"
            )


def run_component(component: Any, **inputs: Any) -> dict[str, Any]:
    """The outputs of a component."""
    return dict(component.run(**inputs))


async def arun_component(component: Any, **inputs: Any) -> dict[str, Any]:
    """The same, by its ``run_async`` where it has one, else in a thread."""
    if getattr(component, "__haystack_supports_async__", False):
        return dict(await component.run_async(**inputs))
    return await in_thread(run_component, component, **inputs)
