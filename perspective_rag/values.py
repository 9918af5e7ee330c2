"""Values of any kind: as JSON can hold them, and copies of what a caller owns."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

# Deeper values than any writer of JSON takes.
_DEEPEST = 100


def from_json(text: str | bytes) -> Any:
    """The value of a JSON text; raises ValueError for what is none, and for what is nested so deep
    that it cannot be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def json_ready(value: Any, *, _depth: int = 0) -> Any:
    """The value as None, booleans, numbers, strings, lists and dictionaries.

    What is no finite number becomes None, keys become strings, anything else its ``str``; so does
    what is nested deeper than 100.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if _depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {as_text(k): json_ready(each, _depth=_depth + 1) for k, each in value.items()}
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, (list, tuple, Set)):
            return [json_ready(each, _depth=_depth + 1) for each in value]
    return as_text(value)


def as_text(value: Any) -> str:
    """``str(value)``; where the value's own code fails, the name of its type."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def copy_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
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
