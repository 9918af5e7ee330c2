"""Your own function as an extractor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.extract.extract import extraction_of
from perspective_rag.extract.rules import as_perspectives
from perspective_rag.flow.functions import as_function
from perspective_rag.flow.steps import Flow, call
from perspective_rag.types import Extraction, Perspective

Found = Extraction | Sequence[Perspective | str] | None
ExtractorFunction = Callable[[str], Found | Awaitable[Found]]


class CallableExtractor:
    """An extractor from ``function(question)``, plain or ``async``.

    It returns the perspectives, strings or ``Perspective`` objects, or an ``Extraction``; None or
    an empty list means that the question invites none. ``name`` stands for it in messages.

    Raises what the function raises, which the pipeline records as a degradation, and ConfigError
    for a function that does not take one argument or that returns something else.
    """

    def __init__(self, function: ExtractorFunction, *, name: str | None = None) -> None:
        self._function = as_function("CallableExtractor", function, ("question",))
        self.name = name or self._function.name

    def extract(self, question: str) -> Flow[Extraction]:
        """What the function finds; strings get the ids p1, p2, ..."""
        reply = yield from call(
            "extract", self._function.run, question, afunction=self._function.awaited
        )
        if reply.error is not None:
            raise reply.error
        if isinstance(reply.value, Extraction):
            return reply.value
        if not self._checked(reply.value):
            return Extraction(question, kind="factual")
        return extraction_of(question, reply.value)

    def _checked(self, returned: Any) -> tuple[Perspective, ...]:
        try:
            return as_perspectives(() if returned is None else returned)
        except ConfigError as error:
            raise ConfigError(
                f"the function of extractor {self.name!r} must return a list of strings or "
                f"Perspectives, an Extraction, or None: {error}"
            ) from error
