"""What goes with a judge's weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.validation import is_number
from perspective_rag.values import from_json

FILE = "judge.json"
OFFSET = "second_text_offset"
"""In ``FILE``: what a server adds to the ids of the second text."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What goes with a model's weights: ``judge.json`` in its folder, or these defaults.

    ``temperature`` divides the logits before the softmax; ``neutral_bias`` is then added to that of
    neutral, for passages are neutral more often where the judge is used than where it learned
    (higher: less support and less opposition); ``threshold`` is the P(support) from which a passage
    counts as supporting; ``max_words`` is the window in which a long passage is read, ``overlap``
    the most words at its start that repeat the window before, ``long_words`` the window of a text
    of more than ``windows.LONG`` words, most of which is silent; ``max_tokens`` is the longest
    input of the model. ``version`` names weights and settings together, for what is kept of them.
    ``listing`` is the P(support) from which a passage is listed (None: ``threshold``), and ``lead``
    how far that must be above a contradicting perspective's.
    """

    threshold: float = 0.5
    temperature: float = 1.0
    neutral_bias: float = 0.0
    max_tokens: int = 256
    max_words: int = 140
    long_words: int = 80
    overlap: int = 0
    version: str = ""
    listing: float | None = None
    lead: float = 0.0

    @classmethod
    def of(cls, folder: Path) -> JudgeSettings:
        """The settings stored in a folder; the defaults where it holds none.

        Raises ConfigError for a file that holds something else.
        """
        stored = stored_in(folder)
        made = cls(**{name: stored[name] for name in cls.__slots__ if name in stored})
        defaults = cls()
        for name in cls.__slots__:
            value, usual = getattr(made, name), getattr(defaults, name)
            if not _is_like(value, usual):
                raise ConfigError(f"{folder / FILE}: {name} must be like {usual!r}, got {value!r}")
        return made


def _is_like(value: Any, usual: Any) -> bool:
    """Whether a value can stand where the defaults have ``usual``."""
    if isinstance(usual, str):
        return isinstance(value, str)
    if isinstance(usual, int):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return (value is None and usual is None) or (is_number(value) and math.isfinite(value))


def stored_in(folder: Path) -> dict[str, Any]:
    """What the ``judge.json`` of a folder holds; nothing where there is none.

    Raises ConfigError for a file that cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        stored = from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if not isinstance(stored, dict):
        raise ConfigError(f"{path} must hold an object, got a {type(stored).__name__}")
    return stored


def settings_document(settings: JudgeSettings, provenance: Mapping[str, Any]) -> str:
    """The text of ``judge.json``: settings and where they come from."""
    values = {name: getattr(settings, name) for name in JudgeSettings.__slots__}
    return (
        json.dumps({**values, "provenance": dict(provenance)}, indent=2, ensure_ascii=False) + "\n"
    )
