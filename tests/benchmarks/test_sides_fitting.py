"""What is fitted on other folds, and what the shown probabilities are worth."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.sides.calibration import (
    Pair,
    bins,
    calibration_figures,
    cross_calibrated,
    order_figures,
    shown_pairs,
)
from benchmarks.sides.data import read_pools
from benchmarks.sides.reading import Outcome, Shown
from benchmarks.sides.rows import LEAST, PRECISION, by_both, by_precision
from benchmarks.sides.running import cross_fitted
from tests.benchmarks.sides_samples import write_pools


@pytest.fixture
def questions(tmp_path):
    """Six questions, two in each of the folds 0, 1 and 2."""
    return read_pools(write_pools(tmp_path).path).questions


def test_a_setting_is_chosen_without_the_fold_it_is_used_on(questions):
    seen = []

    def score(outcomes, asked):
        assert len(outcomes) == len(asked)
        seen.append({each.fold for each in asked})
        return (float(sum(outcome.seconds for outcome in outcomes)),)

    # "own" shines on fold 0 alone, "others" everywhere else: fold 0 must get "others".
    settings = {
        "own": [Outcome((), seconds=100.0 if q.fold == 0 else 0.0) for q in questions],
        "others": [Outcome((), seconds=0.0 if q.fold == 0 else 1.0) for q in questions],
    }
    found = cross_fitted(settings, questions, score)
    assert found.chosen == {0: "others", 1: "own", 2: "own"}
    assert [outcome.seconds for outcome in found.outcomes] == [0.0] * 6
    assert seen == [{1, 2}] * 2 + [{0, 2}] * 2 + [{0, 1}] * 2


def test_of_equal_settings_the_first_is_taken(questions):
    settings = {name: [Outcome(())] * len(questions) for name in ("first", "second")}
    found = cross_fitted(settings, questions, by_both)
    assert set(found.chosen.values()) == {"first"}


def test_a_listing_threshold_is_precise_first_and_generous_then(questions):
    def listing_of(true, wrong):
        question = questions[0]
        names = [name for name, label in question.labels.items() if label in "Ss"][:true]
        silent = [name for name, label in question.labels.items() if label == "N"][:wrong]
        return Outcome((), True, tuple(Shown("statement", n, 0.9, True) for n in names + silent))

    exact, more = listing_of(1, 0), listing_of(5, 0)
    loose, worse = listing_of(6, 3), listing_of(1, 3)
    asked = [questions[0]] * LEAST
    values = [by_precision([each] * LEAST, asked) for each in (more, exact, loose, worse)]
    assert values == sorted(values, reverse=True)
    assert values[1] > values[2]
    # However precise: from a handful nothing can be told.
    assert by_precision([exact], asked[:1]) < by_precision([worse] * LEAST, asked)
    assert by_precision([], []) < values[-1]
    assert 0.5 < PRECISION < 1.0


def test_calibration_is_fitted_on_the_other_folds():
    # Fold 0 says the reverse of the others: what is fitted must follow the others there.
    generator = np.random.default_rng(13)
    probability = generator.uniform(0.05, 0.95, size=3000)
    folds = np.arange(3000) % 3
    true = generator.uniform(size=3000) < probability**2
    fitted = cross_calibrated(probability, true, folds)
    gap = np.abs(fitted - probability**2)
    assert gap.mean() < 0.05
    turned = np.where(folds == 0, ~true, true)
    again = cross_calibrated(probability, turned, folds)
    assert np.allclose(again[folds == 0], fitted[folds == 0])
    assert not np.allclose(again[folds == 1], fitted[folds == 1])


def test_classes_that_can_be_parted_do_not_run_away():
    probability = np.array([0.1, 0.2, 0.8, 0.9] * 3)
    fitted = cross_calibrated(probability, probability > 0.5, np.repeat([0, 1, 2], 4))
    assert np.isfinite(fitted).all()
    assert ((fitted > 0.5) == (probability > 0.5)).all()
    alone = cross_calibrated(probability, probability > 0.5, np.zeros(12, dtype=int))
    assert np.allclose(alone, probability)


def test_bins_hold_counts_means_and_shares():
    found = bins(np.array([0.05, 0.92, 0.98, 1.0]), np.array([False, True, True, False]))
    assert found == [
        {"count": 1, "shown": 0.05, "true": 0.0},
        {"count": 3, "shown": pytest.approx(0.9667, abs=1e-4), "true": 0.6667},
    ]


def test_order_and_error_of_pairs_with_known_answers():
    pairs = [
        Pair(fold, "statement", "p", probability, kind)
        for fold in (0, 1)
        for probability, kind in ((1.0, "true"), (0.0, "silent"), (0.0, "opposing"))
    ]
    assert order_figures(pairs) == {"support_against_rest": 1.0, "support_against_opposing": 1.0}
    found = calibration_figures(pairs)
    assert (found["pairs"], found["share_true"], found["error"]) == (6, 0.3333, 0.0)
    reverse = [Pair(0, "statement", "p", 0.2, "true"), Pair(0, "statement", "p", 0.8, "silent")]
    assert order_figures(reverse) == {
        "support_against_rest": 0.0,
        "support_against_opposing": None,
    }


def test_only_what_was_judged_for_a_side_is_calibrated(questions):
    shown = (
        Shown("statement", "zoos-0", 0.9, True),
        Shown("opposite", "zoos-0", None, False),
        Shown("other", "zoos-0", 0.9, True),
    )
    [pair] = shown_pairs([Outcome(("zoos-0",), True, shown)], questions[:1])
    assert (pair.probability, pair.verdict, pair.fold) == (0.9, "true", 0)
