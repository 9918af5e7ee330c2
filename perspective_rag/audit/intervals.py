"""How sure the figures of an audit are: by its number of questions, and by the judge's errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 10_000
DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds that hold it with probability ``LEVEL``."""

    mean: float
    low: float
    high: float

    def rounded(self) -> Interval:
        """The three numbers to six places."""
        return Interval(round(self.mean, 6), round(self.low, 6), round(self.high, 6))

    def to_dict(self) -> dict[str, float]:
        """The three numbers by name, to six places."""
        return asdict(self.rounded())


def interval(values: Sequence[float], *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """The percentile bootstrap interval of a mean over questions (Efron 1979).

    The bounds are quantiles of the means of ``resamples`` samples of n values, drawn from the n
    given with replacement. Equal seeds draw the same questions, so rows are resampled alike. Raises
    ValueError without values.
    """
    sample = as_sample(values)
    draws = np.random.default_rng(seed).integers(len(sample), size=(resamples, len(sample)))
    bounds = _middle(sample[draws].mean(axis=1))
    return Interval(float(sample.mean()), bounds.low, bounds.high)


def as_sample(values: Sequence[float]) -> NDArray[np.float64]:
    """One value for each question, shape (n,); raises ValueError for another shape or no value."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample):
        raise ValueError(f"expected one value a question, got shape {sample.shape}")
    return sample


@dataclass(frozen=True, slots=True)
class ListingError:
    """Of the passages that a judge lists under a side: the shares, in [0, 1], that take the other
    side and that take none. ``source`` says where they were measured.
    """

    opposing: float
    silent: float
    source: str


PACKAGED_ERROR = ListingError(7 / 55, 8 / 55, "55 passages listed in thirty questions")
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
        bounds = {"one_sided": asdict(self.one_sided), "lean": asdict(self.lean)}
        return asdict(self.listing) | bounds


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
    tail = (1.0 - LEVEL) / 2.0
    return Bounds(*np.quantile(values, [tail, 1.0 - tail]).tolist())
