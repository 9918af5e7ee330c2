"""Copies of what a caller owns."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def copied(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata that shares nothing with the given one, but the values that cannot be copied.

    Metadata may hold anything, a lock or an open file too: the plain retriever hands it on.
    """
    try:
        return copy.deepcopy(dict(metadata))
    except Exception:  # whatever a value's own code raises; value by value, the rest is copied
        return {key: _copied(value) for key, value in metadata.items()}


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # shared with the caller, as the plain retriever would
        return value
