"""When a passage is listed: weights of both judges and thresholds, cross-fitted over questions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag import CrossEncoderJudge, ListingRule
from perspective_rag.addons import LargerSettings, SideWeights, Weighing, log_odds, personal
from perspective_rag_train.two_sided.pools import FOLDS, Read, readings

LEAST_TRUE = 0.88
"""Of what is listed in each set at least so much must be true, and"""
MOST_OPPOSING = 0.03
"""at most so much may support the other side,"""
CHANCE = 0.2
"""unless chance brings as many in this share of the cases: small sets are noisy."""
LEADS = (0.0, 0.2, 0.4, 0.6)
NEVER = ListingRule(1.0, 1.0, 1.0)
"""Lists nothing that is not certain."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cells:
    """Every side of every passage: shape (n, 2) each, but the first four (n,).

    ``larger`` is NaN where the passage was not read again.
    """

    set: NDArray[np.str_]
    fold: NDArray[np.int_]
    text: NDArray[np.str_]
    relevance: Floats
    larger: Floats
    fast: Floats
    true: Bools
    opposing: Bools

    @classmethod
    def of(cls, rows: Sequence[Read]) -> Cells:
        """From what was read."""
        label = np.array([each.label for each in rows])
        own, other = np.isin(label, ["S", "s"]), np.isin(label, ["O", "o"])
        both = label == "M"
        return cls(
            np.array([each.set for each in rows]),
            np.array([each.fold for each in rows]),
            np.array([each.text for each in rows]),
            np.array([each.relevance for each in rows], dtype=float),
            np.array([each.larger or (np.nan, np.nan) for each in rows], dtype=float),
            np.array([each.fast for each in rows], dtype=float),
            np.column_stack([own | both, other | both]),
            np.column_stack([other, own]),
        )

    def at(self, rows: Bools) -> Cells:
        """Those of some passages."""
        return Cells(*(getattr(self, name)[rows] for name in self.__slots__))

    @property
    def read(self) -> Bools:
        """Which passages were read again, shape (n,)."""
        return np.asarray(~np.isnan(self.larger).any(axis=1))


def thresholds(model: Path, data: Path, kept: Path, *, write: bool = False) -> dict[str, Any]:
    """What can be listed with the larger judge, with it and the fast one, and with the fast alone.

    Figures are of the folds left out: weights and thresholds are set on the others. With ``write``
    those of all folds go into the model's ``judge.json``.
    """
    return decided(Cells.of(readings(model, data, kept)), model if write else None)


def decided(cells: Cells, model: Path | None = None) -> dict[str, Any]:
    """The figures and what was fitted; stored in the ``judge.json`` of ``model`` where one is
    given.
    """
    shipped = CrossEncoderJudge().sides_listing
    assert shipped is not None
    fast = _listed(shipped, cells.fast)
    agreed = fast & (np.nan_to_num(cells.larger) > np.nan_to_num(cells.larger[:, ::-1]))
    found: dict[str, Any] = {
        "fast as shipped": by_set(cells, fast),
        "fast as shipped, larger names the same side": by_set(cells, agreed),
        "fast alone": cross_fitted(cells, "fast"),
        "larger alone": cross_fitted(cells, "larger"),
        "both": cross_fitted(cells, "both"),
    }
    alone, both = fitted(cells, "larger"), fitted(cells, "both")
    found["alone"], found["beside_fast"] = alone.stored(), both.stored()
    if model is not None:
        settings = replace(LargerSettings.of(model), alone=alone, beside_fast=both)
        path = model / "judge.json"
        provenance = json.loads(path.read_text(encoding="utf-8"))["provenance"]
        provenance["thresholds, cross-fitted"] = found
        path.write_text(settings.document(provenance), encoding="utf-8")
    return found


def cross_fitted(cells: Cells, kind: str) -> dict[str, Any]:
    """The figures by set, each fold with what was fitted on the others."""
    listed = np.zeros((len(cells.set), 2), dtype=bool)
    for fold in range(FOLDS):
        out = cells.fold == fold
        listed[out] = listed_by(fitted(cells.at(~out), kind), cells.at(out))
    return by_set(cells, listed)


def fitted(cells: Cells, kind: str) -> Weighing[SideWeights]:
    """Weights ("fast", "larger" or "both" judges) and the rule that lists most."""
    weights = fit(cells.at(cells.read), kind)
    return Weighing(weights, rule(cells, support(weights, cells)))


def fit(cells: Cells, kind: str, ridge: float = 0.02) -> SideWeights:
    """Logistic regression of truth on both judges' log-odds, every set with the same weight."""
    x, f = log_odds(cells.larger), log_odds(cells.fast)
    r = np.array([[personal(text)] * 2 for text in cells.text]).reshape(-1, 2)
    usual = round(float(cells.relevance.mean()), 4)
    c = np.repeat(cells.relevance[:, None] - usual, 2, axis=1)
    columns = {
        "own": x, "rival": x[:, ::-1], "fast": f, "fast_rival": f[:, ::-1],
        "personal": r, "own_personal": r * x, "fast_personal": r * f,
        "relevance": c, "bias": np.ones_like(x),
    }  # fmt: skip
    without: dict[str, tuple[str, ...]] = {
        "larger": ("fast", "relevance"), "fast": ("own", "rival"), "both": (),
    }  # fmt: skip
    left_out = without[kind]
    used = [name for name in columns if not name.startswith(left_out)]
    features = np.stack([columns[name].ravel() for name in used], axis=1)
    truth = cells.true.ravel().astype(float)
    sizes = {name: int((cells.set == name).sum()) for name in set(cells.set.tolist())}
    weight = np.repeat([1.0 / sizes[name] for name in cells.set.tolist()], 2)
    weight *= len(weight) / weight.sum()
    found = np.zeros(len(used))
    for _ in range(60):
        p = 1.0 / (1.0 + np.exp(-features @ found))
        slope = features.T @ (weight * (p - truth)) + ridge * len(truth) * np.r_[found[:-1], 0] / 50
        bend = (features * (weight * p * (1 - p))[:, None]).T @ features
        bend += np.eye(len(used)) * ridge * len(truth) / 50
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    return SideWeights(**dict(zip(used, found.tolist(), strict=True)), usual=usual)


def support(weights: SideWeights, cells: Cells) -> Floats:
    """P(true), shape (n, 2); NaN where a passage was not read again."""
    return (
        weights.support(cells.larger, cells.text.tolist(), cells.relevance, cells.fast)
        + 0.0 * cells.larger
    )


def rule(cells: Cells, values: Floats) -> ListingRule:
    """The rule that lists the largest share of what is true, over the sets, while in each set
    enough is true and little opposes; ``NEVER`` where none does.
    """
    best, most = NEVER, 0.0
    for lead in LEADS:
        for threshold in np.arange(0.5, 0.99, 0.01).tolist():
            tried = ListingRule(threshold, min(0.35, threshold), lead)
            figures = by_set(cells, _listed(tried, values))
            if all(map(_is_sound, figures.values())):
                recall = float(np.mean([each["recall"] for each in figures.values()]))
                if recall > most + 1e-9:
                    best, most = tried, recall
    return best


def _is_sound(figures: Mapping[str, Any]) -> bool:
    n = int(figures["listed"])
    opposing = round(figures["opposing"] * n)
    within = figures["wrong"] <= _by_chance(n, 1 - LEAST_TRUE)
    return bool(within and opposing <= _by_chance(n, MOST_OPPOSING))


@cache
def _by_chance(n: int, share: float) -> int:
    """What a binomial count of ``n`` and ``share`` exceeds with probability ``CHANCE`` at most."""
    total = 0.0
    for count in range(n + 1):
        total += math.comb(n, count) * share**count * (1 - share) ** (n - count)
        if total >= 1 - CHANCE:
            break
    return count


def listed_by(weighing: Weighing[SideWeights], cells: Cells) -> Bools:
    """Which sides are listed, shape (n, 2)."""
    return _listed(weighing.rule, support(weighing.weights, cells))


def _listed(rule: ListingRule, values: Floats) -> Bools:
    ahead = values - values[:, ::-1]
    with np.errstate(invalid="ignore"):
        return np.asarray((values >= rule.threshold) & (ahead >= rule.lead) & (ahead > 0))


def by_set(cells: Cells, listed: Bools) -> dict[str, dict[str, Any]]:
    """Of each set: how many sides are listed, what share of them is true and opposing, and what
    share of the true ones is listed.
    """
    return dict(_figures(cells, listed))


def _figures(cells: Cells, listed: Bools) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in sorted(set(cells.set.tolist())):
        rows = cells.set == name
        shown, true, opposing = listed[rows], cells.true[rows], cells.opposing[rows]
        n = int(shown.sum())
        yield (
            name,
            {
                "listed": n,
                "wrong": int((shown & ~true).sum()),
                "true": round(float((shown & true).sum() / max(n, 1)), 4),
                "opposing": round(float((shown & opposing).sum() / max(n, 1)), 4),
                "recall": round(float((shown & true).sum() / max(int(true.sum()), 1)), 4),
            },
        )
