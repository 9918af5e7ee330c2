"""Errors on their way from one process to another."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from perspective_rag.errors import PerspectiveRAGError


@dataclass(frozen=True, slots=True)
class CarriedError:
    """An error as plain values, with its cause: pickling one calls its class with its message
    alone, which not every class can be called with, and forgets the cause.
    """

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]
    cause: CarriedError | None

    @classmethod
    def of(cls, error: BaseException) -> CarriedError:
        """The error as values; one whose class or values cannot be sent becomes a
        PerspectiveRAGError that says the same.
        """
        cause = None if error.__cause__ is None else cls.of(error.__cause__)
        found = cls(type(error), error.args, dict(vars(error)), cause)
        try:
            pickle.loads(pickle.dumps(found)).error()  # noqa: S301  (made in the line itself)
        except Exception:
            said = f"{type(error).__name__}: {error}"
            return cls(PerspectiveRAGError, (said,), {}, cause)
        return found

    def error(self) -> BaseException:
        """The error, as it was raised."""
        made = self.kind.__new__(self.kind, *self.arguments)
        made.args = self.arguments
        vars(made).update(self.attributes)
        if self.cause is not None:
            made.__cause__ = self.cause.error()
        return made
