"""What a run must reach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from benchmarks.core.schema import Strict, checked
from perspective_rag_train.toml_file import read_toml

LIMITS = Path(__file__).with_name("limits.toml")

_SHARE = Field(None, ge=0, le=1, description="a number in [0, 1]")
_SECTION = Field(default_factory=lambda: Least(), description="a section of figures")


class Least(Strict):
    """The least that each figure may be; what is not named is not limited."""

    both_sides: float | None = _SHARE
    reworded_both_sides: float | None = _SHARE
    every_side_listed: float | None = _SHARE
    right_listed: float | None = _SHARE
    reworded_right_listed: float | None = _SHARE
    agreement: float | None = _SHARE

    def missed(self, figures: Mapping[str, Any]) -> list[str]:
        """A sentence for each figure below its least value."""
        return [
            f"{name} is {figures[name]:.3f}, at least {least:g} is wanted"
            for name, least in self.model_dump(exclude_none=True).items()
            if figures[name] < least
        ]


class Limits(Strict):
    """``limits`` must be reached; ``targets`` are aimed at."""

    limits: Least = _SECTION
    targets: Least = _SECTION


def read_limits(path: Path = LIMITS) -> Limits:
    """The limits of a file; raises ConfigError that names the section and the key."""
    document = read_toml(path, extra="bench")
    for section in Limits.model_fields:
        if isinstance(document.get(section), dict):
            checked(Least, document[section], f"{path} [{section}]")
    return checked(Limits, document, str(path))
