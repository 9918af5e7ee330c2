"""Values as cells of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_interval(value: Mapping[str, Any]) -> str:
    """A mean and its interval in percent."""
    mean, low, high = (100 * value[each] for each in ("mean", "low", "high"))
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def against(difference: Mapping[str, Any] | None) -> str:
    """A difference in points with its p-value; "=" for the row that others are compared with."""
    if difference is None:
        return "="
    return f"{100 * difference['mean']:+.1f} ({difference['p']:.4f})"
