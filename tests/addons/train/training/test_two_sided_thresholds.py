"""Thresholds of the larger judge: fitted on some questions, measured on others."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from perspective_rag.judge.settings import LargerSettings
from perspective_rag.types import ListingRule
from perspective_rag_train.two_sided.pools import FOLDS, READ_AGAIN, Read, pools, readings
from perspective_rag_train.two_sided.thresholds import (
    NEVER,
    Cells,
    _by_chance,
    by_set,
    cross_fitted,
    decided,
    fit,
    fitted,
)

SETS = ("one", "other")


def reads(larger_knows=True, fast_knows=False, n=600):
    """Passages of three labels; a judge that knows is right nine times of ten."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        label = "SON"[i % 3]

        def says(knows, label=label):
            if not knows:
                return tuple(rng.uniform(0.05, 0.9, 2).tolist())
            shown = label if rng.random() < 0.97 else rng.choice(list("SON"))
            high, low = rng.uniform(0.7, 0.95), rng.uniform(0.02, 0.2)
            return {"S": (high, low), "O": (low, high), "N": (low, low)}[shown]

        found.append(
            Read(SETS[i % 2], f"q{i // 10}", f"p{i}", (i // 10) % FOLDS, label, 0.6,
                 says(fast_knows), "zoos teach", says(larger_knows))
        )  # fmt: skip
    return found


def test_a_judge_that_knows_lists_most_and_one_that_does_not_lists_nothing():
    figures = cross_fitted(Cells.of(reads()), "both")
    for name in SETS:
        assert figures[name]["true"] >= 0.88
        assert figures[name]["opposing"] <= 0.03
        assert figures[name]["recall"] > 0.85
    assert fitted(Cells.of(reads(larger_knows=False)), "both").rule == NEVER


def test_every_set_must_be_sound():
    rows = reads()
    rng = np.random.default_rng(1)
    spoilt = [
        replace(each, larger=tuple(rng.uniform(0, 1, 2))) if each.set == "other" else each
        for each in rows
    ]
    figures = by_set(Cells.of(spoilt), np.asarray(Cells.of(spoilt).larger > 0.6))
    assert figures["other"]["true"] < 0.5 < figures["one"]["true"]
    chosen = fitted(Cells.of(spoilt), "larger")
    assert chosen.rule.threshold > fitted(Cells.of(rows), "larger").rule.threshold


@pytest.mark.parametrize(
    ("n", "share", "most"),
    [(0, 0.12, 0), (10, 0.5, 6), (14, 0.12, 3), (22, 0.03, 1), (300, 0.12, 41)],
)
def test_chance_brings_so_many_in_four_cases_of_five(n, share, most):
    drawn = np.random.default_rng(4).binomial(n, share, 40_000)
    assert _by_chance(n, share) == most
    assert (drawn <= most).mean() >= 0.79
    assert most == 0 or (drawn <= most - 1).mean() < 0.81


def test_the_weights_are_those_that_made_the_labels():
    rng = np.random.default_rng(2)
    odds = rng.normal(0, 2, (8000, 2))
    cosines = rng.random(8000)
    evidence = 1.5 * odds - 0.5 * odds[:, ::-1] - 0.3 + 2.0 * (cosines[:, None] - 0.5)
    truth = rng.random((8000, 2)) < 1 / (1 + np.exp(-evidence))
    cells = Cells(
        np.array(["a"] * 8000), np.zeros(8000, int), np.array(["zoos teach", "I like zoos"] * 4000),
        cosines,
        1 / (1 + np.exp(-odds)), rng.random((8000, 2)), truth, ~truth,
    )  # fmt: skip
    found = fit(cells, "both", ridge=0.0)
    assert (found.own, found.rival, found.bias) == pytest.approx((1.5, -0.5, -0.3), abs=0.12)
    assert (found.relevance, found.usual) == pytest.approx((2.0, 0.5), abs=0.2)
    assert (found.fast, found.fast_rival) == pytest.approx((0.0, 0.0), abs=0.12)
    alone = fit(cells, "larger", ridge=0.0)
    assert (alone.fast, alone.fast_rival, alone.relevance) == (0.0, 0.0, 0.0)


def test_labels_count_for_the_side_that_they_support():
    row = reads(n=1)[0]
    cells = Cells.of([replace(row, label=label, larger=None) for label in "SsNoOM"])
    assert cells.true.tolist() == [
        [True, False], [True, False], [False, False], [False, True], [False, True], [True, True],
    ]  # fmt: skip
    assert cells.opposing.tolist() == [
        [False, True], [False, True], [False, False], [True, False], [True, False], [False, False],
    ]  # fmt: skip
    assert not cells.read.any()


def test_what_was_fitted_is_stored_with_the_model(tmp_path):
    (tmp_path / "judge.json").write_text(LargerSettings().document({"base": "b"}), "utf-8")
    found = decided(Cells.of(reads()), tmp_path)
    settings = LargerSettings.of(tmp_path)
    assert settings.beside_fast is not None
    assert settings.beside_fast.rule != NEVER
    assert isinstance(settings.alone.rule, ListingRule)
    stored = json.loads((tmp_path / "judge.json").read_text(encoding="utf-8"))["provenance"]
    assert stored["base"] == "b"
    assert stored["thresholds, cross-fitted"]["both"] == found["both"]


@pytest.fixture
def data(tmp_path):
    """A data folder with two small pools and a collection of notes."""
    (tmp_path / "judge_retrieved").mkdir()
    (tmp_path / "own_notes").mkdir()
    texts = [
        {"kind": "doc", "id": f"d{i}", "title": "", "text": f"zoos teach children {i}"}
        for i in range(15)
    ]
    query = {"kind": "query", "id": "q", "question": "Do zoos teach children?", "fold": 1,
             "statement": "zoos teach", "opposite": "animals suffer",
             "labels": {f"d{i}": "S" for i in range(15)}}  # fmt: skip
    for name in ("pools_dev", "pools_open_dev"):
        write(tmp_path / "judge_retrieved" / f"{name}.jsonl.gz", [*texts, query])
    write(
        tmp_path / "own_notes" / "dev_docs.jsonl", [{"id": "n", "title": "", "text": "trams run"}]
    )
    note = {"id": "q", "collection": "c", "question": "Trams?", "for": "trams run", "against": "not",
            "labels": {"n": "N"}}  # fmt: skip
    write(tmp_path / "own_notes" / "dev_questions.jsonl", [note])
    return tmp_path


def write(path, rows):
    import gzip

    text = "".join(json.dumps(row) + "\n" for row in rows)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(text)


def test_the_likeliest_are_read_again_and_nothing_twice(data, small_larger_judge, tmp_path):
    assert [pool.set for pool in pools(data)] == ["pools_dev", "pools_open_dev", "own_notes"]
    kept = tmp_path / "kept"
    found = readings(small_larger_judge, data, kept)
    again = [each for each in found if each.larger is not None and each.set == "pools_dev"]
    assert len(again) == READ_AGAIN
    assert min(max(each.fast) for each in again) >= max(
        max(each.fast) for each in found if each.set == "pools_dev" and each.larger is None
    )
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert readings(small_larger_judge, data, kept) == found
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
