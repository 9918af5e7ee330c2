"""What one configuration did with one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one configuration did with one question.

    ``ranking`` are the passage ids returned, ``seconds`` the wall time of the call, ``stages`` the
    seconds of each stage in it; ``complete`` is the pipeline's own word on whether every
    perspective is covered, None where it judged nothing.
    """

    ranking: tuple[str, ...]
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    searches: int = 0
    judged_pairs: int = 0
    complete: bool | None = None
    degradations: Sequence[str] = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """An outcome as ``dataclasses.asdict`` gives it and JSON keeps it."""
        return cls(**{**values, "ranking": tuple(values["ranking"])})
