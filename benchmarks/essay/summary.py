"""From essays to the numbers of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.core.bootstrap import interval, paired_difference
from benchmarks.essay.scoring import Side, pearson

BASE = "plain"


@dataclass(frozen=True, slots=True)
class Row:
    """Essay by essay under one condition: polarity, the judge's verdicts, and the share of the
    passages given that are gold (0.0 where none were given).
    """

    polarities: Sequence[float]
    sides: Sequence[Side]
    gold: Sequence[float]


def summary(
    rows: Mapping[str, Row], stances: Sequence[str], *, seed: int, resamples: int
) -> dict[str, Any]:
    """For each condition the correlation of polarity with stance (+1 support, -1 oppose), the means
    of the judge's two measures with their differences from plain, and the share of gold passages.
    """
    signs = [1.0 if stance == "support" else -1.0 for stance in stances]
    found: dict[str, Any] = {}
    for name, row in rows.items():
        base = rows.get(BASE) if name != BASE else None

        def measured(values: Sequence[float], against: Sequence[float] | None) -> dict[str, Any]:
            difference = (
                paired_difference(values, against, seed=seed, resamples=resamples).to_dict()
                if against is not None
                else None
            )
            mean = interval(values, seed=seed, resamples=resamples).to_dict()
            return {**mean, "against_plain": difference}

        found[name] = {
            "polarity": pearson(row.polarities, signs).to_dict(),
            "judge": measured(
                [side.whole for side in row.sides],
                [side.whole for side in base.sides] if base else None,
            ),
            "sentences": measured(
                [side.share for side in row.sides],
                [side.share for side in base.sides] if base else None,
            ),
            "gold": measured(row.gold, base.gold if base else None),
        }
    return found
