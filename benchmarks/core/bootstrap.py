"""How sure a mean over questions is: percentile bootstrap, and a paired test between two rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perspective_rag.audit.intervals import LEVEL as LEVEL
from perspective_rag.audit.intervals import RESAMPLES as RESAMPLES
from perspective_rag.audit.intervals import Interval as Interval
from perspective_rag.audit.intervals import as_sample
from perspective_rag.audit.intervals import interval as interval


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two rows on the same questions, and the p-value of it being zero."""

    interval: Interval
    p: float

    def to_dict(self) -> dict[str, float]:
        """The interval's numbers and ``p``."""
        return {**self.interval.to_dict(), "p": round(self.p, 6)}


def ratio_interval(
    parts: Sequence[float], wholes: Sequence[float], *, seed: int, resamples: int = RESAMPLES
) -> Interval:
    """The percentile bootstrap interval of sum(parts) / sum(wholes), one of each a question.

    Questions are resampled, not what they hold, for what belongs to one question errs together.
    Samples whose wholes sum to 0 are left out. Raises ValueError where all of them do.
    """
    if len(parts) != len(wholes):
        raise ValueError(f"not paired: {len(parts)} parts of {len(wholes)} wholes")
    above, below = as_sample(parts), as_sample(wholes)
    if not below.sum() > 0:
        raise ValueError("a share of nothing has no interval")
    draws = np.random.default_rng(seed).integers(len(above), size=(resamples, len(above)))
    sums = below[draws].sum(axis=1)
    ratios = above[draws].sum(axis=1)[sums > 0] / sums[sums > 0]
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(ratios, [tail, 1.0 - tail])
    return Interval(float(above.sum() / below.sum()), float(low), float(high))


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
    differences = as_sample(values) - as_sample(base)
    generator = np.random.default_rng(seed)
    signs = generator.integers(2, size=(resamples, len(differences))) * 2 - 1
    observed = abs(differences.mean())
    as_far = np.abs((signs * differences).mean(axis=1)) >= observed - 1e-12
    p = (1 + int(as_far.sum())) / (1 + resamples)
    return Difference(interval(list(differences), seed=seed, resamples=resamples), p)


def macro_interval(
    samples: Sequence[Sequence[float]], *, seed: int, resamples: int = RESAMPLES
) -> Interval:
    """The percentile bootstrap interval of a mean over tasks of the tasks' means.

    Each task's values are resampled on their own (stratified): the tasks are given, not drawn.
    """
    # A seed for each task: equal draws for tasks of equal size would tie their errors together.
    means = np.mean(
        [_resampled(sample, [seed, i], resamples) for i, sample in enumerate(samples)], axis=0
    )
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    centre = float(np.mean([as_sample(sample).mean() for sample in samples]))
    return Interval(centre, float(low), float(high))


def macro_difference(
    samples: Sequence[Sequence[float]],
    bases: Sequence[Sequence[float]],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Difference:
    """``paired_difference`` of two rows' means over tasks; every task counts the same."""
    if [len(sample) for sample in samples] != [len(base) for base in bases]:
        raise ValueError("not paired: the tasks of the two rows have other numbers of values")
    generator = np.random.default_rng(seed)
    differences = [as_sample(s) - as_sample(b) for s, b in zip(samples, bases, strict=True)]
    observed = abs(np.mean([difference.mean() for difference in differences]))
    flipped = np.zeros(resamples)
    for difference in differences:
        signs = generator.integers(2, size=(resamples, len(difference))) * 2 - 1
        flipped += (signs * difference).mean(axis=1) / len(differences)
    p = (1 + int((np.abs(flipped) >= observed - 1e-12).sum())) / (1 + resamples)
    rows = [list(difference) for difference in differences]
    return Difference(macro_interval(rows, seed=seed, resamples=resamples), p)


def _resampled(
    values: Sequence[float], seed: Sequence[int], resamples: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sample = as_sample(values)
    draws = np.random.default_rng(seed).integers(len(sample), size=(resamples, len(sample)))
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = sample[draws].mean(axis=1)
    return means
