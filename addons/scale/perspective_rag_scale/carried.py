"""Errors on their way from one process to another."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perspective_rag import PerspectiveRAGError


def dumps(value: object) -> bytes:
    """A value as ``pickle.loads`` reads it, errors in it with their causes and attributes."""
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return CarriedError.error, (CarriedError.of(value),)
        return NotImplemented


@dataclass(frozen=True, slots=True)
class CarriedError:
    """An error that can be sent, with its cause, which pickling forgets."""

    packed: bytes
    cause: CarriedError | None

    @classmethod
    def of(cls, error: BaseException) -> CarriedError:
        """The error; one that cannot be sent becomes a PerspectiveRAGError that says the same."""
        cause = None if error.__cause__ is None else cls.of(error.__cause__)
        said = PerspectiveRAGError(f"{type(error).__name__}: {error}")
        # Pickle calls the class with the message alone, which not every class can be called with.
        for packed in (lambda: pickle.dumps(error), lambda: pickle.dumps(_Values.of(error))):
            if (found := _tried(packed, error)) is not None:
                return cls(found, cause)
        return cls(pickle.dumps(said), cause)

    def error(self) -> BaseException:
        """The error, as it was raised."""
        made = _unpacked(self.packed)
        if self.cause is not None:
            made.__cause__ = self.cause.error()
        return made


@dataclass(frozen=True, slots=True)
class _Values:
    """What an error consists of."""

    kind: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> _Values:
        return cls(type(error), error.args, dict(vars(error)))

    def error(self) -> BaseException:
        made = self.kind.__new__(self.kind, *self.arguments)
        made.args = self.arguments
        vars(made).update(self.attributes)
        return made


def _tried(pack: Callable[[], bytes], error: BaseException) -> bytes | None:
    """The packed error where it comes out the same."""
    try:
        packed = pack()
        found = _unpacked(packed)
    except Exception:  # whatever the class or its values raise
        return None
    same = type(found) is type(error) and str(found) == str(error)
    return packed if same and vars(found).keys() == vars(error).keys() else None


def _unpacked(packed: bytes) -> BaseException:
    found: BaseException | _Values = pickle.loads(packed)  # noqa: S301  (of our own processes)
    return found.error() if isinstance(found, _Values) else found
