"""What the package's own stores share: checked passages and filters on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.types import Passage

Positions = NDArray[np.int64]
"""Rows of a store's passages, ascending, shape (m,)."""


def indexable(passages: Sequence[Passage]) -> list[Passage]:
    """The passages as a list; raises ConfigError when there are none or two share an id."""
    kept = list(passages)
    if not kept:
        raise ConfigError("there are no passages to index")
    seen: set[str] = set()
    for passage in kept:
        if passage.id in seen:
            raise ConfigError(f"two passages have the id {passage.id!r}; ids must be distinct")
        seen.add(passage.id)
    return kept


def passing(passages: Sequence[Passage], filter: Any) -> Positions | None:
    """Positions of the passages that pass a filter, or None for all of them.

    A filter is a predicate on passages, or a mapping of metadata fields to the values they must
    equal. Raises ConfigError for anything else.
    """
    if filter is None:
        return None
    test = predicate(filter)
    return np.array([i for i, passage in enumerate(passages) if test(passage)], dtype=np.int64)


def predicate(filter: Any) -> Callable[[Passage], bool]:
    """Whether a passage passes a filter, as ``passing`` has it."""
    if isinstance(filter, Mapping):
        wanted = dict(filter)
        absent = object()
        return lambda passage: all(
            passage.metadata.get(name, absent) == value for name, value in wanted.items()
        )
    if callable(filter):
        return lambda passage: bool(filter(passage))
    raise ConfigError(
        "filter must be a predicate on passages or a mapping of metadata fields to values,"
        f" got {type(filter).__name__}"
    )
