"""Options at the edge: one message for each kind of mistake."""

from __future__ import annotations

from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError


def is_number(value: Any) -> bool:
    """True for whole and floating-point numbers of Python and numpy; a bool is not one."""
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool)


def count(name: str, value: Any, *, least: int = 1) -> int:
    """``value`` as an int; raises ConfigError when it is not a whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ConfigError(f"{name} must be a whole number, at least {least}; got {value!r}")
    return int(value)


def between(name: str, value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """``value`` as a float; raises ConfigError when it is not a number in [low, high]."""
    if not is_number(value) or not low <= value <= high:
        raise ConfigError(f"{name} must be a number in [{low:g}, {high:g}]; got {value!r}")
    return float(value)
