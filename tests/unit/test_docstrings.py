"""The docstrings of public names explain every parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from types import ModuleType

import pytest

import perspective_rag
from perspective_rag import extend, testing

EXPLAINED: list[ModuleType] = [perspective_rag, extend, testing]
"""Modules of which every public callable explains its parameters: add one once it does."""

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?:(?: .*)?\n)*)", re.MULTILINE)


def explained(docstring: str) -> list[str]:
    """The names that the sections ``Args`` and ``Attributes`` of a docstring explain."""
    sections = _SECTION.findall(inspect.cleandoc(docstring) + "\n")
    return [name for each in sections for name in re.findall(r"^    \*{0,2}(\w+): \S", each, re.M)]


def parameters(function) -> list[str]:
    names = inspect.signature(function).parameters
    return [n for n in names if n not in ("self", "cls") and not n.startswith("_")]


def is_ours(function) -> bool:
    """False of what a class of Python's own or of a framework brings along."""
    home = getattr(inspect.unwrap(function), "__module__", None) or ""
    return inspect.isfunction(function) and home.startswith("perspective_rag")


def methods_of(kind: type) -> dict:
    """Its public methods, inherited ones included."""
    found = {name: getattr(value, "__func__", value) for name, value in inspect.getmembers(kind)}
    return {n: f for n, f in found.items() if not n.startswith("_") and is_ours(f)}


def problem_of(function, docstring: str | None, twins: dict, made: Collection[str] = ()) -> str:
    """What a docstring lacks; empty where it lacks nothing.

    "The same as ``retrieve``, ..." does, where ``twins`` has it with the same parameters. ``made``
    are fields that the constructor does not take: they may be explained.
    """
    wanted, found = parameters(function), explained(docstring or "")
    same = re.match(r"The same as ``(\w+)``", docstring or "")
    if same and same[1] in twins and not found:
        wanted, found = parameters(twins[same[1]]), parameters(function)
    found = [name for name in found if name not in made]
    return "" if found == wanted else f"takes {wanted}, explains {found}"


def problems_of(named: dict) -> dict[str, str]:
    """What the docstrings of functions, classes and their methods lack, by name."""
    functions = {name: value for name, value in named.items() if inspect.isfunction(value)}
    found = {name: problem_of(f, f.__doc__, functions) for name, f in functions.items()}
    for name, kind in named.items():
        if not inspect.isclass(kind):
            continue
        if is_ours(kind.__init__) and not getattr(kind, "_is_protocol", False):
            fields = getattr(kind, "__dataclass_fields__", {}).values()
            made = [each.name for each in fields if not each.init]
            found[name] = problem_of(kind.__init__, kind.__doc__, {}, made)
        methods = methods_of(kind)
        for method, function in methods.items():
            found[f"{name}.{method}"] = problem_of(function, function.__doc__, methods)
    return {name: problem for name, problem in found.items() if problem}


@pytest.mark.parametrize("module", EXPLAINED, ids=lambda module: module.__name__)
def test_every_parameter_of_a_public_callable_is_explained(module):
    found = problems_of({name: getattr(module, name) for name in module.__all__})
    assert not found


def test_a_parameter_that_is_not_explained_is_found():
    def good(k, **options):
        """Searches.

        Args:
            k: Maximum number
                of hits: at least 1.
            **options: Others.

        Returns:
            hits: All.
        """

    def agood(k, **options):
        """The same as ``good``, later."""

    def other(k, depth):
        """The same as ``good``, deeper."""

    def stale(k):
        """Searches.

        Args:
            top: Maximum number of hits.
        """

    def silent(k):
        """Searches for k."""

    named = {each.__name__: each for each in (good, agood, other, stale, silent)}
    assert problems_of(named).keys() == {"other", "stale", "silent"}
