"""A judge on labelled pools: what is true for which side, figures of folds left out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perspective_rag.errors import CorpusError
from perspective_rag_train.pools import (
    Pool,
    Readings,
    at_precision,
    aucs,
    calibrated_alone,
    cross_fitted,
    intervals,
    listed,
    one_sided,
    read_pools,
    reliability,
    report,
    threshold_for,
)

MEANT = {"S": (3, -1, 0), "s": (2, 0, 0), "N": (-1, -1, 2), "o": (0, 2, 0), "O": (-1, 3, 0)}
MIRRORED = {"S": "O", "s": "o", "N": "N", "o": "s", "O": "S", "M": "M"}


def made(noise, questions=10, seed=0):
    """Readings of a judge that says what the labels say, with noise."""
    rng = np.random.default_rng(seed)
    labels = np.array(list("SsNNNNoO") * questions)
    exact = np.array([[MEANT[a], MEANT[MIRRORED[a]]] for a in labels], dtype=float)
    question = np.repeat(np.arange(questions), 8)
    return Readings(
        exact + noise * rng.normal(size=exact.shape),
        labels,
        question,
        question % 5,
        rng.uniform(size=len(labels)),
    )


def test_pools_are_read_and_what_is_none_is_named(tmp_path):
    path = tmp_path / "pools.jsonl"
    query = {
        "kind": "query",
        "question": "Zoos?",
        "statement": "Close zoos.",
        "opposite": "Keep zoos.",
        "fold": 2,
        "labels": {"d": "s"},
    }
    doc = {"kind": "doc", "id": "d", "text": "Cages are small.", "title": "", "source": ""}
    path.write_text(json.dumps(doc) + "\n" + json.dumps(query))
    assert read_pools(path) == [
        Pool("Zoos?", "Close zoos.", "Keep zoos.", 2, (("Cages are small.", "s"),))
    ]
    path.write_text(json.dumps({**query, "labels": {"gone": "s"}}))
    with pytest.raises(CorpusError, match=r"pools\.jsonl:1"):
        read_pools(path)


def test_readings_stand_in_the_order_of_the_pools():
    pools = [
        Pool("a", "A", "B", 0, (("one", "S"), ("two", "M"))),
        Pool("b", "C", "D", 3, (("three", "N"),)),
    ]
    seen = []

    def logits(documents, statements):
        seen.append(list(zip(documents, statements, strict=True)))
        return np.full((len(documents), 3), float(len(seen)))

    found = Readings.of(pools, logits)
    assert seen[0] == [("one", "A"), ("two", "A"), ("three", "C")]
    assert seen[1] == [("one", "B"), ("two", "B"), ("three", "D")]
    assert found.logits[:, 0].tolist() == [[1.0] * 3] * 3
    assert found.fold.tolist() == [0, 0, 3]
    assert found.true(0).tolist() == [True, True, False]
    assert found.true(1).tolist() == [False, True, False]


def test_a_judge_that_knows_is_perfect_and_one_that_guesses_is_not():
    sure = made(0.01)
    found, _ = cross_fitted(sure, cosine=False)
    assert all(value == pytest.approx(1.0) for value in aucs(found, sure).values())
    guessing = made(30.0)
    found, _ = cross_fitted(guessing, cosine=True)
    figures = aucs(found, guessing)
    assert figures["support / opposing"] < 0.75
    low, high = intervals(found, guessing, draws=40)["support / rest"]
    assert low < figures["support / rest"] < high


def test_the_threshold_has_the_precision_asked_for():
    readings = made(1.5, questions=60)
    found, _ = cross_fitted(readings, cosine=False)
    everything = np.ones(len(found), dtype=bool)
    threshold = threshold_for(found, readings, 0.85, everything)
    score, right = listed(found, readings)
    assert right[score >= threshold].mean() >= 0.85
    assert threshold_for(found, readings, 1.01, everything) == float("inf")
    row = at_precision(found, readings, 0.85)
    assert row["true"] > 0.7
    assert 0 < row["listed"] < len(score)


def test_probabilities_fitted_on_other_folds_are_about_true():
    readings = made(1.5, questions=200)
    found, _ = cross_fitted(readings, cosine=False)
    for row in reliability(found, readings):
        if row["passages"] >= 100:
            assert row["shown"] == pytest.approx(row["true"], abs=0.1)


def test_one_statement_alone_is_calibrated_on_both_readings():
    readings = made(1.0, questions=40)
    temperature, bias, threshold = calibrated_alone(readings)
    support = one_sided(readings, temperature, bias)[:, 0]
    truth = readings.true(0)
    assert np.mean((support >= threshold) == truth) > 0.8


def test_the_report_has_every_figure_of_every_view():
    readings = made(1.0)
    found, _ = cross_fitted(readings, cosine=False)
    view = report(readings, {"two": found})["two"]
    assert set(view) == {"auc", "intervals", "listing", "searching", "reliability"}
