"""How far the figures of an audit may be off because the judge lists some passages wrongly."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Bounds:
    """The middle 95% of a figure."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """The middle 95% of two figures if each listed passage is wrong at the rates of ``listing``."""

    listing: ListingError
    one_sided: Bounds
    lean: Bounds

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self.listing) | {
            "one_sided": asdict(self.one_sided),
            "lean": asdict(self.lean),
        }


def judge_errors(listed: NDArray[np.int_], listing: ListingError, k: int, seed: int) -> JudgeErrors:
    """How far one-sidedness and lean may be off.

    ``listed``, shape (n_questions, 2), counts the passages of the first ``k`` that are listed as
    supporting and as opposing. Each is drawn anew: true, of the other side, or of none. Passages
    that take a side and were not listed are left out of account.
    """
    rng = np.random.default_rng(seed)
    chances = [1.0 - listing.opposing - listing.silent, listing.opposing, listing.silent]
    drawn = rng.multinomial(listed, chances, size=(DRAWS, *listed.shape))  # true, other, none
    support = drawn[:, :, 0, 0] + drawn[:, :, 1, 1]
    oppose = drawn[:, :, 1, 0] + drawn[:, :, 0, 1]
    one_sided = ((support > 0) != (oppose > 0)).mean(axis=1)
    lean = ((support - oppose) / k).mean(axis=1)
    return JudgeErrors(listing, _middle(one_sided), _middle(lean))


def _middle(values: NDArray[np.float64]) -> Bounds:
    return Bounds(*np.quantile(values, [0.025, 0.975]).tolist())
