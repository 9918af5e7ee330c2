"""Does an essay take the side it was asked to take? Polarity, and what a judge says."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from perspective_rag import MissingDependency, Passage, Perspective, run
from perspective_rag.addons import Recorder, negate, split_sentences
from perspective_rag.extend import Judge

STANCES = {"support": "support", "undermine": "oppose"}
"""Label of the task -> stance."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r in [-1, 1] and the two-sided p-value of r = 0; None where one side is constant
    or there are fewer than three pairs.
    """

    r: float | None
    p: float | None
    n: int

    def to_dict(self) -> dict[str, float | int | None]:
        """The three by name."""
        return asdict(self)


def pearson(left: Sequence[float], right: Sequence[float]) -> Correlation:
    """Pearson's correlation, its p-value from Student's t with n - 2 degrees of freedom (exact for
    normal values; PIR Table 5 marks p < 0.05). Raises ValueError for sides that are not paired.
    """
    from scipy import stats

    if len(left) != len(right):
        raise ValueError(f"not paired: {len(left)} values against {len(right)}")
    if len(left) < 3 or not np.ptp(left) or not np.ptp(right):
        return Correlation(None, None, len(left))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        found = stats.pearsonr(left, right)
    r, p = float(found.statistic), float(found.pvalue)
    if not np.isfinite(r) or not np.isfinite(p):
        return Correlation(None, None, len(left))
    return Correlation(r, p, len(left))


def polarity(essay: str) -> float:
    """TextBlob's sentiment polarity (Loria 2020): the mean over words of a lexicon, in [-1, 1].

    It knows nothing of the topic: an angry plea for something is negative. Raises MissingDependency
    without ``textblob``.
    """
    try:
        from textblob import TextBlob
    except ImportError as error:
        raise MissingDependency("bench", "the polarity of essays") from error
    return float(TextBlob(essay).sentiment.polarity)


def asked_for(topic: str, stance: str) -> Perspective:
    """The side of a topic as a judge is asked about it."""
    claim = topic.strip().rstrip(".")
    if stance == "support":
        return Perspective("stance", claim, "support", claim)
    return Perspective("stance", negate(claim), "oppose", claim)


@dataclass(frozen=True, slots=True)
class Side:
    """``whole``: the judge's P(essay takes the stance), in [0, 1]; ``share``: the share of its
    sentences with P from the judge's threshold, in [0, 1]; ``failed``: texts without a verdict.

    An empty essay takes no side: 0 and 0. What could not be judged counts as 0.
    """

    whole: float
    share: float
    failed: int = 0


def side_taken(judge: Judge, essay: str, topic: str, stance: str) -> Side:
    """What a judge says of an essay and of each of its sentences."""
    sentences = split_sentences(essay)
    if not sentences:
        return Side(0.0, 0.0)
    texts = [Passage(str(i), text) for i, text in enumerate([essay, *sentences])]
    support = run(judge.judge([asked_for(topic, stance)], texts), Recorder())[:, 0]
    values = np.nan_to_num(support)
    share = float((values[1:] >= judge.threshold).mean())
    return Side(float(values[0]), share, int(np.isnan(support).sum()))
