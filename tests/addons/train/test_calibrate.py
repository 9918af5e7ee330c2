"""Floors and thresholds for an encoder of one's own: known answers, marks, the file, the pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from perspective_rag import ConfigError, CorpusError, Passage, local_pipeline
from perspective_rag.cli import main
from perspective_rag.options import Calibration
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import PACKAGED
from perspective_rag_train.calibrate.asking import TwoSided
from perspective_rag_train.calibrate.calibrate import Calibrator, sides_of
from perspective_rag_train.calibrate.fit import Marked, floor_of, listing_of, scale_of
from perspective_rag_train.calibrate.marks import Row, chosen, read_rows, write_rows
from tests.calibration_samples import OWN, RULE, Shifted, SidesJudge, corpus


def marked(chance, true, *, cosine=None, questions=10):
    chance = np.asarray(chance, dtype=float)
    count = len(chance)
    return Marked(
        np.column_stack([chance, np.zeros(count)]),
        np.column_stack([true, np.zeros(count)]).astype(bool),
        np.full(count, 0.6) if cosine is None else np.asarray(cosine, dtype=float),
        np.ones(count),
        np.arange(count) % questions,
    )


def test_the_scale_is_the_line_between_both_encoders():
    generator = np.random.default_rng(1)
    packaged = generator.uniform(0.0, 0.8, 400)
    scale = scale_of(0.5 + 0.4 * packaged, packaged, np.arange(400) // 10, seed=3)
    assert scale.floor.passage == pytest.approx(0.5 + 0.4 * PACKAGED.passage)
    assert scale.floor.topic == pytest.approx(0.5 + 0.4 * PACKAGED.topic)
    assert scale.correlation == pytest.approx(1.0)
    noisy = 0.5 + 0.4 * packaged + generator.normal(0, 0.05, 400)
    unsure = scale_of(noisy, packaged, np.arange(400) // 10, seed=3)
    assert unsure.passage.low < unsure.floor.passage < unsure.passage.high
    assert abs(unsure.floor.passage - scale.floor.passage) < 0.03


def test_few_marks_move_no_threshold():
    assert listing_of(marked([0.9] * 19, [1] * 19), RULE, seed=1) is None


def test_a_judge_that_is_right_here_lists_more_and_one_that_is_wrong_lists_less():
    generator = np.random.default_rng(5)
    chance = generator.uniform(0.02, 0.98, 300)
    as_it_says = listing_of(marked(chance, generator.uniform(size=300) < chance), RULE, seed=1)
    better = listing_of(marked(chance, chance > 0.4), RULE, seed=1)
    worse = listing_of(marked(chance, generator.uniform(size=300) < chance * 0.5), RULE, seed=1)
    assert better.rule.threshold < as_it_says.rule.threshold < worse.rule.threshold
    assert better.true.mean > 0.85
    assert as_it_says.true.mean == pytest.approx(0.85, abs=0.06)
    for each in (better, as_it_says, worse):
        assert each.threshold.low <= each.rule.threshold <= each.threshold.high
        assert each.rule.leaning <= each.rule.threshold
    assert as_it_says.rule.leaning == pytest.approx(RULE.leaning, abs=0.12)


def test_more_marks_make_it_surer():
    generator = np.random.default_rng(6)

    def width(count):
        chance = generator.uniform(0.02, 0.98, count)
        true = generator.uniform(size=count) < chance
        found = listing_of(marked(chance, true, questions=count), RULE, seed=1)
        return found.threshold.high - found.threshold.low

    assert width(500) < width(40)


def test_the_floor_keeps_the_passages_with_a_side_and_is_believed_by_their_number():
    near = np.linspace(0.3, 0.9, 200)
    floor = floor_of(marked(near, np.ones(200), cosine=near), OWN, seed=1)
    assert OWN.passage > floor.floor.passage > near[8] - 1e-9
    assert floor.floor.passage == pytest.approx(near[8], abs=0.05)
    few = floor_of(marked(near[:2], np.ones(2), cosine=near[:2]), OWN, seed=1)
    assert few.floor.passage > floor.floor.passage  # two marks move it little
    none = floor_of(marked(near, np.zeros(200), cosine=near), OWN, seed=1)
    assert none.floor == OWN


def test_most_pairs_to_mark_come_from_where_thresholds_lie():
    chances = [0.1] * 800 + [0.5] * 150 + [0.9] * 50
    picks = chosen(chances, (0.33, 0.77), 100, seed=1)
    assert len(picks) == len({i for i, _ in picks}) == 100
    counts = [sum(low <= chances[i] < low + 0.35 for i, _ in picks) for low in (0.0, 0.4, 0.8)]
    assert counts == [30, 30, 40]
    assert sum(weight for _, weight in picks) == pytest.approx(1000)
    assert len(chosen([0.1] * 5, (0.3, 0.7), 100, seed=1)) == 5
    assert chosen(chances, (0.33, 0.77), 100, seed=1) == picks


def test_marks_are_read_back_and_never_written_over(tmp_path):
    path = tmp_path / "marks.jsonl"
    row = Row("Zoos?", ("Yes", "No"), Passage("a", "Text.", {"title": "T"}), 2.5)
    write_rows([row, row], path)
    assert "probability" not in path.read_text()
    assert '"mark": ""' in path.read_text()
    with pytest.raises(ConfigError, match="not written over"):
        write_rows([row], path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["mark"] = "For "
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = read_rows(path)
    assert (first.mark, second.mark) == ("for", "")
    assert (first.question, first.sides, first.stands_for) == (row.question, row.sides, 2.5)
    lines[1]["mark"] = "maybe"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(CorpusError, match=r"marks.jsonl:2: mark must be one of for, against"):
        read_rows(path)


SIDES = ("Zoos are good", "Zoos are not good")


def calibrator(embedder, **more):
    pipeline = local_pipeline(corpus(), embedder=embedder, judge=SidesJudge())
    return Calibrator(pipeline, "mine", HashEmbedder(), **more)


def test_without_marks_the_scale_is_moved_and_the_judge_keeps_its_rule():
    made = calibrator(Shifted())
    scale = made.scale(corpus().passages, [])
    assert scale.floor.passage == pytest.approx(0.5 + 0.5 * PACKAGED.passage, abs=1e-5)
    found = made.calibration(scale, [], {"corpus": "x"})
    assert found.listing is None
    assert found.floor == found.scale == scale.floor
    assert found.provenance["corpus"] == "x"
    assert found.provenance["marks"]["marked"] == 0
    json.dumps(found.to_dict(), allow_nan=False)


def test_marks_set_threshold_and_floor_and_say_how_sure():
    made = calibrator(Shifted())
    scale = made.scale(corpus().passages, [])
    rows = made.to_mark([TwoSided("Are zoos good?", sides_of(SIDES))], scale.floor, 40)
    assert 20 <= len(rows) <= 40
    assert not any(row.mark for row in rows)
    words = {"pro": "for", "con": "against"}
    by_hand = [
        Row(r.question, r.sides, r.passage, r.stands_for, words[r.passage.text.split()[0]])
        for r in rows
    ]
    found = made.calibration(scale, [*by_hand[:-1], rows[-1]], {})
    assert found.provenance["marks"]["marked"] == len(rows) - 1
    assert found.listing.threshold < RULE.threshold  # all of it was true
    sure = found.provenance["listing"]["threshold"]
    assert sure["low"] <= found.listing.threshold <= sure["high"]


@pytest.mark.parametrize("encoder", ["default", "test_calibrate:Shifted"])
def test_the_command_writes_what_is_to_be_marked_and_goes_on_from_it(
    tmp_path, capsys, monkeypatch, encoder
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    source = tmp_path / "corpus.jsonl"
    source.write_text(
        "".join(json.dumps({"id": p.id, "text": p.text}) + "\n" for p in corpus(30).passages)
    )
    questions = tmp_path / "questions.txt"
    questions.write_text("Should zoos be closed?\nWhat is a zoo?\n")
    command = [
        "calibrate",
        f"--corpus={source}",
        f"--cache={tmp_path / 'cache'}",
        f"--encoder={encoder}",
        "--judge=test_calibrate:SidesJudge",
        f"--questions={questions}",
        "--marks=marks.jsonl",
        "--pairs=25",
    ]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "left out, not two sides: What is a zoo?" in shown
    assert "To mark: 25 of 25 lines in marks.jsonl" in shown
    assert "Listing thresholds are the judge's own" in shown
    rows = [json.loads(line) for line in Path("marks.jsonl").read_text().splitlines()]
    for row in rows[:22]:
        row["mark"] = "for" if row["text"].startswith("pro") else "against"
    Path("marks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "To mark: 3 of 25 lines" in shown
    assert "P(support) from which it is listed" in shown
    made = Calibration.of("calibration.json")
    assert made.provenance["marks"]["marked"] == 22
    assert made.listing is not None
    assert made.floor != PACKAGED
