"""What sets a judge's settings: pairs as they are, and as a retriever finds them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perspective_rag_train import command, export
from perspective_rag_train.data import LabelledPair

SURE, LESS_SURE = 3.0, 0.5


class Unsure:
    """A classifier that is less sure of long documents."""

    labels = ("support", "oppose", "neutral")

    def __init__(self, folder, *, max_tokens):
        self.read = []

    def pieces(self, window, beside):
        return [window]

    def logits(self, documents, statements):
        rows = []
        for document, statement in zip(documents, statements, strict=True):
            height = SURE if len(document.split()) < 20 else LESS_SURE
            column = 0 if f"agrees with {statement}." in document else 2
            rows.append([height * (column == each) for each in range(3)])
        return np.array(rows)


PAIRS = [
    LabelledPair(f"Somebody {does} {2 * n + i}. Nothing else.", str(2 * n + i), label)
    for n in range(20)
    for i, (does, label) in enumerate((("agrees with", "support"), ("has heard of", "neutral")))
]


def said(height, settings):
    """P(support) as a judge with these settings returns it, for a logit of ``height`` and two 0."""
    support, neutral = np.exp(height / settings.temperature), np.exp(settings.neutral_bias)
    return support / (support + 1 + neutral)


def test_the_threshold_fits_passages_as_long_as_retrieved_ones(monkeypatch, tmp_path):
    monkeypatch.setattr(export, "OnnxClassifier", Unsure)
    settings, measured = export.calibrated(
        tmp_path, PAIRS, max_tokens=64, max_words=150, calibration_words=100
    )
    assert settings.threshold <= said(LESS_SURE, settings) + 1e-3
    assert measured["development"]["auc_support_rest"] == 1.0
    longer = measured["development in text of 100 words"]
    assert longer.keys() == measured["development"].keys()
    assert measured["development"]["pairs"] == len(PAIRS)
    # Set on the pairs as they are alone it would refuse every longer one.
    alone, figures = export.calibrated(tmp_path, PAIRS, max_tokens=64, max_words=150)
    assert said(LESS_SURE, alone) < alone.threshold <= said(SURE, alone) + 1e-3
    assert "development in text of 100 words" not in figures


def test_the_same_pairs_give_the_same_settings(monkeypatch, tmp_path):
    monkeypatch.setattr(export, "OnnxClassifier", Unsure)
    once, again = (
        export.calibrated(tmp_path, PAIRS, max_tokens=64, max_words=150, calibration_words=100)
        for _ in range(2)
    )
    assert repr(once) == repr(again)  # NaN where no pair opposes
    assert once[0].max_words == 150
    assert once[1]["thresholds"][export.RETRIEVED] == pytest.approx(once[0].threshold)


def test_evaluation_can_read_documents_within_other_text(monkeypatch, tmp_path):
    read = []

    class Reading:
        def __init__(self, model):
            pass

        def pair_probabilities(self, documents, statements):
            read.append(documents)
            right = np.array(
                [f"with {s}." in d for d, s in zip(documents, statements, strict=True)]
            )
            return {"support": 0.9 * right, "oppose": 0.05 * np.ones(len(right))}

    monkeypatch.setattr(command, "CrossEncoderJudge", Reading)
    path = tmp_path / "pairs.jsonl"
    rows = [{"document": p.document, "statement": p.statement, "label": p.label} for p in PAIRS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = [command.DataFile(path)]
    as_they_are = command.evaluate_judge(None, data)
    longer = command.evaluate_judge(None, data, words=60)
    assert read[0] == [pair.document for pair in PAIRS]
    assert {len(document.split()) for document in read[1]} == {60}
    assert all(own.document in found for own, found in zip(PAIRS, read[1], strict=True))
    assert as_they_are["all"]["auc_support_rest"] == longer["all"]["auc_support_rest"] == 1.0
