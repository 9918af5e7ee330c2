"""How good three-class probabilities are: accuracy, AUC, calibration error, temperature and
threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perspective_rag.judge.training.data import LABELS

Floats = NDArray[np.float64]


def softmax(logits: Floats) -> Floats:
    """Row-wise softmax of an (n, c) array."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def auc(positive: Floats, negative: Floats) -> float:
    """P(a positive scores above a negative), ties counting half (the Mann-Whitney statistic); NaN
    if one side is empty.
    """
    if not len(positive) or not len(negative):
        return float("nan")
    scores = np.concatenate([positive, negative])
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    rank_sum = mean_rank[inverse][: len(positive)].sum()
    return float(
        (rank_sum - len(positive) * (len(positive) + 1) / 2) / (len(positive) * len(negative))
    )


def expected_calibration_error(
    probability: Floats, correct: NDArray[np.bool_], bins: int = 10
) -> float:
    """Mean gap between confidence and accuracy over equal-width bins, weighted by their size (Guo
    et al. 2017).
    """
    index = np.minimum((probability * bins).astype(int), bins - 1)
    gaps = [
        abs(probability[index == b].mean() - correct[index == b].mean()) * (index == b).sum()
        for b in range(bins)
        if (index == b).any()
    ]
    return float(sum(gaps) / max(len(probability), 1))


def best_temperature(
    logits: Floats, labels: NDArray[np.int64], owners: NDArray[np.int64] | None = None
) -> float:
    """The divisor of the logits that minimises the log loss (temperature scaling, Guo et al. 2017).

    With ``owners`` the logits are those of windows, and the loss is that of their texts.
    """
    if owners is None:
        owners = np.arange(len(labels))
    rows = np.arange(len(labels))

    def loss(temperature: float) -> float:
        probability = strongest_windows(softmax(logits / temperature), owners)
        return float(-np.log(probability[rows, labels] + 1e-12).mean())

    grid = np.geomspace(0.3, 5.0, 120)
    return float(min(grid, key=loss))


def strongest_windows(probability: Floats, owners: NDArray[np.int64]) -> Floats:
    """Probabilities of texts from those of their windows, as a judge reads them.

    ``probability`` has shape (n_windows, 3); ``owners`` says whose window each is. Support and
    oppose are those of the window where they are strongest, neutral is what they leave, and the
    rows of the (n_texts, 3) result sum to 1.
    """
    result = np.zeros((int(owners.max()) + 1, len(LABELS)))
    np.maximum.at(result, owners, probability)
    result[:, 2] = np.maximum(1.0 - result[:, 0] - result[:, 1], 1e-9)
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def best_threshold(
    score: Floats,
    positive: NDArray[np.bool_],
    beta: float = 0.5,
    *,
    positive_share: float | None = None,
) -> float:
    """The threshold on a score with the best F-beta: with 0.5 precision counts twice as much as
    recall, with 1.0 as much.

    ``positive_share`` weights the positives so that they are that share of all: the share that is
    expected where the threshold will be used, which need not be that of the labelled rows. Equal
    scores are taken together, for no threshold parts them.
    """
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    weight = 1.0
    if positive_share is not None:
        weight = positive_share / (1 - positive_share) * int((~positive).sum()) / positive.sum()
    hits = weight * np.cumsum(positive[order])
    predicted = hits + np.cumsum(~positive[order])
    value = (1 + beta**2) * hits / (beta**2 * weight * int(positive.sum()) + predicted)
    last_of_equals = np.append(ranked[1:] < ranked[:-1], True)
    return float(ranked[int(np.argmax(np.where(last_of_equals, value, -1.0)))])


def f1(predicted: NDArray[np.bool_], positive: NDArray[np.bool_]) -> float:
    """2 TP / (2 TP + FP + FN); 0 where nothing is predicted and nothing positive."""
    both = int((predicted & positive).sum())
    return 2.0 * both / max(int(predicted.sum() + positive.sum()), 1)


def evaluate(logits: Floats, labels: Sequence[str]) -> dict[str, float]:
    """Every figure of a three-class judge on labelled pairs, from its (n, 3) logits."""
    probability = softmax(np.asarray(logits, dtype=np.float64))
    truth = np.array([LABELS.index(label) for label in labels])
    predicted = probability.argmax(axis=1)
    support, side = probability[:, 0], probability[:, 0] - probability[:, 1]
    return {
        "pairs": float(len(truth)),
        "accuracy": float((predicted == truth).mean()),
        "auc_support_rest": auc(support[truth == 0], support[truth != 0]),
        "auc_support_oppose": auc(side[truth == 0], side[truth == 1]),
        "f1_support": f1(predicted == 0, truth == 0),
        "calibration_error": expected_calibration_error(
            probability.max(axis=1), predicted == truth
        ),
    }
