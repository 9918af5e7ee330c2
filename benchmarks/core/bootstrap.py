"""How sure a mean over questions is: percentile bootstrap, and a paired test between two rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds that hold it with probability ``LEVEL``."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """The three numbers by name, to six places."""
        return {name: round(value, 6) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two rows on the same questions, and the p-value of it being zero."""

    interval: Interval
    p: float

    def to_dict(self) -> dict[str, float]:
        """The interval's numbers and ``p``."""
        return {**self.interval.to_dict(), "p": round(self.p, 6)}


def interval(values: Sequence[float], *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """The percentile bootstrap interval of a mean over questions (Efron 1979).

    The bounds are quantiles of the means of ``resamples`` samples of n values, drawn from the n
    given with replacement. Equal seeds draw the same questions, so rows are resampled alike.
    """
    sample = _sample(values)
    generator = np.random.default_rng(seed)
    draws = generator.integers(len(sample), size=(resamples, len(sample)))
    means = sample[draws].mean(axis=1)
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(sample.mean()), float(low), float(high))


def paired_difference(
    values: Sequence[float], base: Sequence[float], *, seed: int, resamples: int = RESAMPLES
) -> Difference:
    """``values`` minus ``base``, question by question: bootstrap interval and two-sided p-value.

    p is that of the paired randomisation test (Smucker, Allan and Carterette 2007): the share of
    random flips of the differences' signs whose mean is as far from zero, with the observed one
    counted in, so that it is never zero.
    """
    if len(values) != len(base):
        raise ValueError(f"not paired: {len(values)} values against {len(base)}")
    differences = _sample(values) - _sample(base)
    generator = np.random.default_rng(seed)
    signs = generator.integers(2, size=(resamples, len(differences))) * 2 - 1
    observed = abs(differences.mean())
    as_far = np.abs((signs * differences).mean(axis=1)) >= observed - 1e-12
    p = (1 + int(as_far.sum())) / (1 + resamples)
    return Difference(interval(list(differences), seed=seed, resamples=resamples), p)


def _sample(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample):
        raise ValueError(f"expected one value a question, got shape {sample.shape}")
    return sample
