"""Two readings of a passage, one verdict."""

from __future__ import annotations

import json

import numpy as np

from perspective_rag.judge.cross_encoder import TwoSidedSettings, TwoSides, Weighed

SUPPORT, OPPOSE, SILENT = [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]
BOTH = TwoSides(own=0.8, other=0.7, against=-0.2, rival=-0.3, relevance=2.0, bias=-1.0)


def rows(*readings):
    return np.array(readings, dtype=float)


def test_rows_are_probabilities():
    found = BOTH.probabilities(rows(SUPPORT, SILENT), rows(OPPOSE, SILENT))
    assert found.shape == (2, 3)
    assert np.allclose(found.sum(axis=1), 1.0)


def test_the_formula_is_the_one_documented():
    a, b = rows([1.0, -0.5, 0.25]), rows([-0.75, 2.0, 0.5])
    s_a, o_a, s_b, o_b = 0.75, -0.75, -1.25, 1.5
    first = 0.8 * s_a + 0.7 * o_b - 0.2 * o_a - 0.3 * s_b + 2.0 * 0.4 - 1.0
    second = 0.8 * s_b + 0.7 * o_a - 0.2 * o_b - 0.3 * s_a + 2.0 * 0.4 - 1.0
    raised = np.exp([first, second, 0.0])
    assert np.allclose(BOTH.probabilities(a, b, np.array([0.4]))[0], raised / raised.sum())


def test_exchanging_the_statements_exchanges_their_probabilities():
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(9, 3)), rng.normal(size=(9, 3)), rng.normal(size=9)
    assert np.allclose(BOTH.probabilities(a, b, c)[:, [1, 0, 2]], BOTH.probabilities(b, a, c))


def test_two_readings_that_agree_are_surer_than_one():
    agreed = BOTH.probabilities(rows(SUPPORT), rows(OPPOSE))[0, 0]
    alone = BOTH.probabilities(rows(SUPPORT), rows(SILENT))[0, 0]
    torn = BOTH.probabilities(rows(SUPPORT), rows(SUPPORT))[0, 0]
    assert agreed > alone
    assert agreed > torn


def test_a_reading_that_failed_stays_nan():
    found = BOTH.probabilities(rows([np.nan] * 3, SUPPORT), rows(OPPOSE, OPPOSE))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_the_stored_weights_come_back():
    assert TwoSides.of(BOTH.stored()) == BOTH
    assert TwoSides.of({"own": 2.0, "unknown": 1.0}) == TwoSides(own=2.0)


def test_a_folder_says_how_its_judge_reads_both_sides(tmp_path):
    alone, relevant = Weighed(BOTH, 0.7, 0.5), Weighed(TwoSides(), 0.8, 0.6)
    assert TwoSidedSettings.of(tmp_path) is None
    judge = tmp_path / "judge.json"
    judge.write_text(json.dumps({"threshold": 0.3}))
    assert TwoSidedSettings.of(tmp_path) is None
    judge.write_text(json.dumps({"two_sides": {"alone": alone.stored()}}))
    assert TwoSidedSettings.of(tmp_path) == TwoSidedSettings(alone)
    both = {"alone": alone.stored(), "relevant": relevant.stored()}
    judge.write_text(json.dumps({"two_sides": both}))
    assert TwoSidedSettings.of(tmp_path) == TwoSidedSettings(alone, relevant)
