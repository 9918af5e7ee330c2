"""Two contradicting sides are read together where a judge can, and each by itself where it cannot."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cache import CachedJudge
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.judge.cross_encoder import (
    CrossEncoderJudge,
    TwoSidedSettings,
    TwoSides,
    Weighed,
)
from perspective_rag.judge.support import read_passages, rule_for
from perspective_rag.testing import TableJudge
from perspective_rag.types import (
    PACKAGED,
    Candidate,
    ListingRule,
    Passage,
    Perspective,
    RelevanceFloor,
)

SIDES = (Perspective("pro", "Zoos teach."), Perspective("con", "Zoos do not teach."))
STANCES = tuple(
    Perspective(s, t, s, "Zoos teach.")
    for s, t in (("support", "Zoos teach."), ("oppose", "Zoos do not teach."))
)
RELEVANT = Weighed(TwoSides(relevance=2.0, bias=-1.0), 0.8, 0.5)
ALONE = Weighed(TwoSides(), 0.7, 0.4)

read = partial(read_passages, scale=PACKAGED)


def candidates(*texts, relevance=0.5):
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


def reading_judge(tmp_path, settings=None):
    """A judge whose folder says how two sides are read, with a model that needs no file."""
    stored = (
        {"alone": ALONE.stored(), "relevant": RELEVANT.stored()} if settings is None else settings
    )
    (tmp_path / "judge.json").write_text(json.dumps({"threshold": 0.4, "two_sides": stored}))
    judge = CrossEncoderJudge(tmp_path)
    judge._classifier = Classifier()
    return judge


def expected(text, relevance, weighed):
    model = Classifier()
    rows = [model.logits([text], [side.text])[:, [1, 2, 0]] for side in SIDES]
    cosine = None if relevance is None else np.array([relevance])
    return weighed.weights.probabilities(*rows, cosine)[0, :2]


def test_a_passage_is_read_beside_both_statements_with_its_relevance(tmp_path):
    texts = ["Zoos teach. Really.", "They say: not so.", "Tickets."]
    judge, book = reading_judge(tmp_path), Recorder()
    table = run(read(judge, SIDES, candidates(*texts), exclusive=True), book)
    np.testing.assert_allclose(table, [expected(t, 0.5, RELEVANT) for t in texts])
    assert book.counts["judged_pairs"] == 6
    assert table[0, 0] > table[0, 1]


def test_the_two_stances_on_a_claim_are_read_together_too(tmp_path):
    table = run(read(reading_judge(tmp_path), STANCES, candidates("Zoos teach.")))
    np.testing.assert_allclose(table[0], expected("Zoos teach.", 0.5, RELEVANT))


def test_sides_that_do_not_exclude_each_other_are_read_one_by_one(tmp_path):
    judge = reading_judge(tmp_path)
    book = Recorder()
    run(read(judge, SIDES, candidates("Zoos teach.")), book)
    assert book.counts["judged_pairs"] == 2
    assert rule_for(judge, SIDES) == judge.listing
    assert rule_for(judge, SIDES, exclusive=True) == ListingRule(0.8, 0.5)
    assert rule_for(judge, SIDES, exclusive=True, min_support=0.3) == ListingRule(0.3, 0.3)


def test_without_relevance_the_thresholds_keep_their_meaning(tmp_path):
    settings = TwoSidedSettings(ALONE, RELEVANT)
    for own, wanted in ((0.0, 0.0), (0.4, 0.5), (0.7, 0.8), (1.0, 1.0)):
        assert np.interp(own, [0, 0.4, 0.7, 1], [0, 0.5, 0.8, 1]) == pytest.approx(wanted)
    judge = reading_judge(tmp_path)
    table = run(read(judge, SIDES, candidates("Zoos teach.", relevance=None), exclusive=True))
    alone = expected("Zoos teach.", None, ALONE)
    np.testing.assert_allclose(table[0], np.interp(alone, [0, 0.4, 0.7, 1], [0, 0.5, 0.8, 1]))
    row = np.zeros((1, 3))
    assert settings.support(row, row, np.array([np.nan])).shape == (1, 2)


def test_cosines_of_unknown_meaning_are_not_told(tmp_path):
    judge, found = reading_judge(tmp_path), candidates("Zoos teach.", relevance=0.9)
    unknown = run(read_passages(judge, SIDES, found, exclusive=True))
    without = run(read(judge, SIDES, candidates("Zoos teach.", relevance=None), exclusive=True))
    np.testing.assert_array_equal(unknown, without)
    other = RelevanceFloor(0.6, 0.8)  # the same spread, a quarter higher
    moved = run(read_passages(judge, SIDES, found, exclusive=True, scale=other))
    same = run(read(judge, SIDES, candidates("Zoos teach.", relevance=0.65), exclusive=True))
    np.testing.assert_allclose(moved, same)


def test_a_model_that_fails_leaves_nan_and_is_recorded(tmp_path):
    judge, book = reading_judge(tmp_path), Recorder()
    judge._classifier.logits = lambda documents, statements: 1 / 0
    table = run(read(judge, SIDES, candidates("a", "b"), exclusive=True), book)
    assert np.isnan(table).all()
    assert [d.stage for d in book.degradations] == ["judge"]


def test_the_cache_asks_once_and_tells_relevances_apart(tmp_path):
    inner = reading_judge(tmp_path)
    cached = CachedJudge(inner, tmp_path / "verdicts.sqlite")
    first = run(read(cached, SIDES, candidates("Zoos teach.", "x"), exclusive=True))
    asked = inner._classifier.read
    book = Recorder()
    again = run(read(cached, SIDES, candidates("Zoos teach.", "x"), exclusive=True), book)
    np.testing.assert_allclose(first, again)
    assert (inner._classifier.read, book.counts["cached_pairs"]) == (asked, 4)
    run(read(cached, SIDES, candidates("Zoos teach.", relevance=0.9), exclusive=True))
    assert inner._classifier.read == asked + 2
    assert rule_for(cached, SIDES, exclusive=True) == inner.sides_listing


def test_the_cascade_hands_on_what_is_unsure(tmp_path):
    table = {(str(i), side.id): 0.9 for i in range(2) for side in SIDES}
    cascade = CascadeJudge(reading_judge(tmp_path), llm_judge=TableJudge(table))
    book = Recorder()
    found = run(read(cascade, SIDES, candidates("Zoos teach.", "Tickets."), exclusive=True), book)
    unsure = int(book.counts["cascade_uncertain"])
    assert 0 < unsure < 4
    assert found.max() > 0.8
    plain = CascadeJudge(TableJudge(table))
    assert plain.sides_listing is None
    assert run(read(plain, SIDES, candidates("a"), exclusive=True)).shape == (1, 2)
