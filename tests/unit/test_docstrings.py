"""The docstrings of public names say what every parameter is."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

import perspective_rag

EXPLAINED: list[ModuleType] = [perspective_rag]
"""Modules of which every public callable explains its parameters: add one once it does."""

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?:(?: .*)?\n)*)", re.MULTILINE)


def explained(docstring: str) -> list[str]:
    """The names that the sections ``Args`` and ``Attributes`` of a docstring explain."""
    sections = _SECTION.findall(inspect.cleandoc(docstring) + "\n")
    return [name for each in sections for name in re.findall(r"^    \*{0,2}(\w+): ?", each, re.M)]


def parameters(function) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def is_ours(function) -> bool:
    """False of what a dataclass inherits, or an error from ``Exception``."""
    home = getattr(inspect.unwrap(function), "__module__", None) or ""
    return inspect.isfunction(function) and home.startswith("perspective_rag")


def callables_of(module):
    """(name, function, docstring) of every public function, class and method of a module."""
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.isclass(value):
            if inspect.isfunction(value):
                yield name, value, value.__doc__
            continue
        if is_ours(value.__init__) and not getattr(value, "_is_protocol", False):
            yield name, value.__init__, value.__doc__
        for method, found in inspect.getmembers(value):
            function = getattr(found, "__func__", found)
            if not method.startswith("_") and is_ours(function):
                yield f"{name}.{method}", function, function.__doc__


def problem_of(name: str, function, docstring: str | None) -> str:
    """What the docstring lacks; empty where it lacks nothing.

    A method may refer to another of the same parameters: "The same as ``retrieve``, ...".
    """
    wanted, found = parameters(function), explained(docstring or "")
    if same := re.match(r"The same as ``(\w+)``", docstring or ""):
        other = inspect.unwrap(function).__globals__  # a function of the same module
        owner = other.get(name.partition(".")[0])
        twin = getattr(owner, same[1], None) or other.get(same[1])
        return "" if twin and parameters(twin) == wanted else f"{name}: unlike {same[1]}"
    if found != wanted:
        return f"{name}: takes {wanted}, explains {found}"
    return ""


@pytest.mark.parametrize("module", EXPLAINED, ids=lambda module: module.__name__)
def test_every_parameter_of_a_public_callable_is_explained(module):
    described = list(callables_of(module))
    assert not [problem for each in described if (problem := problem_of(*each))]
    assert len(described) > 30
