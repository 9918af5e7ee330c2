"""The figures of a judge, against hand-made cases and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag_train.data import LABELS
from perspective_rag_train.metrics import (
    auc,
    best_calibration,
    best_threshold,
    class_weights,
    evaluate,
    f1,
    softmax,
    strongest_windows,
)

SCORES = st.lists(st.integers(0, 8), min_size=2, max_size=12)


def test_auc_counts_ties_half():
    assert auc(np.array([3.0, 1.0]), np.array([2.0, 1.0])) == pytest.approx(0.625)
    assert np.isnan(auc(np.array([]), np.array([1.0])))


@given(SCORES, SCORES)
def test_auc_is_the_share_of_pairs_in_the_right_order(positive, negative):
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    found = auc(np.array(positive, dtype=float), np.array(negative, dtype=float))
    assert found == pytest.approx(np.mean(pairs))


@given(SCORES, st.integers(1, 2**12 - 1), st.sampled_from([0.5, 1.0]), st.sampled_from([None, 0.2]))
def test_no_threshold_is_better_than_the_best(scores, labels, beta, share):
    score = np.array(scores, dtype=float)
    positive = np.array([bool(labels >> i & 1) for i in range(len(scores))])
    if positive.all() or not positive.any():
        return
    weight = 1.0 if share is None else share / (1 - share) * (~positive).sum() / positive.sum()

    def value(threshold):
        taken = score >= threshold
        hits, wrong = weight * (taken & positive).sum(), (taken & ~positive).sum()
        return (1 + beta**2) * hits / (beta**2 * weight * positive.sum() + hits + wrong)

    found = best_threshold(score, positive, beta, positive_share=share)
    assert value(found) == pytest.approx(max(value(each) for each in score))


def test_the_rarer_positives_are_the_higher_the_threshold():
    score = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    positive = np.array([True, False, True, True, False, True])
    assert best_threshold(score, positive, 1.0) == 0.4
    assert best_threshold(score, positive, 1.0, positive_share=0.1) == 0.9


def test_a_text_is_as_supportive_as_its_strongest_window():
    windows = np.array([[0.7, 0.1, 0.2], [0.1, 0.2, 0.7], [0.2, 0.2, 0.6]])
    texts = strongest_windows(windows, np.array([0, 0, 1]))
    assert texts == pytest.approx(np.array([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]]))


def drawn(logits, rng):
    return np.array([rng.choice(3, p=row) for row in softmax(logits)])


@pytest.mark.slow
def test_calibration_undoes_what_the_logits_were_multiplied_with():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4000, 3)) * 1.5
    labels = drawn(logits, rng)
    shares = np.bincount(labels) / len(labels)
    temperature, bias = best_calibration(logits * 2.0, labels, shares)
    assert temperature == pytest.approx(2.0, rel=0.15)
    assert abs(bias) < 0.15


@pytest.mark.slow
def test_calibration_corrects_the_shares_of_the_classes():
    """Bayes: with twice the odds of neutral in use, its logit needs log 2 more."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(6000, 3)) * 1.5
    labels = drawn(logits, rng)
    support, oppose, neutral = np.bincount(labels) / len(labels)
    shares = np.array([support, oppose, 2 * neutral]) / (support + oppose + 2 * neutral)
    temperature, bias = best_calibration(logits, labels, shares)
    assert temperature == pytest.approx(1.0, rel=0.15)
    assert bias == pytest.approx(np.log(2), abs=0.15)
    weighted = softmax(logits + np.array([0.0, 0.0, np.log(2)]))
    as_used = evaluate(np.log(weighted), [LABELS[i] for i in labels], shares=shares)
    as_drawn = evaluate(np.log(weighted), [LABELS[i] for i in labels])
    assert as_used["calibration_error"] < 0.03 < as_drawn["calibration_error"]
    assert as_used["accuracy"] > as_drawn["accuracy"]


def test_a_class_without_rows_does_not_upset_the_calibration():
    logits = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.5, 0.0, 0.0]] * 20)
    temperature, bias = best_calibration(logits, np.array([0, 1, 1] * 20), (0.2, 0.2, 0.6))
    assert bias == 0.0
    assert np.isfinite(temperature)


@given(
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=40),
    st.tuples(*[st.floats(0.05, 1.0)] * 3),
)
def test_weights_give_every_class_its_share(labels, shares):
    truth = np.array([LABELS.index(label) for label in labels])
    weight = class_weights(truth, shares)
    assert weight.mean() == pytest.approx(1.0)
    present = sorted(set(truth))
    total = sum(shares[i] for i in present)
    for i in present:
        assert weight[truth == i].sum() / weight.sum() == pytest.approx(shares[i] / total)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=12),
)
def test_a_weight_of_n_counts_like_n_rows(positive, negative):
    scores, weights = (np.array(each, dtype=float) for each in zip(*negative, strict=True))
    expanded = np.repeat(scores, weights.astype(int))
    pairs = [(p > n) + (p == n) / 2 for p in positive for n in expanded]
    assert auc(np.array(positive, float), scores, weights) == pytest.approx(np.mean(pairs))


def test_f1_of_nothing_is_zero():
    assert f1(np.array([False]), np.array([False])) == 0.0
    assert f1(np.array([True, True]), np.array([True, False])) == pytest.approx(2 / 3)
