"""What the package's own stores share: checked passages and filters on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.storage.stored_passages import StoredPassages
from perspective_rag.types import Passage

Positions = NDArray[np.int64]
"""Rows of a store's passages, ascending, shape (m,)."""


def indexable(passages: Sequence[Passage]) -> Sequence[Passage]:
    """The passages as a list, or as they are where they lie in a folder and have distinct ids.

    Raises ConfigError when there are none or two share an id.
    """
    if isinstance(passages, StoredPassages):
        return passages
    kept = list(passages)
    if not kept:
        raise ConfigError("there are no passages to index")
    seen: set[str] = set()
    for passage in kept:
        if passage.id in seen:
            raise ConfigError(f"two passages have the id {passage.id!r}; ids must be distinct")
        seen.add(passage.id)
    return kept


def positions_of(passages: Sequence[Passage]) -> Callable[[str], int | None]:
    """What gives the row of a passage by its id, None for an id that is not there."""
    if isinstance(passages, StoredPassages):
        return passages.position
    return {passage.id: i for i, passage in enumerate(passages)}.get


def rows_of(passages: Sequence[Passage], ids: Sequence[str]) -> Positions:
    """The row of the passage with each id, -1 for an id that is not there; shape (n,)."""
    if isinstance(passages, StoredPassages):
        return passages.rows(ids)
    place = positions_of(passages)
    found = (place(id) for id in ids)
    return np.array([-1 if row is None else row for row in found], dtype=np.int64)


def passing(passages: Sequence[Passage], filter: Any) -> Positions | None:
    """Positions of the passages that pass a filter, or None for all of them.

    A filter is a predicate on passages, or a mapping of metadata fields to the values they must
    equal. Raises ConfigError for anything else.
    """
    if filter is None:
        return None
    test = predicate(filter)
    if isinstance(passages, StoredPassages):
        passages = passages.in_memory()
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
