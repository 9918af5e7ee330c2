"""What stores return, checked where it comes in."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from perspective_rag.errors import ConfigError, RetrievalError
from perspective_rag.flow.threads import in_thread
from perspective_rag.protocols import Store
from perspective_rag.types import Hit, Passage, Vector
from perspective_rag.validation import is_number
from perspective_rag.vectors import as_vector

_MANY = 500  # hits: more are not looked at in the event loop


@dataclass(frozen=True, slots=True)
class Found:
    """The usable hits of a search, best first, and how many could not be used, with the first of
    them as text.
    """

    hits: tuple[Hit, ...]
    unusable: int = 0
    example: str = ""


class CheckedSearch:
    """The searches of a store, whose hits are read and checked within the call.

    A store may return what is only read later, and reading it may fail or never end: at most ``k``
    hits are read. Raises RetrievalError, naming the store, for what is no sequence of hits.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.name = type(store).__name__

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> Found:
        """What ``store.search`` finds."""
        return usable(self.store.search(text, vector, k=k, filter=filter), self.name, k)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Found:
        """What ``store.asearch`` finds."""
        returned = await self.store.asearch(text, vector, k=k, filter=filter)
        if isinstance(returned, (list, tuple)) and len(returned) > _MANY:
            return await in_thread(usable, returned, self.name, k)
        return usable(returned, self.name, k)


def usable(returned: Any, name: str, k: int | None = None) -> Found:
    """The hits among the first ``k`` (None: all) of what ``name`` returned.

    A score that is no finite number becomes None, and so does an embedding that is no vector of
    finite numbers. Raises RetrievalError for what is no sequence, and where nothing in it is a hit.
    """
    if inspect.iscoroutine(returned):
        returned.close()
    if isinstance(returned, (str, bytes, Mapping)) or not isinstance(returned, Iterable):
        raise RetrievalError(
            f"{name} returned {_shown(returned)}; expected a sequence of Hits, best first"
        )
    hits: list[Hit] = []
    bad: list[Any] = []
    for each in islice(returned, k):
        if _is_hit(each):
            hits.append(_clean(each))
        else:
            bad.append(each)
    if bad and not hits:
        raise RetrievalError(
            f"{name} returned {_shown(bad[0])}; expected Hits, each with a Passage that has a text"
        )
    return Found(tuple(hits), len(bad), _shown(bad[0]) if bad else "")


def _is_hit(value: Any) -> bool:
    if not isinstance(value, Hit) or not isinstance(value.passage, Passage):
        return False
    return isinstance(value.passage.text, str) and isinstance(value.passage.metadata, Mapping)


def _clean(hit: Hit) -> Hit:
    score, embedding = _number(hit.score), _vector(hit.embedding)
    if score == hit.score and embedding is hit.embedding:
        return hit
    return replace(hit, score=score, embedding=embedding)


def _number(value: Any) -> float | None:
    try:
        return float(value) if is_number(value) and math.isfinite(value) else None
    except OverflowError:  # a whole number that is no float
        return None


def _vector(value: Any) -> Vector | None:
    try:
        vector = None if value is None else as_vector(value, "embedding")
    except ConfigError:
        return None
    return vector if vector is not None and vector.size else None


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.120}"
    except Exception:  # a value that cannot even be shown
        return f"a {type(value).__name__}"
