"""From P(support) to "supports": each perspective for itself, or two opposing ones compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError

FITTED = Path(__file__).parent / "decisions.json"
ALONE = "alone"
RULES = (ALONE, "compared")


@dataclass(frozen=True, slots=True)
class Decision:
    """A passage supports perspective i when P_i >= ``threshold``.

    With ``both``, and of two perspectives alone: that with the lower P besides needs
    P >= ``both``; equal ones count alike. The higher ``both``, the fewer passages support the two
    sides of a question; above 1 none does unless the judge cannot tell them apart at all.
    """

    threshold: float
    both: float | None = None

    def supported(self, values: Sequence[float]) -> list[bool]:
        """Whether the passage supports each perspective, from one P(support) for each."""
        supports = [value >= self.threshold for value in values]
        if self.both is None or len(values) != 2:
            return supports
        top = max(values)
        return [
            taken and (value == top or value >= self.both)
            for taken, value in zip(supports, values, strict=True)
        ]


def decision_of(
    rule: str, threshold: float, identity: Mapping[str, Any], *, fitted: Path = FITTED
) -> Decision:
    """``alone``: the judge's own ``threshold``. ``compared``: what
    ``benchmarks.berds.fit_decision`` found for exactly this judge; raises ConfigError when it has
    not been run.
    """
    if rule == ALONE:
        return Decision(threshold)
    known = json.loads(fitted.read_text(encoding="utf-8")) if fitted.is_file() else {}
    name = key_of(identity)
    if name not in known:
        raise ConfigError(
            f"no comparing thresholds are fitted for {identity['name']}: run python -m "
            "benchmarks.berds.fit_decision with this judge, or --decision alone"
        )
    return Decision(known[name]["threshold"], known[name]["both"])


def key_of(identity: Mapping[str, Any]) -> str:
    """What thresholds are fitted for: the judge's files, or its name where it has none."""
    return str(identity.get("files") or identity["name"])
