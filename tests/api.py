"""Every public name with its signature, as text: ``python -m tests.api --write`` after a change.

``tests/unit/test_api.py`` holds the text against ``tests/unit/api.txt``, so that a changed signature
shows in the diff of a change.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, is_typeddict

from perspective_rag.extend import ChoiceOptions, Options

MODULES = (
    "perspective_rag",
    "perspective_rag.extend",
    "perspective_rag.commands",
    "perspective_rag.testing",
    "langchain_perspective_rag",
    "llama_index.retrievers.perspective_rag",
    "haystack_integrations.common.perspective_rag",
    "haystack_integrations.components.embedders.perspective_rag",
    "haystack_integrations.components.rankers.perspective_rag",
    "haystack_integrations.components.retrievers.perspective_rag",
)
OURS = tuple(module for module in MODULES if not module.startswith("perspective_rag."))
FILE = Path(__file__).parent / "unit" / "api.txt"


def document() -> str:
    """The whole public surface, one line a name or member."""
    lines = ["# Every public name. Written by: python -m tests.api --write"]
    arguments: dict[str, Any] = {}
    for module in MODULES:
        imported = importlib.import_module(module)
        lines += ["", f"## {module}"]
        for name in sorted(imported.__all__):
            value = getattr(imported, name)
            lines += _described(name, value)
            arguments |= _arguments(value)
    lines += ["", "## What stands in Unpack[...] above"]
    for name in sorted(arguments):
        lines += _described(name, arguments[name])
    return "\n".join(lines) + "\n"


def _arguments(value: Any) -> dict[str, Any]:
    """The typed dictionaries that a function, or the methods of a class, take as keywords."""
    found = {}
    for each in vars(value).values() if isinstance(value, type) else [value]:
        function = inspect.unwrap(getattr(each, "__func__", each))
        for annotation in getattr(function, "__annotations__", {}).values():
            if match := re.match(r"Unpack\[(\w+)\]", _plain(annotation)):
                found[match[1]] = function.__globals__[match[1]]
    return found


def _described(name: str, value: Any) -> Iterator[str]:
    if is_typeddict(value):
        yield from _typed_dict(name, value)
    elif isinstance(value, type):
        yield from _class(name, value)
    elif inspect.isroutine(value):
        yield f"{_kind(value)}{name}{_signature(value)}"
    elif isinstance(value, Mapping):
        yield f"{name} = {{{', '.join(map(repr, value))}}}"
    elif isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        yield f"{name} = {value!r}"
    elif get_origin(value) is Literal:
        yield f"{name} = Literal{list(get_args(value))}"
    else:  # a type of arrays or generators, or samples
        yield name


def _typed_dict(name: str, kind: type) -> Iterator[str]:
    """Its fields, but for those of the options, where it has them all."""
    fields = dict(kind.__annotations__)
    for base in (Options, ChoiceOptions):
        if base.__annotations__.keys() < fields.keys():
            yield f"class {name}({base.__name__})"
            fields = {each: fields[each] for each in fields if each not in base.__annotations__}
            break
    else:
        yield f"class {name}(TypedDict)"
    for field, annotation in fields.items():
        yield f"    {field}: {_plain(annotation)}"


def _class(name: str, kind: type) -> Iterator[str]:
    bases = [base.__name__ for base in kind.__bases__ if base is not object]
    parents = f"({', '.join(bases)})" if bases else ""
    yield f"class {name}{parents}"
    protocol = getattr(kind, "_is_protocol", False)
    if not protocol and _is_ours(_owner(kind, "__init__")):
        yield f"    __init__{_signature(kind.__init__)}"  # type: ignore[misc]
    members: dict[str, str] = {}
    for owner in reversed([each for each in kind.__mro__ if _is_ours(each)]):
        if not dataclasses.is_dataclass(owner):
            for field, annotation in inspect.get_annotations(owner).items():
                members[field] = f"{field}: {_plain(annotation)}"
        for member, value in vars(owner).items():
            text = _member(member, value)
            if text:
                members[member] = text
    for member in sorted(each for each in members if not each.startswith("_")):
        yield f"    {members[member]}"


def _member(name: str, value: Any) -> str:
    if isinstance(value, (classmethod, staticmethod)):
        return f"{type(value).__name__} {name}{_signature(value.__func__)}"
    if inspect.isfunction(value):
        if not value.__module__.startswith(OURS):  # what a framework adds to its classes
            return ""
        return f"{_kind(value)}{name}{_signature(value)}"
    getter = getattr(value, "fget", None) or getattr(value, "func", None)
    if inspect.isfunction(getter):
        return f"property {name}: {_plain(getter.__annotations__.get('return', 'Any'))}"
    return ""


def _kind(function: Any) -> str:
    return "async def " if inspect.iscoroutinefunction(function) else "def "


def _owner(kind: type, method: str) -> type:
    return next(each for each in kind.__mro__ if method in vars(each))


def _is_ours(kind: type) -> bool:
    return any(kind.__module__ == each or kind.__module__.startswith(f"{each}.") for each in OURS)


class _Text:
    """An annotation as it stands in the code, without quotation marks; a function by its name."""

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation

    def __repr__(self) -> str:
        return _plain(self.annotation)


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [_parameter(each) for each in signature.parameters.values()]
    given = signature.return_annotation
    back = given if given is signature.empty else _Text(given)
    return str(signature.replace(parameters=parameters, return_annotation=back))


def _parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.annotation is not parameter.empty:
        parameter = parameter.replace(annotation=_Text(parameter.annotation))
    if inspect.isfunction(parameter.default):
        parameter = parameter.replace(default=_Text(parameter.default))
    return parameter


def _plain(annotation: Any) -> str:
    if inspect.isfunction(annotation) or (
        isinstance(annotation, type) and not get_args(annotation)
    ):
        return annotation.__name__
    given = str(getattr(annotation, "__forward_arg__", annotation))
    if isinstance(annotation, str):
        return given
    # Where annotations are no text, as in Haystack's components: by their names alone, in which
    # the versions of Python agree.
    named = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", given)
    return re.sub(r"^\*(\w+)$", r"Unpack[\1]", named)


def main(arguments: list[str]) -> int:
    """Prints the text, or with ``--write`` puts it into the file."""
    if arguments == ["--write"]:
        FILE.write_text(document(), encoding="utf-8")
    else:
        sys.stdout.write(document())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
