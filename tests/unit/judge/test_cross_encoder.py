"""The cross-encoder judge: labels, claims, windows, and the model that comes with the package."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cross_encoder import (
    BATCH,
    DEFAULT_MODEL,
    CrossEncoderJudge,
    class_columns,
)
from perspective_rag.judge.settings import JudgeSettings
from perspective_rag.judge.windows import LONGEST
from perspective_rag.types import Passage, Perspective


class WordClassifier:
    """Sure of support where a document holds "yes", of opposition where it holds "no"."""

    def __init__(self, labels=("support", "oppose", "neutral")):
        self.labels = labels
        self.seen = []

    def pieces(self, text, statements):
        return [text]

    def logits(self, documents, statements):
        self.seen += list(zip(documents, statements, strict=True))
        order = class_columns(self.labels)
        rows = np.full((len(documents), len(self.labels)), -5.0)
        for row, text in zip(rows, documents, strict=True):
            words = text.lower().split()
            side = "support" if "yes" in words else "oppose" if "no" in words else "neutral"
            row[order[side]] = 5.0
        return rows


PRO = Perspective("pro", "zoos should close", "support", "zoos should close")
CON = Perspective("con", "zoos should not close", "oppose", "zoos should close")


def passages(*texts):
    return [Passage(str(i), text) for i, text in enumerate(texts)]


def judged(model, perspectives, *texts, **driver):
    return run(CrossEncoderJudge(classifier=model).judge(perspectives, passages(*texts)), **driver)


@pytest.mark.parametrize(
    "labels",
    [
        ("support", "oppose", "neutral"),
        ("contradiction", "entailment", "neutral"),
        ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
        ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
    ],
)
def test_both_sides_of_a_claim_cost_one_pair_and_labels_come_in_any_order(labels):
    model = WordClassifier(labels)
    matrix = judged(model, [PRO, CON], "yes indeed", "no never", "weather")
    assert (matrix > 0.9).tolist() == [[True, False], [False, True], [False, False]]
    assert len(model.seen) == 3


def test_labels_that_mean_nothing_are_refused():
    with pytest.raises(ConfigError, match="id2label"):
        class_columns(["LABEL_0", "LABEL_1", "LABEL_2"])


def test_perspectives_without_a_claim_are_judged_by_their_text():
    model = WordClassifier()
    judged(model, [Perspective("a", "A"), Perspective("b", "B")], "yes")
    assert [statement for _, statement in model.seen] == ["A", "B"]


def test_a_long_passage_is_read_to_its_end():
    model = WordClassifier()
    text = "The weather was fine that day. " * 400 + "And yes it was."
    assert judged(model, [PRO], text)[0, 0] > 0.9
    assert max(len(document.split()) for document, _ in model.seen) <= JudgeSettings().max_words
    assert judged(model, [PRO], "word " * 50_000 + "yes")[0, 0] > 0.9  # one sentence


def test_of_a_very_long_passage_what_has_to_do_with_the_statements_is_read_and_that_is_counted():
    model = WordClassifier()
    others = "The council met on Monday and talked about trams. " * 20_000
    long = f"{others} Zoos should close, yes indeed. {others}"
    recorder = Recorder()
    [[support]] = judged(model, [PRO], long, recorder=recorder)
    assert support > 0.9
    assert sum(len(document) for document, _ in model.seen) <= LONGEST
    assert model.seen[0][0].startswith("The council met")
    assert recorder.counts == {"judged_pairs": 1, "shortened_passages": 1}
    model.seen.clear()
    judged(model, [PRO], "x" * 10 * LONGEST, "yes")
    assert len(model.seen) == 2


@pytest.mark.parametrize(
    "labels", [("support", "oppose", "neutral"), ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")]
)
def test_the_neutral_bias_of_a_folder_multiplies_the_odds_of_neutral(labels, monkeypatch, tmp_path):
    monkeypatch.setattr(CrossEncoderJudge, "_load", lambda judge: WordClassifier(labels))
    found = {}
    for bias in (0.0, 1.5):
        folder = tmp_path / str(bias)
        folder.mkdir()
        (folder / "judge.json").write_text(json.dumps({"temperature": 3.0, "neutral_bias": bias}))
        rows = CrossEncoderJudge(folder).pair_probabilities(["yes", "no", "well"], ["A"] * 3)
        support, oppose = rows["support"], rows["oppose"]
        found[bias] = support, oppose, 1.0 - support - oppose
    plain, biased = found[0.0], found[1.5]
    assert biased[0] / biased[1] == pytest.approx(plain[0] / plain[1])
    assert biased[2] / biased[0] == pytest.approx(np.exp(1.5) * plain[2] / plain[0])


def test_a_threshold_outside_its_range_is_refused():
    with pytest.raises(ConfigError, match="threshold"):
        CrossEncoderJudge(classifier=WordClassifier(), threshold=1.5)


def test_a_folder_that_lacks_a_file_says_which(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    judge = CrossEncoderJudge(tmp_path)
    with pytest.raises(ConfigError, match=r"tokenizer\.json"):
        run(judge.judge([PRO], passages("x")))


# The real model


@pytest.fixture
def judge():
    return CrossEncoderJudge()


def test_the_packages_judge_knows_support_from_opposition(judge):
    claim = "Social media should be banned for children"
    pro = Perspective("support", claim, "support", claim)
    con = Perspective("oppose", "Social media should not be banned for children", "oppose", claim)
    texts = (
        "Social media harms children, and therefore it should be banned for them.",
        "A ban on social media for children is wrong: it must not be introduced.",
        "Butter and flour are mixed before the sugar is added.",
    )
    matrix = run(judge.judge([pro, con], passages(*texts)))
    assert matrix[0, 0] > matrix[0, 1]
    assert matrix[1, 1] > matrix[1, 0]
    assert matrix[2].max() < 0.5


def test_two_sides_that_could_not_be_read_are_nan_and_recorded(judge, monkeypatch):
    monkeypatch.setattr(judge._model(), "logits", lambda documents, statements: 1 / 0)
    recorder = Recorder()
    found = run(judge.judge_sides((PRO, CON), passages("a", "b"), [0.5, 0.5]), recorder)
    assert np.isnan(found).all()
    assert [each.message for each in recorder.degradations] == ["4 of 4 pairs could not be judged"]


def test_the_packages_judge_carries_its_provenance():
    stored = json.loads((DEFAULT_MODEL / "judge.json").read_text(encoding="utf-8"))
    assert {"threshold", "temperature", "provenance"} <= set(stored)
    assert {"base", "data", "date", "development"} <= set(stored["provenance"])
    assert (DEFAULT_MODEL / "model.onnx").stat().st_size < 25_000_000


def test_a_batch_that_runs_into_its_time_limit_costs_no_other():
    free = threading.Event()

    class StuckAtSecond(WordClassifier):
        def logits(self, documents, statements):
            if f"yes {BATCH}" in documents:
                free.wait(20)
            return super().logits(documents, statements)

    recorder = Recorder()
    many = [f"yes {i}" for i in range(3 * BATCH)]
    matrix = judged(StuckAtSecond(), [PRO], *many, recorder=recorder, limits=Limits(0.5))
    free.set()
    assert np.isnan(matrix).sum() == BATCH
    assert (matrix[~np.isnan(matrix)] > 0.9).all()
    assert recorder.counts["judged_pairs"] == 3 * BATCH
    assert f"{BATCH} of {3 * BATCH} pairs" in recorder.degradations[0].message
