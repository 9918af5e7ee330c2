"""The cascade: what each stage decides, what it costs, what a failing stage leaves."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.testing import HashEmbedder, TableJudge
from perspective_rag.types import Passage, Perspective

PRO = Perspective("pro", "zoos should close", "support", "zoos should close")
CON = Perspective("con", "zoos should not close", "oppose", "zoos should close")
NEAR = Passage("near", "zoos should close at once")
FAR = Passage("far", "butter flour sugar")
SURE = Passage("sure", "close the zoos, they should close")
TABLE = {
    ("near", "pro"): 0.55,
    ("near", "con"): 0.1,
    ("far", "pro"): 0.99,
    ("sure", "pro"): 0.97,
    ("sure", "con"): 0.02,
}


def test_each_stage_gets_only_what_the_one_before_left():
    first = TableJudge(TABLE, threshold=0.4)
    last = TableJudge({("near", "pro"): 0.9}, name="llm")
    judge = CascadeJudge(
        first,
        embedder=HashEmbedder(),
        unrelated_below=0.4,
        llm_judge=last,
        uncertain=(0.2, 0.8),
    )
    book = Recorder()
    found = run(judge.judge([PRO, CON], [NEAR, FAR, SURE]), book)
    # 0.9 lies 4/5 of the way from the model's threshold 0.5 to 1; so it does from 0.4 to 1.
    np.testing.assert_allclose(found, [[0.4 + 0.8 * 0.6, 0.1], [0.0, 0.0], [0.97, 0.02]])
    assert sorted(first.judged) == [
        ("near", "con"), ("near", "pro"), ("sure", "con"), ("sure", "pro"),
    ]  # fmt: skip
    assert last.judged == [("near", "pro")]
    assert {k: v for k, v in book.counts.items() if k.startswith("cascade")} == {
        "cascade_ruled_out": 2,
        "cascade_judged": 4,
        "cascade_uncertain": 1,
    }
    assert judge.threshold == 0.4


@pytest.mark.parametrize(("said", "moved"), [(0.0, 0.0), (0.25, 0.1), (0.5, 0.2), (1.0, 1.0)])
def test_a_verdict_keeps_its_side_of_the_threshold(said, moved):
    first, last = TableJudge(default=0.2, threshold=0.2), TableJudge(default=said)
    judge = CascadeJudge(first, llm_judge=last)
    assert run(judge.judge([PRO], [NEAR]))[0, 0] == pytest.approx(moved)


def test_a_failing_language_model_leaves_the_verdict_before_it():
    first, last = TableJudge(TABLE), TableJudge(failing=frozenset({"near"}))
    book = Recorder()
    found = run(CascadeJudge(first, llm_judge=last).judge([PRO], [NEAR]), book)
    assert found[0, 0] == 0.55
    assert len(book.degradations) == 1


def test_a_failing_judge_leaves_its_pairs_to_the_language_model():
    first, last = TableJudge(failing=frozenset({"sure"})), TableJudge(default=0.9)
    book = Recorder()
    found = run(CascadeJudge(first, llm_judge=last).judge([PRO], [SURE]), book)
    assert found[0, 0] == pytest.approx(0.9)
    assert len(book.degradations) == 1


def test_failing_embeddings_rule_nothing_out():
    class Down(HashEmbedder):
        def embed_queries(self, texts):
            raise ConnectionError("no server")

    book = Recorder()
    judge = CascadeJudge(TableJudge(TABLE), embedder=Down(), unrelated_below=1.0)
    assert run(judge.judge([PRO], [FAR]), book)[0, 0] == 0.99
    assert [d.message for d in book.degradations] == ["nothing could be ruled out by embeddings"]


def test_vectors_that_the_store_holds_are_not_made_again():
    embedder = HashEmbedder()
    known = embedder.embed_passages([NEAR.text])[0]
    embedder.embedded.clear()

    class Store:
        def embeddings_of(self, passages):
            return np.array([known if p.id == "near" else np.full(64, np.nan) for p in passages])

    judge = CascadeJudge(TableJudge(TABLE), embedder=embedder, store=Store(), unrelated_below=0.4)
    found = run(judge.judge([PRO, CON], [NEAR, FAR]))
    assert found[:, 0].tolist() == [0.55, 0.0]
    assert embedder.embedded == [PRO.claim, FAR.text]


@pytest.mark.parametrize("bad", [{"uncertain": (0.9, 0.1)}, {"unrelated_below": 2.0}])
def test_limits_out_of_range_are_refused(bad):
    with pytest.raises(ConfigError):
        CascadeJudge(TableJudge(), **bad)
