"""What the larger judge says of rows, as lines that the fast judge's training reads."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perspective_rag_train.data import read_pairs
from perspective_rag_train.two_sided.label import label

SAID = {"a": [0.7, 0.1, 0.2, 0.0], "b": [0.1, 0.2, 0.3, 0.4]}


def test_every_row_is_two_lines_and_a_file_goes_on_where_it_ends(tmp_path):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "soft.jsonl"
    texts = [{"statement": "zoos teach", "opposite": "zoos harm", "document": d} for d in "ab"]
    asked: list[str] = []

    def read(triples):
        asked.extend(text for *_, text in triples)
        return np.array([SAID[text] for *_, text in triples])

    rows.write_text(json.dumps(texts[0]) + "\n", encoding="utf-8")
    assert label(read, rows, out) == 1
    rows.write_text("".join(json.dumps(each) + "\n" for each in texts), encoding="utf-8")
    assert label(read, rows, out) == 2
    assert asked == ["a", "b"]
    pairs = read_pairs([out])
    assert [(p.document, p.statement) for p in pairs] == [
        ("a", "zoos teach"), ("a", "zoos harm"), ("b", "zoos teach"), ("b", "zoos harm"),
    ]  # fmt: skip
    assert pairs[0].probabilities == pytest.approx((0.7, 0.1, 0.2))
    assert pairs[1].probabilities == pytest.approx((0.1, 0.7, 0.2))
    assert pairs[2].probabilities == pytest.approx((0.3, 0.4, 0.3))
