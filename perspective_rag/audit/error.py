"""How far the figures of an audit may be off because the judge lists some passages wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perspective_rag.audit.measure import NEUTRAL

DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class ListingError:
    """Of the passages that a judge lists under a side: the shares, in [0, 1], that take the other
    side and that take none. ``source`` says where they were measured.
    """

    opposing: float
    silent: float
    source: str


PACKAGED = ListingError(7 / 55, 8 / 55, "55 passages listed in thirty questions")
"""Of the packaged judge, over 84,000 passages (docs/explanation/thirty-questions.md)."""


def listing_errors(
    rows: Sequence[Mapping[str, Any]], error: ListingError, k: int, seed: int
) -> dict[str, dict[str, float]]:
    """The middle 95% of ``one_sided`` and ``lean`` if each listed passage is wrong at those rates.

    ``rows`` are two-sided questions; every listed passage of their first ``k`` is drawn anew:
    true, of the other side, or of none. Passages that take a side and were not listed are left out
    of account. Empty for no rows.
    """
    if not rows:
        return {}
    rng = np.random.default_rng(seed)
    chances = [1.0 - error.opposing - error.silent, error.opposing, error.silent]
    listed = np.array(
        [[row["wordings"][NEUTRAL][s] for s in ("support", "oppose")] for row in rows]
    )
    drawn = rng.multinomial(listed, chances, size=(DRAWS, *listed.shape))  # true, other, none
    support = drawn[:, :, 0, 0] + drawn[:, :, 1, 1]
    oppose = drawn[:, :, 1, 0] + drawn[:, :, 0, 1]
    found = {
        "one_sided": ((support > 0) != (oppose > 0)).mean(axis=1),
        "lean": ((support - oppose) / k).mean(axis=1),
    }
    return {
        name: dict(zip(("low", "high"), np.quantile(values, [0.025, 0.975]).tolist(), strict=True))
        for name, values in found.items()
    }
