"""The packaged weights of the larger judge, on sides that nobody doubts."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.debates.experiment import measure, read_asked, read_labels
from perspective_rag import Corpus, Passage, Perspective, local_pipeline, run
from perspective_rag.local.wrapping import PACKAGE, larger_judge

FOR = Perspective("support", "Private cars should be banned from city centres")
AGAINST = Perspective("oppose", "Private cars should not be banned from city centres")
TEXTS = {
    "for": "Private cars should be banned: they kill children and foul the air.",
    "against": "Private cars must not be banned; that would be unfair to people who need them.",
}


@pytest.fixture
def judge(monkeypatch):
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "addons" / "judge")
    larger_judge.cache_clear()
    yield larger_judge()
    larger_judge.cache_clear()
    sys.modules.pop(PACKAGE, None)


def test_each_text_is_on_its_side_whatever_the_order(judge):
    passages = [Passage(name, text) for name, text in TEXTS.items()]
    unknown = np.full((2, 2), np.nan)
    one = run(judge.read_again([(FOR, AGAINST)] * 2, passages, unknown, unknown[:, 0]))
    two = run(judge.read_again([(AGAINST, FOR)] * 2, passages, unknown, unknown[:, 0]))
    assert one[0, 0] > 0.5 > 0.2 > one[0, 1]
    assert one[1, 1] > 0.5 > 0.2 > one[1, 0]
    np.testing.assert_allclose(one, two[:, ::-1], atol=0.15)


@pytest.mark.slow
def test_what_it_lists_in_the_sample_debates_is_right(judge):
    """The debates are the demonstration. Where new weights misread one, write the sample again."""
    own = [each for each in read_asked() if not each.reworded]
    pipeline = local_pipeline(Corpus.example(), discover=2)
    assert pipeline.second_judge is judge
    found = measure(pipeline, own, read_labels())
    assert [line for row in found["rows"] for line in row["wrong"]] == []
    assert sum(row["every_side"] for row in found["rows"]) >= 11
