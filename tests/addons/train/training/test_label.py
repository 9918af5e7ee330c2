"""Soft labels of a teacher: what training reads, and going on after an interruption."""

from __future__ import annotations

import gzip
import json
import math
import re

import numpy as np
import pytest

from perspective_rag.cli import main
from perspective_rag.errors import ConfigError, CorpusError, JudgeError
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag_train.data import read_pairs
from perspective_rag_train.label import label_pairs


class Teacher:
    """Support where the statement's first word is in the document, oppose where "not" is."""

    labels = ("entailment", "contradiction", "neutral")

    def __init__(self):
        self.judged = 0

    def pieces(self, text, statements):
        return [text]

    def logits(self, documents, statements):
        self.judged += len(documents)
        return np.log(
            [
                [0.1, 0.7, 0.2]
                if "not" in d
                else [0.6, 0.1, 0.3]
                if s.split()[0] in d
                else [0.1] * 3
                for d, s in zip(documents, statements, strict=True)
            ]
        )


def judge(classifier):
    return CrossEncoderJudge(classifier=classifier, temperature=1.0)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl.gz"
    rows = [
        {"document": "zoos teach", "statement": "zoos are good", "topic": "zoos", "label": "x"},
        {"document": "zoos do not", "statement": "zoos are good"},
        {"document": "ünrelated", "statement": "zoos are good"},
    ]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_teachers_shares_are_what_training_reads(pairs, tmp_path):
    out = tmp_path / "new" / "soft.jsonl"
    assert label_pairs(judge(Teacher()), [pairs], out) == 3
    first, second, third = read_pairs([out])
    assert (first.label, second.label) == ("support", "oppose")
    assert first.probabilities == pytest.approx((0.6, 0.1, 0.3), abs=1e-4)
    assert third.probabilities == pytest.approx((1 / 3, 1 / 3, 1 / 3), abs=1e-4)
    assert (first.topic, third.document) == ("zoos", "ünrelated")


def test_a_run_that_was_killed_goes_on_and_repeats_nothing(pairs, tmp_path):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    label_pairs(judge(Teacher()), [pairs], whole)
    torn.write_bytes(whole.read_bytes()[:-20])
    teacher, told = Teacher(), []
    assert label_pairs(judge(teacher), [pairs], torn, progress=told.append) == 3
    assert teacher.judged == 1
    assert told == [3]
    assert torn.read_bytes() == whole.read_bytes()
    assert label_pairs(judge(teacher), [pairs], torn) == 3
    assert teacher.judged == 1


def test_lines_of_another_teacher_are_not_taken_for_this_ones(pairs, tmp_path):
    out = tmp_path / "soft"
    label_pairs(judge(Teacher()), [pairs], out)
    other = CrossEncoderJudge(classifier=Teacher(), temperature=2.0)
    with pytest.raises(ConfigError, match="line 1"):
        label_pairs(other, [pairs], out)


def test_a_line_without_the_texts_and_a_teacher_without_an_answer_are_errors(pairs, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"document": "a"}\n')
    with pytest.raises(CorpusError, match=r"bad.jsonl:1: expected a document and a statement"):
        label_pairs(judge(Teacher()), [bad], tmp_path / "soft")

    class Sick(Teacher):
        def logits(self, documents, statements):
            return np.full((len(documents), 3), math.nan)

    with pytest.raises(JudgeError, match="no finite answer for 'zoos teach'"):
        label_pairs(judge(Sick()), [pairs], tmp_path / "soft")


def test_the_command(pairs, tmp_path, capsys):
    out = tmp_path / "soft.jsonl"
    assert main(["judge", "label", str(pairs), "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": str(out), "pairs": 3}
    assert len(read_pairs([out])) == 3


@pytest.mark.parametrize("command", ["eval", "label"])
@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("zephyr-7b", "answers in words.*perspective_detection --judge zephyr-7b"),
        ("llm:mine@http://localhost:1/v1", "answers in words: needed is a classifier"),
        ("deberta-v3-large-nil", "did you mean 'deberta-v3-large-nli'"),
        ("./nowhere", "nowhere does not exist"),
    ],
)
def test_a_model_that_cannot_be_asked_is_said_with_what_can(tmp_path, capsys, command, model, says):
    data = tmp_path / "pairs.jsonl"
    data.write_text(json.dumps({"document": "a b", "statement": "a", "label": "support"}) + "\n")
    out = ["--out", str(tmp_path / "out.jsonl")] if command == "label" else []
    assert main(["judge", command, str(data), "--model", model, *out]) == 2
    assert re.search(says, capsys.readouterr().err)
