"""What ``judge.json`` says: weights of two readings, rules, and how both are stored."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.errors import ConfigError
from perspective_rag.judge.settings import (
    JudgeSettings,
    LargerSettings,
    SideWeights,
    TwoSidedSettings,
    TwoSides,
    Weighing,
    log_odds,
    personal,
)
from perspective_rag.types import ListingRule

BOTH = TwoSides(own=0.8, other=0.7, against=-0.2, rival=-0.3, relevance=2.0, bias=-1.0)
LOGITS = arrays(np.float64, (2, 3), elements=st.floats(-5, 5))


@given(LOGITS, st.floats(0, 1))
def test_two_readings_weigh_as_the_formula_says_and_exchange_with_the_statements(logits, near):
    a, b = logits[:1], logits[1:]
    (s_a, o_a), (s_b, o_b) = (row[:2] - row[2] for row in logits)
    first = 0.8 * s_a + 0.7 * o_b - 0.2 * o_a - 0.3 * s_b + 2.0 * near - 1.0
    second = 0.8 * s_b + 0.7 * o_a - 0.2 * o_b - 0.3 * s_a + 2.0 * near - 1.0
    raised = np.exp([first, second, 0.0])
    cosine = np.array([near])
    found = BOTH.probabilities(a, b, cosine)
    assert np.allclose(found[0], raised / raised.sum())
    assert np.allclose(found[:, [1, 0, 2]], BOTH.probabilities(b, a, cosine))


def test_a_reading_that_failed_stays_nan():
    support, oppose = [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]
    found = BOTH.probabilities(np.array([[np.nan] * 3, support]), np.array([oppose, oppose]))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_a_folder_says_how_its_judge_reads_both_sides(tmp_path):
    def weighed(weights, listing, searching):
        return {"weights": weights.stored(), "listing": listing, "searching": searching}

    stored = {"alone": weighed(BOTH, 0.7, 0.5), "relevant": weighed(TwoSides(own=2.0), 0.8, 0.6)}
    alone = Weighing(BOTH, ListingRule(0.7, 0.5))
    relevant = Weighing(TwoSides(own=2.0), ListingRule(0.8, 0.6))
    assert TwoSidedSettings.of(tmp_path) is None
    for document, expected in (
        ({"threshold": 0.3}, None),
        ({"two_sides": {"alone": stored["alone"]}}, TwoSidedSettings(alone)),
        ({"two_sides": stored}, TwoSidedSettings(alone, relevant)),
    ):
        (tmp_path / "judge.json").write_text(json.dumps(document))
        assert TwoSidedSettings.of(tmp_path) == expected


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
    st.lists(st.floats(-2, 2), min_size=10, max_size=10),
)
def test_side_weights_are_the_formula_and_exchange_with_the_sides(pair, weights):
    own, rival, fast, fast_rival, bias, about, own_about, fast_about, near, usual = weights
    given_, other = np.array([pair]), np.array([[0.3, 0.6]])
    made = SideWeights(*weights)
    x, f = log_odds(given_)[0], log_odds(other)[0]
    expected = own * x[0] + rival * x[1] + fast * f[0] + fast_rival * f[1] + bias
    expected += 2.5 * (about + own_about * x[0] + fast_about * f[0])
    texts = ["I closed zoos here"]
    for cosine, nearer in ((0.7, 0.7 - usual), (np.nan, 0.0)):
        found = made.support(given_, texts, np.array([cosine]), other)
        assert found[0, 0] == pytest.approx(1 / (1 + np.exp(-expected - near * nearer)))
    turned = made.support(given_[:, ::-1], texts, np.array([np.nan]), other[:, ::-1])
    assert turned[0].tolist() == pytest.approx(found[0, ::-1].tolist())


def test_a_text_is_as_personal_as_its_pronouns():
    assert personal("The zoo closed.") == 0.0
    assert personal("We said it’s ours; I’m sure you know") == pytest.approx(10 * 3 / 8)
    assert personal("") == 0.0


def test_the_larger_judges_settings_are_what_was_stored(tmp_path):
    settings = LargerSettings(
        temperature=1.25,
        alone=Weighing(SideWeights(1.1, -0.2), ListingRule(0.9, 0.5, 0.1)),
        beside_fast=Weighing(SideWeights(1.0, 0.0, 0.5), ListingRule(0.8, 0.4)),
        version="1",
    )
    (tmp_path / "judge.json").write_text(settings.document({"base": "b"}), encoding="utf-8")
    assert LargerSettings.of(tmp_path) == settings
    stored = json.loads((tmp_path / "judge.json").read_text(encoding="utf-8"))
    assert stored["provenance"] == {"base": "b"}


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (LargerSettings, {"max_tokens": "many"}),
        (LargerSettings, {"alone": {"weights": {}}}),
        (LargerSettings, {"temperature": 0}),
        (LargerSettings, {"alone": 3}),
        (
            LargerSettings,
            {"alone": {"weights": {"own": 1}, "rule": {"threshold": 2, "leaning": 0}}},
        ),
        (JudgeSettings, {"max_tokens": "many"}),
        (JudgeSettings, {"threshold": None}),
        (JudgeSettings, []),
        (TwoSidedSettings, {"two_sides": {"alone": 3}}),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind, stored, tmp_path):
    (tmp_path / "judge.json").write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"judge\.json"):
        kind.of(tmp_path)
