"""How sure a mean over questions is: the percentile bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
LEVEL = 0.95


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
    generator = np.random.default_rng(seed)
    draws = generator.integers(len(sample), size=(resamples, len(sample)))
    means = sample[draws].mean(axis=1)
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(sample.mean()), float(low), float(high))


def as_sample(values: Sequence[float]) -> NDArray[np.float64]:
    """One value a question, shape (n,); raises ValueError for another shape and for none."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample):
        raise ValueError(f"expected one value a question, got shape {sample.shape}")
    return sample
