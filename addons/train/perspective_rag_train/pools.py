"""A judge on pools: questions whose retrieved passages are labelled towards both statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag import CorpusError
from perspective_rag.addons import TwoSides, json_lines
from perspective_rag_train.metrics import (
    Floats,
    auc,
    best_calibration,
    best_threshold,
    softmax,
)
from perspective_rag_train.questions import TOWARDS_STATEMENT

Rows = NDArray[np.int64]
_CLASS = {"S": 0, "s": 0, "O": 1, "o": 1, "N": 2}
_MIRRORED = {"S": "O", "s": "o", "N": "N", "o": "s", "O": "S"}
TRUE = ("Ss", "oO")
LISTED_PRECISION = 0.85
SEARCHED_PRECISION = 0.6


@dataclass(frozen=True, slots=True)
class Pool:
    """A question, its two statements, and (document, label) of its passages; ``fold`` keeps
    questions of one topic together.
    """

    question: str
    statement: str
    opposite: str
    fold: int
    passages: tuple[tuple[str, str], ...]


def read_pools(path: Path) -> list[Pool]:
    """Reads ``kind: doc`` and ``kind: query`` lines; CorpusError for what is of another form."""
    texts: dict[str, str] = {}
    pools = []
    for place, row in json_lines(path):
        try:
            if row["kind"] == "doc":
                texts[row["id"]] = row["text"]
                continue
            passages = tuple((texts[name], label) for name, label in row["labels"].items())
            if unknown := {label for _, label in passages} - set(TOWARDS_STATEMENT):
                raise ValueError(f"unknown labels {sorted(unknown)}")
            pools.append(
                Pool(row["question"], row["statement"], row["opposite"], row["fold"], passages)
            )
        except (KeyError, ValueError, TypeError) as error:
            raise CorpusError(f"{place}: not a line of labelled pools: {error!r}") from error
    return pools


@dataclass(frozen=True, slots=True)
class Readings:
    """A judge's logits for every passage of every pool beside both statements, row by row.

    ``logits`` has shape (n, 2, 3): statement and opposite; support, oppose and neutral. ``labels``
    are towards the first; ``cosine`` is that of passage and question, where it is known.
    """

    logits: Floats
    labels: NDArray[np.str_]
    question: Rows
    fold: Rows
    cosine: Floats | None = None

    @classmethod
    def of(
        cls,
        pools: Sequence[Pool],
        logits: Callable[[Sequence[str], Sequence[str]], Floats],
        cosine: Callable[[Pool], Floats] | None = None,
    ) -> Readings:
        """Reads all pools; ``logits`` gives (n, 3) for documents and statements."""
        documents = [text for pool in pools for text, _ in pool.passages]
        first, second = (
            logits(documents, [getattr(pool, name) for pool in pools for _ in pool.passages])
            for name in ("statement", "opposite")
        )
        sizes = [len(pool.passages) for pool in pools]
        return cls(
            np.stack([first, second], axis=1),
            np.array([label for pool in pools for _, label in pool.passages]),
            np.repeat(np.arange(len(pools)), sizes),
            np.repeat([pool.fold for pool in pools], sizes),
            None if cosine is None else np.concatenate([cosine(pool) for pool in pools]),
        )

    def true(self, side: int) -> NDArray[np.bool_]:
        """Which passages support the first (0) or the second statement; what argues both does."""
        return np.isin(self.labels, [*TRUE[side], "M"])

    def target(self) -> Floats:
        """P of first, second and neither to learn: what counts as true, so that P is its chance."""
        first, second = self.true(0).astype(float), self.true(1).astype(float)
        shares = np.column_stack([first, second, ~(self.true(0) | self.true(1))])
        return np.asarray(shares / np.maximum(1.0, first + second).reshape(-1, 1))


def one_sided(readings: Readings, temperature: float, neutral_bias: float) -> Floats:
    """P(support) of each statement read by itself and what the larger leaves, shape (n, 3)."""
    scaled = readings.logits / temperature + np.array([0.0, 0.0, neutral_bias])
    raised = np.exp(scaled - scaled.max(axis=2, keepdims=True))
    support = (raised / raised.sum(axis=2, keepdims=True))[:, :, 0]
    return np.column_stack([support, 1.0 - support.max(axis=1)])


def calibrated_alone(readings: Readings) -> tuple[float, float, float]:
    """Temperature, bias of neutral and threshold of best F1 for one statement read by itself, on
    passages as they are found: each beside both statements, those that argue both left out.
    """
    one_sided_labels = readings.labels != "M"
    logits = readings.logits[one_sided_labels].reshape(-1, 3)
    truth = np.array(
        [
            [_CLASS[str(label)], _CLASS[_MIRRORED[str(label)]]]
            for label in readings.labels[one_sided_labels]
        ]
    ).ravel()
    shares = np.bincount(truth, minlength=3) / len(truth)
    temperature, bias = best_calibration(logits, truth, list(shares))
    support = softmax(logits / temperature + np.array([0.0, 0.0, bias]))[:, 0]
    return temperature, bias, best_threshold(support, truth == 0, 1.0)


def cross_fitted(readings: Readings, *, cosine: bool) -> tuple[Floats, TwoSides]:
    """P of first, second and neither, each fold's by weights fitted on the other folds; and the
    weights fitted on all.
    """

    def fit_on(rows: NDArray[np.bool_]) -> TwoSides:
        return fitted(
            readings.logits[rows, 0],
            readings.logits[rows, 1],
            readings.target()[rows],
            known[rows] if known is not None else None,
        )

    known = readings.cosine if cosine else None
    found = np.zeros((len(readings.labels), 3))
    for fold in np.unique(readings.fold):
        out = readings.fold == fold
        found[out] = fit_on(~out).probabilities(
            readings.logits[out, 0],
            readings.logits[out, 1],
            known[out] if known is not None else None,
        )
    return found, fit_on(np.ones(len(found), dtype=bool))


def aucs(probability: Floats, readings: Readings, rows: Rows | None = None) -> dict[str, float]:
    """P(a passage that supports scores above one that ...), over all pools together and ("by
    question") as the mean of the questions'.
    """
    chosen = np.arange(len(probability)) if rows is None else rows
    p, question = probability[chosen], readings.question[chosen]
    labels = readings.labels[chosen]
    silent = labels == "N"
    pooled: dict[str, list[tuple[Floats, Floats]]] = {"rest": [], "opposing": []}
    single: dict[str, list[float]] = {"rest": [], "opposing": [], "silent": []}
    for side in (0, 1):
        true, against = readings.true(side)[chosen], np.isin(labels, list(TRUE[1 - side]))
        for name, wrong in (("rest", ~true), ("opposing", against)):
            pooled[name].append((p[true, side], p[wrong, side]))
            for each in np.unique(question):
                own = question == each
                single[name].append(auc(p[true & own, side], p[wrong & own, side]))
    for each in np.unique(question):
        own = question == each
        single["silent"].append(auc(-p[~silent & own, 2], -p[silent & own, 2]))
    result = {
        f"support / {name}": auc(
            np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])
        )
        for name, parts in pooled.items()
    }
    result["side-taking / silent"] = auc(-p[~silent, 2], -p[silent, 2])
    for name, own_name in (
        ("support / rest", "rest"),
        ("support / opposing", "opposing"),
        ("side-taking / silent", "silent"),
    ):
        result[f"{name}, by question"] = float(np.nanmean(single[own_name]))
    return result


def intervals(
    probability: Floats, readings: Readings, *, draws: int = 200, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """95% intervals of ``aucs``, by drawing questions anew."""
    rng = np.random.default_rng(seed)
    rows_of = [np.flatnonzero(readings.question == q) for q in np.unique(readings.question)]
    found: list[dict[str, float]] = []
    for _ in range(draws):
        drawn = rng.integers(0, len(rows_of), len(rows_of))
        found.append(aucs(probability, readings, np.concatenate([rows_of[i] for i in drawn])))
    return {
        name: (
            float(np.nanpercentile([each[name] for each in found], 2.5)),
            float(np.nanpercentile([each[name] for each in found], 97.5)),
        )
        for name in found[0]
    }


def threshold_for(
    probability: Floats, readings: Readings, precision: float, rows: NDArray[np.bool_]
) -> float:
    """The lowest P at which what is listed under the likelier of its two statements is right as
    often as asked; infinite where no twenty such verdicts are.
    """
    score, right = listed(probability, readings)
    score, right = score[rows], right[rows]
    order = np.argsort(-score)
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero((share >= precision) & (np.arange(len(order)) >= 19))
    return float(score[order[enough[-1]]]) if len(enough) else float("inf")


def listed(probability: Floats, readings: Readings) -> tuple[Floats, NDArray[np.bool_]]:
    """P of the likelier statement of each passage, and whether the passage supports it."""
    side = probability[:, :2].argmax(axis=1)
    right = np.where(side == 0, readings.true(0), readings.true(1))
    return probability[:, :2].max(axis=1), right


def at_precision(probability: Floats, readings: Readings, precision: float) -> dict[str, float]:
    """What a threshold for ``precision`` lists, each fold by the threshold of the other folds."""
    score, right = listed(probability, readings)
    side = probability[:, :2].argmax(axis=1)
    against = np.where(side == 0, np.isin(readings.labels, ["o", "O"]), False) | np.where(
        side == 1, np.isin(readings.labels, ["s", "S"]), False
    )
    shown = np.zeros(len(score), dtype=bool)
    for fold in np.unique(readings.fold):
        out = readings.fold == fold
        shown[out] = score[out] >= threshold_for(probability, readings, precision, ~out)
    supports = int((readings.labels != "N").sum())
    return {
        "listed": float(shown.sum()),
        "true": float(right[shown].mean()) if shown.any() else float("nan"),
        "opposing": float(against[shown].mean()) if shown.any() else float("nan"),
        "share of all that take a side": float((right & shown).sum() / supports),
        "threshold": threshold_for(probability, readings, precision, np.ones(len(score), bool)),
    }


def reliability(probability: Floats, readings: Readings, bins: int = 8) -> list[dict[str, float]]:
    """Shown probability of the likelier statement against the share that supports it, in bins."""
    score, right = listed(probability, readings)
    index = np.minimum((score * bins).astype(int), bins - 1)
    return [
        {
            "from": each / bins,
            "passages": float((index == each).sum()),
            "shown": float(score[index == each].mean()),
            "true": float(right[index == each].mean()),
        }
        for each in range(bins)
        if (index == each).any()
    ]


def report(readings: Readings, views: Mapping[str, Floats]) -> dict[str, Any]:
    """Every figure of every view (a name and its probabilities)."""
    return {
        name: {
            "auc": aucs(found, readings),
            "intervals": intervals(found, readings),
            "listing": at_precision(found, readings, LISTED_PRECISION),
            "searching": at_precision(found, readings, SEARCHED_PRECISION),
            "reliability": reliability(found, readings),
        }
        for name, found in views.items()
    }


def fitted(
    logits_a: Floats,
    logits_b: Floats,
    target: Floats,
    cosine: Floats | None = None,
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


def _features(logits: Floats, opposite: Floats, cosine: Floats | None) -> Floats:
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
