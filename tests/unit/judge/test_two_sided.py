"""The judge that reads a passage beside two statements: a stub's answers, and a small ONNX model."""

from __future__ import annotations

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
from perspective_rag.judge.settings import LargerSettings, SideWeights, Weighing
from perspective_rag.judge.two_sided import BATCH, OnnxSides, TwoSidedJudge
from perspective_rag.judge.windows import LONGEST
from perspective_rag.types import ListingRule, Passage, Perspective

PRO, CON = Perspective("pro", "zoos teach"), Perspective("con", "zoos harm")
REAL = Perspective("a", "zoos teach children"), Perspective("b", "animals suffer there")


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


def read(reader, *texts, sides=(PRO, CON), first=None, relevance=None, **driver):
    passages = [Passage(str(i), text) for i, text in enumerate(texts)]
    known = np.full((len(texts), 2), np.nan) if first is None else np.array(first)
    near = np.full(len(texts), np.nan) if relevance is None else np.array(relevance)
    return run(reader.read_again([sides] * len(texts), passages, known, near), **driver)


def test_a_passage_is_read_beside_both_sides_and_equal_ones_once():
    model = SharedWords()
    texts = ["they teach", "they harm", "weather", "they teach and harm", "they teach"]
    found = read(judge(model), *texts)
    assert (found > 0.9).tolist() == [
        [True, False], [False, True], [False, False], [True, True], [True, False],
    ]  # fmt: skip
    assert len([each for each in model.seen if each[2] == "they teach"]) == 1


def test_one_that_is_close_is_read_in_the_other_order_too_and_both_count():
    model = SharedWords(strength=0.5, first_bias=0.3)
    found = read(judge(model, close=2.0), "weather")
    assert len(model.seen) == 2
    assert found[0, 0] == pytest.approx(found[0, 1])  # the bias towards the first place is gone


@given(st.floats(-3, 3), st.sampled_from(["teach", "harm", "rain", "teach harm"]))
def test_exchanging_the_sides_exchanges_the_columns(bias, text):
    reader = judge(SharedWords(strength=2.0, first_bias=bias), close=1.0)
    one, two = read(reader, text), read(reader, text, sides=(CON, PRO))
    assert one[0].tolist() == two[0, ::-1].tolist()


def test_a_long_passage_counts_by_its_strongest_window():
    found = read(judge(SharedWords()), "weather | they harm | weather", "they teach | they harm")
    assert (found > 0.9).tolist() == [[False, True], [True, True]]


def test_one_statement_is_read_beside_its_negation():
    model = SharedWords()
    read(judge(model), "they teach", sides=(PRO, None))
    assert set(model.seen[0][:2]) == {"zoos teach", "It is not true that zoos teach."}


def test_the_earlier_reading_counts():
    beside = Weighing(SideWeights(own=1.0, fast=1.0), ListingRule(0.8, 0.4))
    reader = judge(SharedWords(strength=1.0), beside_fast=beside)
    first = [[0.99, 0.01], [0.01, 0.99], [np.nan, np.nan]]
    found = read(reader, *["they teach"] * 3, first=first)
    assert found[0, 0] > 0.95
    assert found[1, 0] < 0.5
    assert found[1, 0] < found[2, 0] < found[0, 0]
    assert reader.second_listing == beside.rule


def test_what_is_nearer_to_the_question_counts_more_beside_an_earlier_reading():
    beside = Weighing(SideWeights(own=1.0, relevance=4.0, usual=0.5), ListingRule(0.8, 0.4))
    reader = judge(SharedWords(strength=1.0), beside_fast=beside)
    texts, near = ["they teach"] * 3, [0.8, 0.2, np.nan]
    found = read(reader, *texts, first=[[0.5, 0.5]] * 3, relevance=near)[:, 0]
    assert found[1] < found[2] < found[0]
    unread = read(reader, *texts, relevance=near)[:, 0]
    assert unread[0] == unread[1] == unread[2]


def test_a_batch_that_runs_into_its_time_limit_costs_no_other():
    free = threading.Event()

    class Stuck(SharedWords):
        def logits(self, texts):
            if texts[0][2].endswith(f"{BATCH:03}"):
                free.wait(20)
            return super().logits(texts)

    recorder = Recorder()
    many = [f"they teach {i:03}" for i in range(3 * BATCH)]
    limits = Limits(timeout=0.5)
    found = read(judge(Stuck(), close=0.0), *many, recorder=recorder, limits=limits)
    free.set()
    assert np.isnan(found).any(axis=1).sum() == BATCH
    assert (found[~np.isnan(found).any(axis=1), 0] > 0.9).all()
    assert "8 of 24 pairs" in recorder.degradations[0].message


def test_a_model_that_fails_is_asked_twice_and_recorded():
    class Broken(SharedWords):
        def logits(self, texts):
            raise RuntimeError("no memory")

    recorder = Recorder()
    many = list(map(str, range(5 * BATCH)))
    assert np.isnan(read(judge(Broken()), *many, recorder=recorder)).all()
    assert recorder.calls["second_reading"] == 2
    with pytest.raises(JudgeError, match="no memory"):
        read(judge(Broken()), *many, recorder=Recorder(strict=True))


def test_numbers_that_are_not_finite_are_not_judged():
    recorder = Recorder()
    assert np.isnan(read(judge(SharedWords(strength=np.inf)), "a", recorder=recorder)).all()
    assert recorder.degradations


def test_the_model_reads_both_statements_and_all_of_a_text(small_larger_judge):
    texts = ["children learn: zoos teach", "animals suffer", "trams",
             "trams run here. " * 200 + "zoos teach children."]  # fmt: skip
    found = read(TwoSidedJudge(small_larger_judge), *texts, sides=REAL)
    assert found[0, 0] > 0.9 > found[0, 1]
    assert found[1, 1] > 0.9 > found[1, 0]
    assert found[2].max() < 0.3
    assert found[3, 0] > 0.9
    pieces = OnnxSides(small_larger_judge).pieces("trams run. " * 9_000, ("a", "b"))
    assert sum(map(len, pieces)) <= LONGEST


def test_the_input_is_what_was_trained(small_larger_judge):
    model = OnnxSides(small_larger_judge, threads=1)
    ids = model.ids("zoos teach", "zoos", "zoos </s> teach")
    start, end = ids[0], ids[-1]
    assert ids.count(end) == 3  # a separator in the text is text
    assert ids[:3] == [start, *model.ids("", "", "zoos teach")[3:5]]
    most = model.settings.max_tokens
    assert len(model.ids("zoos " * 99, "teach " * 99, "children " * 999)) == most


def test_it_can_be_sent_to_another_process(small_larger_judge):
    model = TwoSidedJudge(small_larger_judge)
    before = read(model, "zoos teach", sides=REAL)
    again = pickle.loads(pickle.dumps(model))
    assert read(again, "zoos teach", sides=REAL).tolist() == before.tolist()


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.onnx is missing"):
        read(TwoSidedJudge(tmp_path), "a")
