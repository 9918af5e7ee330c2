"""How good three-class probabilities are: accuracy, AUC, calibration error, temperature and
threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perspective_rag_train.data import LABELS

Floats = NDArray[np.float64]


def softmax(logits: Floats) -> Floats:
    """Row-wise softmax of an (n, c) array."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def auc(positive: Floats, negative: Floats, weight: Floats | None = None) -> float:
    """P(a positive scores above a negative), ties counting half (the Mann-Whitney statistic); NaN
    if one side is empty. ``weight`` is that of each negative (all equal without it).
    """
    if not len(positive) or not len(negative):
        return float("nan")
    order = np.argsort(negative)
    ranked = negative[order]
    below = np.cumsum([0.0, *(np.ones(len(order)) if weight is None else weight[order])])
    lower, upper = (np.searchsorted(ranked, positive, side=side) for side in ("left", "right"))
    return float(((below[lower] + below[upper]) / (2.0 * below[-1])).mean())


def expected_calibration_error(
    probability: Floats,
    correct: NDArray[np.bool_],
    bins: int = 10,
    weight: Floats | None = None,
) -> float:
    """Mean gap between confidence and accuracy over equal-width bins, weighted by their size (Guo
    et al. 2017); ``weight`` is that of each row (all equal without it).
    """
    share = np.ones(len(probability)) if weight is None else weight
    index = np.minimum((probability * bins).astype(int), bins - 1)
    gaps = np.bincount(index, weights=share * (probability - correct), minlength=bins)
    return float(np.abs(gaps).sum() / max(share.sum(), 1e-12))


def best_calibration(
    logits: Floats,
    labels: NDArray[np.int64],
    shares: Sequence[float],
    owners: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """The temperature T and the bias b of neutral that minimise the log loss of
    softmax(logits / T + (0, 0, b)).

    Temperature scaling (Guo et al. 2017) with a correction for the classes' shares: rows are
    weighted so that support, oppose and neutral make up ``shares``, those expected where the judge
    will be used. Support and oppose keep one bias, so that a negated statement exchanges them. A
    class without rows has no weight; without any neutral row b is 0. With ``owners`` the logits
    are those of windows, and the loss is that of their texts.
    """
    if owners is None:
        owners = np.arange(len(labels))
    rows, weight = np.arange(len(labels)), class_weights(labels, shares)

    def loss(setting: tuple[float, float]) -> float:
        temperature, bias = setting
        probability = strongest_windows(softmax(logits / temperature + (0.0, 0.0, bias)), owners)
        return float(-(weight * np.log(probability[rows, labels] + 1e-12)).mean())

    biases = np.linspace(-2.0, 4.0, 41) if (labels == 2).any() else np.zeros(1)
    settings = [(float(t), float(b)) for t in np.geomspace(0.3, 5.0, 48) for b in biases]
    return min(settings, key=loss)


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


def class_weights(labels: NDArray[np.int64], shares: Sequence[float]) -> Floats:
    """A weight for each row with which the classes make up ``shares``, on average 1; classes
    without rows leave theirs to the others.
    """
    counts = np.bincount(labels, minlength=len(LABELS))
    weight = (np.asarray(shares, dtype=np.float64) / np.maximum(counts, 1))[labels]
    return np.asarray(weight / weight.mean())


def evaluate(
    logits: Floats, labels: Sequence[str], *, shares: Sequence[float] | None = None
) -> dict[str, float]:
    """Every figure of a three-class judge on labelled pairs, from its (n, 3) logits.

    With ``shares`` the pairs are weighted to these shares of support, oppose and neutral.
    """
    probability = softmax(np.asarray(logits, dtype=np.float64))
    truth = np.array([LABELS.index(label) for label in labels])
    weight = np.ones(len(truth)) if shares is None else class_weights(truth, shares)
    predicted = probability.argmax(axis=1)
    support, side = probability[:, 0], probability[:, 0] - probability[:, 1]
    rest, claimed = truth != 0, predicted == 0
    hits = weight[claimed & ~rest].sum()
    return {
        "pairs": float(len(truth)),
        "accuracy": float(np.average(predicted == truth, weights=weight)),
        "auc_support_rest": auc(support[~rest], support[rest], weight[rest]),
        "auc_support_oppose": auc(side[truth == 0], side[truth == 1]),
        "f1_support": float(2 * hits / max((weight * claimed).sum() + weight[~rest].sum(), 1e-12)),
        "calibration_error": expected_calibration_error(
            probability.max(axis=1), predicted == truth, weight=weight
        ),
    }
