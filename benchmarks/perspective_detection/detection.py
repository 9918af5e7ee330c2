"""Figures of a judge on labelled pairs, with bootstrap intervals over documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.perspective_detection.judging import Verdicts
from perspective_rag import CorpusError
from perspective_rag.addons import json_lines
from perspective_rag.extend import Vector
from perspective_rag_train.data import LabelledPair
from perspective_rag_train.metrics import auc, evaluate, expected_calibration_error, f1

RESAMPLES = 2000
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HumanPair:
    """A document, a perspective, and whether people found the one in the other."""

    question: str
    document: str
    perspective: str
    positive: bool


def read_human_pairs(path: Path) -> list[HumanPair]:
    """Pairs from JSONL with question, document, perspective and label "0" or "1".

    Raises CorpusError with file and line for anything else.
    """
    pairs = []
    for place, row in json_lines(path):
        try:
            label = {"0": False, "1": True}[str(row["label"])]
            pairs.append(HumanPair(row["question"], row["document"], row["perspective"], label))
        except KeyError as error:
            raise CorpusError(
                f"{place}: expected question, document, perspective and label '0' or '1', got "
                f"{str(row)[:80]}"
            ) from error
    if not pairs:
        raise CorpusError(f"{path} holds no pairs")
    return pairs


def detection(
    pairs: Sequence[HumanPair], found: Verdicts, threshold: float, *, seed: int
) -> dict[str, Any]:
    """Every figure of Table 7 and ours, each with a 95% interval; unjudged pairs count as no.

    ``side_accuracy``: of the documents that support one of two perspectives of a question and not
    the other, how often P(support) is higher for the right one (ties count half). The interval is
    the percentile bootstrap over documents, for the pairs of a document are judged alike.
    """
    support = np.nan_to_num(np.asarray(found.support, dtype=np.float64))
    truth = np.array([pair.positive for pair in pairs])
    keys = [(pair.question, pair.document) for pair in pairs]
    documents = _grouped(keys)

    measures: Mapping[str, Callable[[Rows], float]] = {
        "accuracy": lambda rows: float(((support[rows] >= threshold) == truth[rows]).mean()),
        "f1": lambda rows: f1(support[rows] >= threshold, truth[rows]),
        "share_positive": lambda rows: float((support[rows] >= threshold).mean()),
        "auc": lambda rows: auc(support[rows][truth[rows]], support[rows][~truth[rows]]),
        "calibration_error": lambda rows: expected_calibration_error(support[rows], truth[rows]),
    }
    figures = {name: _interval(measure, documents, seed=seed) for name, measure in measures.items()}
    sides = _sides(documents, support, truth)
    figures["side_accuracy"] = _interval(
        lambda rows: float(sides[rows].mean()) if len(rows) else float("nan"),
        [np.array([i]) for i in range(len(sides))],
        seed=seed,
    )
    return {
        "pairs": len(pairs),
        "positive": int(truth.sum()),
        "one_sided_documents": len(sides),
        "threshold": threshold,
        "failed": found.failed,
        **figures,
    }


def by_source(
    pairs: Sequence[LabelledPair], found: Verdicts, *, fewest: int = 50
) -> dict[str, dict[str, float | None]]:
    """Accuracy, AUCs and calibration error under "all" and each source with enough pairs."""
    support, oppose = np.nan_to_num(found.support), np.nan_to_num(found.oppose)
    classes = np.stack([support, oppose, 1.0 - support - oppose], axis=1)
    logs = np.log(np.clip(classes, 1e-9, 1.0))
    groups = {"all": list(range(len(pairs)))}
    for source, count in Counter(pair.source for pair in pairs).most_common():
        if count >= fewest:
            groups[source] = [i for i, pair in enumerate(pairs) if pair.source == source]
    return {
        source: {
            name: None if np.isnan(value) else round(value, 6)
            for name, value in evaluate(logs[rows], [pairs[i].label for i in rows]).items()
        }
        for source, rows in groups.items()
    }


def _grouped(keys: Sequence[Any]) -> list[Rows]:
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    return [np.array(rows) for rows in groups.values()]


def _sides(documents: Sequence[Rows], support: Vector, truth: NDArray[np.bool_]) -> Vector:
    chosen = []
    for rows in documents:
        if len(rows) == 2 and truth[rows].sum() == 1:
            right, wrong = support[rows][truth[rows]][0], support[rows][~truth[rows]][0]
            chosen.append(0.5 if right == wrong else float(right > wrong))
    return np.array(chosen)


def _interval(
    measure: Callable[[Rows], float], groups: Sequence[Rows], *, seed: int
) -> dict[str, float | None]:
    """The measure on all groups, and the 2.5% and 97.5% quantiles over resampled groups."""
    if not groups:
        return {"value": None, "low": None, "high": None}
    generator = np.random.default_rng(seed)
    values = []
    for _ in range(RESAMPLES):
        drawn = generator.integers(len(groups), size=len(groups))
        values.append(measure(np.concatenate([groups[i] for i in drawn])))
    low, high = np.nanquantile(values, [0.025, 0.975])
    whole = measure(np.concatenate(groups))
    return {
        name: round(float(v), 6)
        for name, v in zip(("value", "low", "high"), (whole, low, high), strict=True)
    }
