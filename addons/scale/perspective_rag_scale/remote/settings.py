"""How a model server is asked: limits and retries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from perspective_rag import ConfigError
from perspective_rag.addons import count, is_number
from perspective_rag.extend import unknown_name


class ConnectionOptions(TypedDict, total=False):
    """The fields of ``ConnectionSettings`` as keywords."""

    timeout: float
    max_retries: int
    max_concurrency: int
    batch_size: int
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How a server is asked.

    ``timeout``: seconds for one attempt, from connecting to the last byte of the reply.
    ``max_retries``: further attempts after 429, 500, 502, 503, 504, a time-out and a lost
    connection (0: none). ``max_concurrency``: requests under way at a time,
    ``batch_size``: texts or pairs in one request; ``batch_tokens``: tokens in one request, counted
    as the longest of its texts times their number, as padding makes them (a single text may have
    more).

    Raises ConfigError for values out of range.
    """

    timeout: float = 30.0
    max_retries: int = 2
    max_concurrency: int = 8
    batch_size: int = 32
    batch_tokens: int = 16_384

    def __post_init__(self) -> None:
        count("max_retries", self.max_retries, least=0)
        for name in ("max_concurrency", "batch_size", "batch_tokens"):
            count(name, getattr(self, name))
        _seconds("timeout", self.timeout)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ConnectionSettings:
        """From keywords; raises ConfigError for a name that is none of the fields."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise unknown_name(name, known, "option")
        return cls(**given)


def _seconds(name: str, value: Any) -> None:
    if not is_number(value) or not 0 < value < math.inf:
        raise ConfigError(f"{name} must be a number of seconds above 0; got {value!r}")
