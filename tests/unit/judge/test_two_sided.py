"""The judge that reads a passage beside two statements: a stub's answers, and a small ONNX model."""

from __future__ import annotations

import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.settings import (
    LargerSettings,
    SideWeights,
    Weighing,
    log_odds,
    personal,
)
from perspective_rag.judge.two_sided import BATCH, OnnxSides, TwoSidedJudge
from perspective_rag.judge.windows import LONGEST
from perspective_rag.types import ListingRule, Passage, Perspective

PRO, CON = Perspective("pro", "zoos teach"), Perspective("con", "zoos harm")
UNKNOWN = np.full(9, np.nan)


def passages(*texts):
    return [Passage(str(i), text) for i, text in enumerate(texts)]


class SharedWords:
    """Sure of a statement whose last word the text has, of both where it has both."""

    def __init__(self, strength=6.0, first_bias=0.0):
        self.strength, self.first_bias = strength, first_bias
        self.seen = []

    def pieces(self, text, statements):
        return text.split(" | ")

    def logits(self, texts):
        self.seen += texts
        rows = np.zeros((len(texts), 4))
        for row, (one, two, text) in zip(rows, texts, strict=True):
            has = [each.split()[-1] in text.split() for each in (one, two)]
            row[{(True, False): 0, (False, True): 1, (False, False): 2}.get(tuple(has), 3)] = (
                self.strength
            )
            row[0] += self.first_bias
        return rows


def judge(model, **settings):
    return TwoSidedJudge("none", classifier=model, settings=LargerSettings(**settings))


def test_a_passage_is_read_once_beside_both_sides():
    model = SharedWords()
    texts = passages("they teach", "they harm", "weather", "they teach and harm")
    found = run(judge(model).judge_sides((PRO, CON), texts, UNKNOWN[:4]))
    assert (found > 0.9).tolist() == [[True, False], [False, True], [False, False], [True, True]]
    assert len([each for each in model.seen if each[2] == "they teach"]) == 1


def test_one_that_is_close_is_read_in_the_other_order_too_and_both_count():
    model = SharedWords(strength=0.5, first_bias=0.3)
    found = run(judge(model, close=2.0).judge_sides((PRO, CON), passages("weather"), UNKNOWN[:1]))
    assert len(model.seen) == 2
    assert found[0, 0] == pytest.approx(found[0, 1])  # the bias towards the first place is gone


@given(st.booleans(), st.floats(-3, 3), st.sampled_from(["teach", "harm", "rain", "teach harm"]))
def test_exchanging_the_sides_exchanges_the_columns(swap, bias, text):
    model = judge(SharedWords(strength=2.0, first_bias=bias), close=1.0)
    one = run(model.judge_sides((PRO, CON), passages(text), UNKNOWN[:1]))
    two = run(model.judge_sides((CON, PRO), passages(text), UNKNOWN[:1]))
    assert one[0].tolist() == two[0, ::-1].tolist()


def test_a_long_passage_counts_by_its_strongest_window():
    found = run(
        judge(SharedWords()).judge_sides(
            (PRO, CON), passages("weather | they harm | weather", "they teach | they harm"), [0, 0]
        )
    )
    assert (found > 0.9).tolist() == [[False, True], [True, True]]


def test_one_statement_is_read_beside_its_negation():
    model = SharedWords()
    denying = TwoSidedJudge(
        "none", classifier=model, settings=LargerSettings(), negate=lambda text: f"{text} not"
    )
    claim = [Perspective("s", "zoos teach", "support", "zoos teach"),
             Perspective("o", "zoos do not teach", "oppose", "zoos teach")]  # fmt: skip
    texts = passages("they teach", "they do not")
    support = run(denying.judge_pairs([claim[0], claim[1]], [texts[0], texts[1]]))
    assert (support > 0.9).tolist() == [True, True]
    assert {each[:2] for each in model.seen} == {("zoos teach", "zoos teach not")}


def test_of_three_each_is_read_beside_the_likeliest_of_the_rest():
    three = [PRO, CON, Perspective("third", "zoos bore")]
    model = SharedWords()
    found = run(judge(model).judge(three, passages("they bore")))
    assert (found > 0.9).tolist() == [[False, False, True]]
    beside = {frozenset(each[:2]) for each in model.seen}
    assert frozenset(("zoos bore", "zoos teach")) in beside
    assert frozenset(("zoos bore", "zoos harm")) in beside


def test_equal_texts_are_read_once():
    model = SharedWords()
    found = run(judge(model).judge_sides((PRO, CON), passages(*["they teach"] * 5), UNKNOWN[:5]))
    assert len(model.seen) == 1
    assert (found[:, 0] > 0.9).all()


def test_nothing_to_judge_costs_nothing():
    model = SharedWords()
    assert run(judge(model).judge_sides((PRO, CON), [], UNKNOWN[:0])).shape == (0, 2)
    assert run(judge(model).judge([], passages("x"))).shape == (1, 0)
    assert model.seen == []


class Stuck(SharedWords):
    """Does not come back from the second batch."""

    def __init__(self):
        super().__init__()
        self.free = threading.Event()
        self.batches = 0

    def logits(self, texts):
        self.batches += 1
        if self.batches == 2:
            self.free.wait(20)
        return super().logits(texts)


def test_a_batch_that_runs_into_its_time_limit_costs_no_other():
    model = Stuck()
    recorder = Recorder()
    many = passages(*[f"they teach {i:03}" for i in range(3 * BATCH)])
    found = run(
        judge(model, close=0.0).judge_sides((PRO, CON), many, np.full(len(many), np.nan)),
        recorder,
        Limits(timeout=0.5),
    )
    model.free.set()
    assert np.isnan(found).any(axis=1).sum() == BATCH
    assert (found[~np.isnan(found).any(axis=1), 0] > 0.9).all()
    assert "8 of 24 pairs" in recorder.degradations[0].message


class Broken(SharedWords):
    def logits(self, texts):
        raise RuntimeError("no memory")


def test_a_model_that_fails_is_asked_twice_and_recorded():
    recorder = Recorder()
    many = passages(*map(str, range(5 * BATCH)))
    found = run(judge(Broken()).judge_sides((PRO, CON), many, UNKNOWN), recorder)
    assert np.isnan(found).all()
    assert recorder.calls["judge"] == 2
    with pytest.raises(JudgeError, match="no memory"):
        run(judge(Broken()).judge_sides((PRO, CON), many, UNKNOWN), Recorder(strict=True))


def test_numbers_that_are_not_finite_are_not_judged():
    class Infinite(SharedWords):
        def logits(self, texts):
            return super().logits(texts) * np.inf

    recorder = Recorder()
    assert np.isnan(
        run(judge(Infinite()).judge_sides((PRO, CON), passages("a"), [0]), recorder)
    ).all()
    assert recorder.degradations


def test_read_again_weighs_the_earlier_reading():
    beside = Weighing(SideWeights(own=1.0, fast=1.0), ListingRule(0.8, 0.4))
    settings = LargerSettings(beside_fast=beside)
    model = TwoSidedJudge("none", classifier=SharedWords(strength=1.0), settings=settings)
    first = np.array([[0.99, 0.01], [0.01, 0.99], [np.nan, np.nan]])
    found = run(model.read_again([(PRO, CON)] * 3, passages(*["they teach"] * 3), first))
    assert found[0, 0] > 0.95
    assert found[1, 0] < 0.5
    assert found[1, 0] < found[2, 0] < found[0, 0]
    assert model.second_listing == beside.rule


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
    st.lists(st.floats(-2, 2), min_size=8, max_size=8),
)
def test_side_weights_are_the_formula_and_exchange_with_the_sides(pair, weights):
    own, rival, fast, fast_rival, bias, about, own_about, fast_about = weights
    given_, other = np.array([pair]), np.array([[0.3, 0.6]])
    made = SideWeights(*weights)
    x, f = log_odds(given_)[0], log_odds(other)[0]
    expected = own * x[0] + rival * x[1] + fast * f[0] + fast_rival * f[1] + bias
    expected += 2.5 * (about + own_about * x[0] + fast_about * f[0])
    texts = ["I closed zoos here"]
    found = made.support(given_, texts, other)
    assert found[0, 0] == pytest.approx(1 / (1 + np.exp(-expected)))
    turned = made.support(given_[:, ::-1], texts, other[:, ::-1])
    assert turned[0].tolist() == pytest.approx(found[0, ::-1].tolist())


def test_a_text_is_as_personal_as_its_pronouns():
    assert personal("The zoo closed.") == 0.0
    assert personal("We said it’s ours; I’m sure you know") == pytest.approx(10 * 3 / 8)
    assert personal("") == 0.0


def test_settings_are_what_was_stored(tmp_path):
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
    "stored",
    [{"max_tokens": "many"}, {"alone": {"weights": {}}}, {"temperature": 0}, {"alone": 3},
     {"alone": {"weights": {"own": 1}, "rule": {"threshold": 2, "leaning": 0}}}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(stored, tmp_path):
    (tmp_path / "judge.json").write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(ConfigError):
        LargerSettings.of(tmp_path)


def test_the_model_reads_both_statements_and_the_text(small_larger_judge):
    found = run(
        TwoSidedJudge(small_larger_judge).judge_sides(
            (Perspective("a", "zoos teach children"), Perspective("b", "animals suffer there")),
            passages("children learn: zoos teach", "animals suffer", "trams"),
            UNKNOWN[:3],
        )
    )
    assert found[0, 0] > 0.9 > found[0, 1]
    assert found[1, 1] > 0.9 > found[1, 0]
    assert found[2].max() < 0.3


def test_the_input_is_what_was_trained(small_larger_judge):
    model = OnnxSides(small_larger_judge, threads=1)
    ids = model.ids("zoos teach", "zoos", "zoos </s> teach")
    start, end = ids[0], ids[-1]
    assert ids.count(end) == 3  # a separator in the text is text
    assert ids[:3] == [start, *model.ids("", "", "zoos teach")[3:5]]
    most = model.settings.max_tokens
    assert len(model.ids("zoos " * 99, "teach " * 99, "children " * 999)) == most


def test_the_end_of_a_long_passage_is_read(small_larger_judge):
    text = "trams run here. " * 200 + "zoos teach children."
    found = run(
        TwoSidedJudge(small_larger_judge).judge_sides(
            (Perspective("a", "zoos teach children"), Perspective("b", "animals suffer there")),
            passages(text), [0.0],
        )
    )  # fmt: skip
    assert found[0, 0] > 0.9
    model = OnnxSides(small_larger_judge)
    assert sum(map(len, model.pieces("trams run. " * 9_000, ("a", "b")))) <= LONGEST


def test_it_can_be_sent_to_another_process(small_larger_judge):
    model = TwoSidedJudge(small_larger_judge)
    sides = Perspective("a", "zoos teach"), Perspective("b", "animals suffer")
    before = run(model.judge_sides(sides, passages("zoos teach"), [0.0]))
    again = pickle.loads(pickle.dumps(model))
    assert run(again.judge_sides(sides, passages("zoos teach"), [0.0])).tolist() == before.tolist()
    assert again.revision == model.revision


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.onnx is missing"):
        run(TwoSidedJudge(tmp_path).judge_sides((PRO, CON), passages("a"), [0.0]))
