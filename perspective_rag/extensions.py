"""What add-ons bring: commands and parts, found by their entry points and imported when used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from perspective_rag.errors import MissingDependency

COMMANDS = "perspective_rag.commands"
"""Each adds its command to the subparsers of ``perspective-rag``: ``add_command(commands)``."""

PARTS = "perspective_rag.parts"
"""Classes, functions and modules that the command line uses by name."""


def command_adders() -> dict[str, Callable[[Any], None]]:
    """What adds the add-ons' commands, by the command's name."""
    return {each.name: each.load() for each in sorted(_found(COMMANDS), key=lambda e: e.name)}


def part(name: str, extra: str, purpose: str) -> Any:
    """A part that an add-on brings.

    Args:
        name: The entry point in the group ``perspective_rag.parts``.
        extra: The extra that installs it, for the message.
        purpose: What it is needed for, for the message.

    Raises:
        MissingDependency: No installed add-on brings it.
    """
    found = next((each for each in _found(PARTS) if each.name == name), None)
    if found is None:
        raise MissingDependency(extra, purpose)
    return found.load()


def has_part(name: str) -> bool:
    """Whether an installed add-on brings the part."""
    return any(each.name == name for each in _found(PARTS))


def _found(group: str) -> list[EntryPoint]:
    return list(entry_points(group=group))
