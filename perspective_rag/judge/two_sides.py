"""One verdict from two readings: a passage beside each of two statements that contradict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.judge.settings import FILE, stored_in
from perspective_rag.types import Matrix, Vector


@dataclass(frozen=True, slots=True)
class TwoSides:
    """How the readings of two contradicting statements A and B count for each side.

    With s and o the logits of support and oppose less that of neutral, the evidence for A is

        e(A) = own s(A) + other o(B) + against o(A) + rival s(B) + relevance c + bias

    and for B the same with A and B exchanged; c is the cosine of passage and question (0 where it
    is not known). P(supports A), P(supports B) and P(neither) are the softmax of e(A), e(B) and 0.
    """

    own: float = 1.0
    other: float = 0.0
    against: float = 0.0
    rival: float = 0.0
    relevance: float = 0.0
    bias: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, float]) -> TwoSides:
        """The weights that ``judge.json`` holds."""
        return cls(**{name: float(stored[name]) for name in cls.__slots__ if name in stored})

    def stored(self) -> dict[str, float]:
        """What ``judge.json`` holds."""
        return {name: round(value, 4) for name, value in asdict(self).items()}

    def probabilities(
        self, logits_a: Matrix, logits_b: Matrix, cosine: Vector | None = None
    ) -> Matrix:
        """P(supports A), P(supports B) and P(neither) of each passage, shape (n, 3).

        ``logits_a`` and ``logits_b`` are the model's logits (support, oppose, neutral) of the
        passages beside A and B, shape (n, 3), as they come from the model; ``cosine`` is that of
        passage and question, shape (n,). A row with NaN stays NaN. Exchanging A and B exchanges
        the first two columns.
        """
        s_a, o_a = (logits_a[:, k] - logits_a[:, 2] for k in (0, 1))
        s_b, o_b = (logits_b[:, k] - logits_b[:, 2] for k in (0, 1))
        shared = self.bias + (0.0 if cosine is None else self.relevance * cosine)
        evidence = np.zeros((len(logits_a), 3))
        evidence[:, 0] = (
            self.own * s_a + self.other * o_b + self.against * o_a + self.rival * s_b + shared
        )
        evidence[:, 1] = (
            self.own * s_b + self.other * o_a + self.against * o_b + self.rival * s_a + shared
        )
        raised = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class TwoSidedSettings:
    """What a judge's folder says of reading both sides.

    A passage is listed under the likelier statement from P >= ``listing``; while fewer are found
    the search goes on counting those from ``searching``. ``alone`` weighs the two readings,
    ``relevant`` these and the cosine of question and passage with its title, by the packaged
    encoder; each has its own thresholds.
    """

    alone: Weighed
    relevant: Weighed | None = None

    @classmethod
    def of(cls, folder: Path) -> TwoSidedSettings | None:
        """The settings in the folder's ``judge.json``; None where it holds none.

        Raises ConfigError for others.
        """
        stored = stored_in(folder).get("two_sides")
        if stored is None:
            return None
        try:
            relevant = stored.get("relevant")
            return cls(Weighed.of(stored["alone"]), Weighed.of(relevant) if relevant else None)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problem = f"two_sides cannot be read: {error!r}"
            raise ConfigError(f"{folder / FILE}: {problem}") from error

    def support(self, logits_a: Matrix, logits_b: Matrix, relevance: Vector) -> Matrix:
        """P(supports A) and P(supports B), shape (n, 2), on the scale of ``relevant`` if set.

        Without the cosines, P is moved so that the thresholds of ``alone`` fall on that scale's.
        ``logits_a`` and ``logits_b`` as in ``TwoSides.probabilities``; ``relevance`` (n,) the
        cosines of passage and question, NaN where one is not known (all are then judged without).
        """
        if self.relevant is not None and np.isfinite(relevance).all():
            return self.relevant.weights.probabilities(logits_a, logits_b, relevance)[:, :2]
        alone = self.alone.weights.probabilities(logits_a, logits_b)[:, :2]
        if self.relevant is None:
            return alone
        own = [0.0, self.alone.searching, self.alone.listing, 1.0]
        wanted = [0.0, self.relevant.searching, self.relevant.listing, 1.0]
        moved: Matrix = np.interp(alone, own, wanted)
        return moved


@dataclass(frozen=True, slots=True)
class Weighed:
    """Weights of the two readings, and the thresholds that go with them."""

    weights: TwoSides
    listing: float
    searching: float

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Weighed:
        """From what ``judge.json`` holds."""
        return cls(
            TwoSides.of(stored["weights"]), float(stored["listing"]), float(stored["searching"])
        )

    def stored(self) -> dict[str, Any]:
        """What ``judge.json`` holds."""
        return {
            "weights": self.weights.stored(),
            "listing": round(self.listing, 4),
            "searching": round(self.searching, 4),
        }


def fitted(
    logits_a: Matrix,
    logits_b: Matrix,
    target: Matrix,
    cosine: Vector | None = None,
    *,
    penalty: float = 1e-3,
    rounds: int = 50,
) -> TwoSides:
    """The weights with the least cross-entropy to ``target`` (P of A, B, neither, shape (n, 3)).

    Newton steps on a convex loss with a ridge ``penalty`` on all weights but the bias.
    """
    own = _features(logits_a, logits_b, cosine)
    rival = _features(logits_b, logits_a, cosine)
    size = own.shape[1]
    ridge = penalty * np.eye(size)
    ridge[-1, -1] = 1e-9
    weights = np.zeros(size)
    for _ in range(rounds):
        scores = np.stack([own @ weights, rival @ weights, np.zeros(len(own))], axis=1)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        slope = (own.T @ (p[:, 0] - target[:, 0]) + rival.T @ (p[:, 1] - target[:, 1])) / len(
            own
        ) + ridge @ weights
        mean = p[:, :1] * own + p[:, 1:2] * rival
        bend = ((own * p[:, :1]).T @ own + (rival * p[:, 1:2]).T @ rival - mean.T @ mean) / len(
            own
        ) + ridge
        step = np.linalg.solve(bend, slope)
        weights -= step * min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-8:
            break
    s, o_other, o, s_other, *rest = (float(each) for each in weights)
    relevance = rest[0] if cosine is not None else 0.0
    return TwoSides(s, o_other, o, s_other, relevance, rest[-1])


def _features(logits: Matrix, opposite: Matrix, cosine: Vector | None) -> Matrix:
    """Own s, other's o, own o, other's s, the cosine where it is known, 1: shape (n, 5 or 6)."""
    columns: list[Any] = [
        logits[:, 0] - logits[:, 2],
        opposite[:, 1] - opposite[:, 2],
        logits[:, 1] - logits[:, 2],
        opposite[:, 0] - opposite[:, 2],
    ]
    if cosine is not None:
        columns.append(cosine)
    return np.stack([*columns, np.ones(len(logits))], axis=1)
