"""Components to plain values and back, as Haystack writes pipelines."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from haystack.core.errors import DeserializationError, SerializationError
from haystack.core.serialization import (
    component_from_dict,
    component_to_dict,
    default_to_dict,
    generate_qualified_class_name,
    import_class_by_name,
)
from haystack.document_stores.types import FilterPolicy
from haystack.utils import deserialize_callable, serialize_callable

from perspective_rag import Limiter, OpenTelemetry, Perspective, PipelineOptions
from perspective_rag.extend import ALIASES, OPTION_NAMES, WrapperParts

COMPONENTS = ("retriever", "text_embedder", "document_embedder", "chat_generator")
"""The parameters that take a component of Haystack's."""
_OBJECTS = ("document_store", "judge", "extractor", "expander", "selector", "telemetry")
_FUNCTIONS = ("skip_if", "dedup_key")


def to_dict(component: Any, given: Mapping[str, Any], options: PipelineOptions) -> dict[str, Any]:
    """Haystack's form of a component: its type, and its parameters as plain values."""
    return default_to_dict(
        component,
        **{name: _written(name, value) for name, value in given.items()},
        **_options(options),
    )


def _written(name: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if name in COMPONENTS:
        return component_to_dict(value, name)
    if name in _FUNCTIONS:
        return {"function": serialize_callable(value)}
    if name == "perspectives":
        return [asdict(each) if isinstance(each, Perspective) else each for each in value]
    if name == "limiter":
        return {"limit": value.limit}
    if name == "telemetry" and isinstance(value, OpenTelemetry) and value.of_the_process:
        return {"capture_text": value.capture_text}
    if name == "filter_policy":
        return value.value
    if (
        name == "selector"
        and is_dataclass(value)
        and not isinstance(value, type)
        and not hasattr(value, "to_dict")
    ):
        return default_to_dict(value, **asdict(value))
    if name in _OBJECTS and not hasattr(value, "to_dict"):
        raise SerializationError(
            f"{name}={type(value).__name__} cannot be written: give it to_dict and from_dict "
            "(haystack's default_to_dict and default_from_dict will do)"
        )
    return value.to_dict() if name in _OBJECTS else value


def _options(options: PipelineOptions) -> dict[str, Any]:
    if not isinstance(options.projection, str):
        raise SerializationError("a projection of your own cannot be written: name one")
    default = PipelineOptions().to_dict()
    return {name: value for name, value in options.to_dict().items() if value != default[name]}


def from_dict(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The constructor's arguments from Haystack's form of a component."""
    wanted, found = generate_qualified_class_name(kind), data.get("type")
    if found != wanted:
        raise DeserializationError(f"expected the type {wanted!r}, got {found!r}")
    given = dict(data.get("init_parameters", {}))
    own, parts = inspect.signature(kind.__init__).parameters, fields(WrapperParts)
    known = {*own, *(each.name for each in parts), *OPTION_NAMES, *ALIASES}
    for name in given:
        if name not in known:  # before anything that it names is imported
            raise DeserializationError(f"{kind.__name__} takes no {name!r}")
    return {name: _read(name, value) for name, value in given.items()}


def _read(name: str, value: Any) -> Any:
    if name == "telemetry" and isinstance(value, Mapping) and "type" not in value:
        return OpenTelemetry(**value)
    if name in (*COMPONENTS, *_OBJECTS) and isinstance(value, Mapping):
        return _object(name, value)
    if name in _FUNCTIONS and isinstance(value, Mapping):
        return deserialize_callable(value["function"])
    if name == "perspectives" and value is not None:
        return [Perspective(**each) if isinstance(each, Mapping) else each for each in value]
    if name == "limiter" and isinstance(value, Mapping):
        return Limiter(**value)
    if name == "filter_policy" and isinstance(value, str):
        return FilterPolicy.from_str(value)
    return value


def _object(name: str, value: Mapping[str, Any]) -> Any:
    if "type" not in value:
        raise DeserializationError(f"{name}: missing 'type' in serialization data")
    kind = import_class_by_name(value["type"])
    # A copy: some components read the secrets in what they are given in place.
    return component_from_dict(kind, copy.deepcopy(dict(value)), name)
