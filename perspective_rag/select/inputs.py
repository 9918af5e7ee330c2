"""The checks that all selectors share."""

from __future__ import annotations

from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError


def places(k: int, available: int) -> int:
    """min(k, available); raises ConfigError when ``k`` is not a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ConfigError(f"k must be a whole number, at least 1; got {k!r}")
    return min(int(k), available)


def share(value: float, name: str) -> float:
    """``value`` as a float; raises ConfigError when it is not a number in [0, 1]."""
    if not is_number(value) or not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name} must be a number in [0, 1]; got {value!r}")
    return float(value)


def is_number(value: Any) -> bool:
    """True for whole and floating-point numbers of Python and numpy; a bool is not one."""
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool)
