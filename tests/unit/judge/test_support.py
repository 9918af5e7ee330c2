"""Judging best first, and two sides together: order, budget, early stop, failures, scales."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.settings import TwoSides
from perspective_rag.judge.support import (
    BATCH,
    coverage_of,
    judge_best_first,
    quotas,
    read_passages,
    rule_for,
)
from perspective_rag.testing import TableJudge
from perspective_rag.types import (
    PACKAGED,
    Candidate,
    ListingRule,
    Passage,
    Perspective,
    RelevanceFloor,
)

PRO, CON = Perspective("pro", "yes"), Perspective("con", "no")


def candidates(n):
    return [Candidate(Passage(f"d{i}", f"text {i}"), 1.0 / (i + 1)) for i in range(n)]


def judged(judge, n, k=2, limit=100, book=None, strict=False):
    flow = judge_best_first(
        judge,
        [PRO, CON],
        candidates(n),
        k=k,
        limit=limit,
        rule=ListingRule(judge.threshold, judge.threshold),
    )
    return run(flow, book or Recorder(strict=strict))


def test_stops_as_soon_as_k_passages_cover_everything():
    judge = TableJudge({("d1", "pro"): 0.9, ("d2", "con"): 0.8})
    result = judged(judge, 100)
    assert len(judge.judged) == 2 * BATCH
    assert [bool(c.support) for c in result] == [True] * BATCH + [False] * (100 - BATCH)


def test_goes_on_until_the_rare_side_is_found():
    judge = TableJudge({("d0", "pro"): 0.9, ("d30", "con"): 0.8})
    result = judged(judge, 100)
    assert result[30].support["con"] == 0.8
    assert len(judge.judged) < 2 * 100


def test_never_judges_more_than_the_limit_and_nothing_twice():
    judge = TableJudge(default=0.1)
    first = judged(judge, 100, limit=13)
    assert len({passage for passage, _ in judge.judged}) == 13
    run(judge_best_first(judge, [PRO, CON], first[:13], k=2, limit=9, rule=ListingRule(0.5, 0.5)))
    assert len(judge.judged) == len(set(judge.judged)) == 26


def test_a_failing_batch_stays_unjudged_is_recorded_and_the_next_is_judged():
    judge = TableJudge({("d9", "pro"): 0.9}, failing=frozenset({"d0"}))
    book = Recorder()
    result = judged(judge, 3 * BATCH, book=book)
    assert all(not c.support for c in result[:BATCH])
    assert result[9].support == {"pro": 0.9, "con": 0.0}
    assert [d.stage for d in book.degradations] == ["judge"]


@pytest.mark.parametrize("failing", [frozenset({"d0", "d8"}), None])
def test_two_batches_in_a_row_without_a_verdict_end_it(failing):
    judge = TableJudge(default=math.nan) if failing is None else TableJudge(failing=failing)
    book = Recorder()
    judged(judge, 5 * BATCH, book=book)
    assert len(book.degradations) == (0 if failing is None else 2)
    assert len(judge.judged) == 2 * BATCH * 2


def test_strict_mode_raises():
    with pytest.raises(JudgeError, match="table"):
        judged(TableJudge(failing=frozenset({"d0"})), 3, strict=True)


@pytest.mark.parametrize("bad", [np.full((3, 1), 0.5), np.full((3, 2), 1.5), np.full((2, 2), 0.5)])
def test_a_judge_that_returns_nonsense_is_recorded(bad):
    class Nonsense(TableJudge):
        def judge(self, perspectives, passages):
            return bad
            yield

    book = Recorder()
    result = judged(Nonsense(), 3, book=book)
    assert all(not c.support for c in result)
    assert len(book.degradations) == 1


def test_nan_means_not_judged_never_no():
    class Unsure(TableJudge):
        def judge(self, perspectives, passages):
            return np.array([[0.9, math.nan]] * len(passages))
            yield

    result = judged(Unsure(), 2)
    assert result[0].support == {"pro": 0.9}
    coverage = coverage_of(result, [PRO, CON], ListingRule(0.5, 0.5))
    assert coverage.covered == (PRO,)
    assert coverage.unjudged == (CON,)
    assert coverage.missing == ()


def test_missing_means_judged_everywhere_and_found_nowhere():
    result = judged(TableJudge({("d0", "pro"): 0.5}), 2)
    coverage = coverage_of(result, [PRO, CON], ListingRule(0.5, 0.5))
    assert (coverage.covered, coverage.missing, coverage.unjudged) == ((PRO,), (CON,), ())
    assert not coverage.complete
    assert coverage.to_dict()["missing"] == ["con"]


def test_shares_become_places_without_rounding_errors():
    sides = [Perspective("a", "A", share=0.3), Perspective("b", "B", share=0.21)]
    assert quotas(sides, 10) == [3, 3]
    assert quotas(sides, 1) == [1, 1]
    assert quotas([Perspective("a", "A")], 50) == [1]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match="share"):
            Perspective("a", "A", share=wrong)


def test_what_is_found_later_is_judged_where_an_earlier_candidate_reached_the_topic():
    """A guard's find need not reach the topic itself, only be about the question as a passage."""
    floor = RelevanceFloor(topic=0.6, passage=0.3)

    def with_relevance(relevance):
        return Candidate(Passage(f"r{relevance}", "text"), 1.0, scores={"relevance": relevance})

    def read(found, beside):
        judge = TableJudge()
        flow = judge_best_first(
            judge, [PRO, CON], found, k=2, limit=9, rule=None, floor=floor, beside=beside
        )
        result = run(flow, Recorder())
        assert [c.passage.id for c in result] == [c.passage.id for c in found]
        return {passage for passage, _ in judge.judged}

    found = [with_relevance(0.5), with_relevance(0.2)]
    assert read(found, [with_relevance(0.7)]) == {"r0.5"}
    assert read(found, [with_relevance(0.55)]) == set()
    assert read(found, []) == set()


# Two sides

SIDES = (Perspective("pro", "Zoos teach."), Perspective("con", "Zoos do not teach."))
RELEVANT = {"weights": {"relevance": 2.0, "bias": -1.0}, "listing": 0.8, "searching": 0.5}
ALONE = {"weights": {"own": 1.0}, "listing": 0.7, "searching": 0.4}

read = partial(read_passages, scale=PACKAGED)


def near_ones(*texts, relevance=0.5):
    scores = {} if relevance is None else {"relevance": relevance}
    return [Candidate(Passage(str(i), t), 1.0, scores) for i, t in enumerate(texts)]


class Classifier:
    """Support where the passage repeats the statement, opposition where it says "not so"."""

    labels = ("neutral", "support", "oppose")

    def __init__(self):
        self.read = 0

    def pieces(self, text, statements):
        return [text]

    def logits(self, documents, statements):
        self.read += len(documents)
        return np.array(
            [
                [0.0, 3.0 * (s in d), 3.0 * ("not so" in d)]
                for d, s in zip(documents, statements, strict=True)
            ]
        )


def reading_judge(tmp_path):
    """A judge whose folder says how two sides are read, with a model that needs no file."""
    stored = {"threshold": 0.4, "two_sides": {"alone": ALONE, "relevant": RELEVANT}}
    (tmp_path / "judge.json").write_text(json.dumps(stored))
    judge = CrossEncoderJudge(tmp_path)
    judge._classifier = Classifier()
    return judge


def expected(text, relevance, weighed):
    model = Classifier()
    rows = [model.logits([text], [side.text])[:, [1, 2, 0]] for side in SIDES]
    cosine = None if relevance is None else np.array([relevance])
    return TwoSides(**weighed["weights"]).probabilities(*rows, cosine)[0, :2]


def test_a_passage_is_read_beside_both_statements_with_its_relevance(tmp_path):
    texts = ["Zoos teach. Really.", "They say: not so.", "Tickets."]
    judge, book = reading_judge(tmp_path), Recorder()
    table = run(read(judge, SIDES, near_ones(*texts), exclusive=True), book)
    np.testing.assert_allclose(table, [expected(t, 0.5, RELEVANT) for t in texts])
    assert book.counts["judged_pairs"] == 6
    assert table[0, 0] > table[0, 1]
    claim = SIDES[0].text
    stances = Perspective("s", claim, "support", claim), Perspective("o", "not", "oppose", claim)
    both = run(read(judge, stances, near_ones(texts[0])))
    assert not np.isnan(both).any()
    assert rule_for(judge, stances) == ListingRule(0.8, 0.5)


def test_sides_that_do_not_exclude_each_other_are_read_one_by_one(tmp_path):
    judge = reading_judge(tmp_path)
    book = Recorder()
    run(read(judge, SIDES, near_ones("Zoos teach.")), book)
    assert book.counts["judged_pairs"] == 2
    assert rule_for(judge, SIDES) == judge.listing
    assert rule_for(judge, SIDES, exclusive=True) == ListingRule(0.8, 0.5)
    assert rule_for(judge, SIDES, exclusive=True, min_support=0.3) == ListingRule(0.3, 0.3)


def test_without_relevance_the_thresholds_keep_their_meaning(tmp_path):
    judge = reading_judge(tmp_path)
    table = run(read(judge, SIDES, near_ones("Zoos teach.", relevance=None), exclusive=True))
    alone = expected("Zoos teach.", None, ALONE)
    np.testing.assert_allclose(table[0], np.interp(alone, [0, 0.4, 0.7, 1], [0, 0.5, 0.8, 1]))


def test_cosines_of_unknown_meaning_are_not_told(tmp_path):
    judge, found = reading_judge(tmp_path), near_ones("Zoos teach.", relevance=0.9)
    unknown = run(read_passages(judge, SIDES, found, exclusive=True))
    without = run(read(judge, SIDES, near_ones("Zoos teach.", relevance=None), exclusive=True))
    np.testing.assert_array_equal(unknown, without)
    other = RelevanceFloor(0.6, 0.8)  # the same spread, a quarter higher
    moved = run(read_passages(judge, SIDES, found, exclusive=True, scale=other))
    same = run(read(judge, SIDES, near_ones("Zoos teach.", relevance=0.65), exclusive=True))
    np.testing.assert_allclose(moved, same)
