"""Checking what a user wrote against a pydantic model, with messages that say what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from perspective_rag import ConfigError
from perspective_rag.extend import unknown_name

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """No unknown keys, and no value of another type: "3" is no number, 1 is not true.

    Each field's ``description`` says what it must be; error messages quote it.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def one_of(allowed: Sequence[str], kind: str) -> AfterValidator:
    """A string that must be one of ``allowed``; the error names the nearest one."""

    def check(value: str) -> str:
        if value not in allowed:
            error = unknown_name(value, allowed, kind)
            raise ConfigError(f"{error}; allowed: {', '.join(allowed)}")
        return value

    return AfterValidator(check)


def checked(model: type[Model], values: Mapping[str, Any], place: str) -> Model:
    """The values as a model; raises ConfigError that names ``place``, the key and what it must be.

    Of several errors the first is told.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{place}: {_said(model, values, error)}") from error


def _said(model: type[BaseModel], values: Mapping[str, Any], error: ValidationError) -> str:
    found = error.errors()
    key = str(found[0]["loc"][0])
    if found[0]["type"] == "extra_forbidden":
        return str(unknown_name(key, model.model_fields, "key"))
    for each in found:  # of a union, the branch that was meant says more
        if each["type"] == "value_error" and each["loc"][0] == key:
            return str(each["ctx"]["error"])
    wanted = model.model_fields[key].description or found[0]["msg"]
    return f"{key} must be {wanted}, got {values.get(key)!r:.200}"
