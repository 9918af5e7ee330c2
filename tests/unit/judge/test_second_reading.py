"""What is to be listed is read again, and what the second judge says of it counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError, PerspectiveRAGError
from perspective_rag.judge.second_reading import FIRST, on_scale
from perspective_rag.maths.vectors import cosine
from perspective_rag.perspectives.find import CallableExtractor
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
from perspective_rag.types import (
    PACKAGED,
    Extraction,
    Hit,
    ListingRule,
    Passage,
    Perspective,
    RelevanceFloor,
)

QUESTION = "Should zoos be closed?"
TEXTS = {
    "a": "zoos should be closed because cages are cruel",
    "b": "zoos should be closed and the animals freed",
    "c": "should zoos be closed yes closed soon",
    "d": "zoos closed or not keep species alive",
    "e": "breeding programmes keep species alive that zoos alone protect",
}
FIRST_SAYS = {("a", "support"): 0.9, ("b", "support"): 0.6, ("c", "support"): 0.3,
              ("e", "oppose"): 0.9, ("d", "oppose"): 0.4}  # fmt: skip
BOTH = np.array([[False, True], [True, False]])


class SecondReader:
    """Says of a passage what a table says; notes what it was asked."""

    name = "second"
    second_listing = ListingRule(0.8, 0.4)

    def __init__(self, table):
        self.table = table
        self.asked = []

    def read_again(self, sides, passages, first, relevance):
        found = []
        self.relevance = relevance.tolist()
        for (one, other), passage, row in zip(sides, passages, first, strict=True):
            self.asked.append((passage.id, one.id, other and other.id, row.tolist()))
            found.append(self.table.get((passage.id, one.id), (0.1, 0.1)))
        return np.array(found)


def pipeline(second, k=5, embedder=None, **options):
    embedder = embedder or HashEmbedder()
    passages = [Passage(i, text) for i, text in TEXTS.items()]
    store = MemoryStore(passages, embedder, returns_embeddings=True)
    judge = TableJudge(FIRST_SAYS)
    return PerspectivePipeline(
        store, embedder=embedder, judge=judge, second_judge=second, k=k,
        guard_searches=0, **{"reread_k": 12, **options},
    )  # fmt: skip


def listed(result):
    return {
        each.id: {p.passage.id for p in result.supporting(each)} for each in result.perspectives
    }


@pytest.mark.parametrize(
    ("says", "options", "support", "oppose"),
    [
        (None, {}, {"a", "b"}, {"e"}),
        ({("a", "support"): (0.3, 0.2), ("e", "oppose"): (0.9, 0.0)}, {}, set(), {"e"}),
        ({("c", "support"): (0.95, 0.01), ("a", "support"): (0.9, 0.0)}, {}, {"a", "c"}, set()),
        ({("a", "support"): (np.nan, np.nan)}, {}, {"a"}, set()),  # the first verdict stays
        ({("a", "support"): (0.85, 0.0), ("b", "support"): (0.95, 0.0)}, {}, {"a", "b"}, set()),
        (
            {("a", "support"): (0.85, 0.0), ("b", "support"): (0.95, 0.0)},
            {"min_support": 0.9}, {"b"}, set(),
        ),
    ],
)  # fmt: skip
def test_what_is_listed_is_what_the_second_judge_lists(says, options, support, oppose):
    second = None if says is None else SecondReader(says)
    result = pipeline(second).retrieve(QUESTION, **options)
    assert listed(result) == {"support": support, "oppose": oppose}


def test_the_listed_come_first_and_no_more_than_reread_k_are_read():
    second = SecondReader({})
    result = pipeline(second, reread_k=2).retrieve(QUESTION)
    assert {(passage, side) for passage, side, _, _ in second.asked} == {
        ("a", "support"), ("e", "oppose"),
    }  # fmt: skip
    assert result.trace.counts["read_again"] == 2
    assert second.asked[0][2:] == ("oppose", [0.9, 0.0])


@pytest.mark.parametrize(
    ("question", "read_again"),
    [("Should zoos be closed?", True), ("Is closing zoos or keeping zoos better?", False)],
)
def test_named_alternatives_are_not_read_again(question, read_again):
    second, embedder = SecondReader({}), HashEmbedder()
    store = MemoryStore([Passage(i, text) for i, text in TEXTS.items()], embedder)
    judge = TableJudge({("a", "p1"): 0.9, ("e", "p2"): 0.9})
    made = PerspectivePipeline(store, embedder=embedder, judge=judge, second_judge=second)
    made.retrieve(question, perspectives=["Close the zoos", "Keep the zoos"], reread_k=12)
    assert bool(second.asked) == read_again


def test_reread_k_0_reads_nothing_again():
    second = SecondReader({})
    result = pipeline(second).retrieve(QUESTION, reread_k=0)
    assert second.asked == []
    assert "read_again" not in result.trace.counts
    assert listed(result)["support"] == {"a", "b"}


def test_the_first_verdict_stays_in_the_scores():
    second = SecondReader({("a", "support"): (0.9, 0.05)})
    result = pipeline(second).retrieve(QUESTION)
    (a,) = [each for each in result.candidates if each.passage.id == "a"]
    assert a.scores[FIRST + "support"] == 0.9
    assert a.scores[FIRST + "oppose"] == 0.0


def test_the_choice_is_made_again_among_what_was_read():
    second = SecondReader({("d", "oppose"): (0.95, 0.0)})
    before = pipeline(None, k=2).retrieve(QUESTION)
    assert "d" not in [p.id for p in before.passages]
    result = pipeline(second, k=2).retrieve(QUESTION)
    assert "d" in [p.id for p in result.passages]
    assert listed(result)["oppose"] == {"d"}


def test_one_side_alone_is_read_beside_its_negation():
    second = SecondReader({("a", "only"): (0.9, 0.0)})
    only = Perspective("only", "zoos should be closed")
    made = pipeline(second)
    made.judge = TableJudge({("a", "only"): 0.7})
    result = made.retrieve(QUESTION, perspectives=[only])
    assert second.asked[0][:3] == ("a", "only", None)
    assert np.isnan(second.asked[0][3][1])
    assert listed(result)["only"] == {"a"}


def test_of_three_that_exclude_each_other_a_doubted_one_does_not_give_way_to_an_unread_one():
    three = tuple(Perspective(i, f"zoos are {i}") for i in "xyz")
    found = Extraction(QUESTION, three, kind="sides", exclusive=True)
    second = SecondReader({})
    made = pipeline(second, extractor=CallableExtractor(lambda question: found))
    made.judge = TableJudge({("a", "x"): 0.9, ("a", "y"): 0.85, ("a", "z"): 0.8})
    once = made.retrieve(QUESTION, reread_k=0)
    assert listed(once) == {"x": {"a"}, "y": set(), "z": set()}
    again = made.retrieve(QUESTION)
    assert ("a", "x", "y", [0.9, 0.85]) in second.asked
    assert listed(again) == {"x": set(), "y": set(), "z": set()}


def test_it_is_told_the_cosines_to_the_question_where_their_scale_is_known():
    second = SecondReader({})
    pipeline(second).retrieve(QUESTION)
    assert np.isnan(second.relevance).all()
    second.asked.clear()
    known = type("Known", (HashEmbedder,), {"relevance_floor": RelevanceFloor(-0.9, -0.8)})()
    pipeline(second, embedder=known).retrieve(QUESTION)
    texts = [TEXTS[each[0]] for each in second.asked]
    cosines = cosine(known.embed_passages(texts), known.embed_queries([QUESTION]))[:, 0]
    np.testing.assert_allclose(
        second.relevance, known.relevance_floor.moved(cosines, PACKAGED), atol=1e-6
    )


def test_a_second_judge_that_fails_leaves_the_first_verdicts_and_is_recorded():
    class Failing(SecondReader):
        def read_again(self, sides, passages, first, relevance):
            raise RuntimeError("out of memory")

    result = pipeline(Failing({})).retrieve(QUESTION)
    assert listed(result)["support"] == {"a", "b"}
    (found,) = result.trace.degradations
    assert found.stage == "second_reading"
    with pytest.raises(PerspectiveRAGError, match="out of memory"):
        pipeline(Failing({})).retrieve(QUESTION, strict=True)


def test_given_hits_are_read_again_too():
    second = SecondReader({("a", "support"): (0.1, 0.1)})
    made = pipeline(second)
    hits = [Hit(Passage(i, text)) for i, text in TEXTS.items()]
    result = made.choose(QUESTION, hits)
    assert "a" not in listed(result)["support"]


def test_what_is_no_second_judge_is_refused():
    with pytest.raises(ConfigError, match="second_judge must be a SecondJudge"):
        pipeline(TableJudge({}))


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
    st.floats(0.05, 0.45), st.floats(0.55, 0.95), st.floats(0, 0.3),
    st.floats(0.05, 0.45), st.floats(0.55, 0.95),
)  # fmt: skip
def test_one_rule_gives_the_verdicts_of_the_other(pair, lean, threshold, lead, other_lean, other):
    own, rule = ListingRule(threshold, lean, lead), ListingRule(other, other_lean)
    values = np.array([pair])
    for bound in (lean, threshold):
        if np.abs(values - bound).min() < 1e-9:
            return  # rounding decides
    said = own.verdicts(values, BOTH)[0].tolist()
    found = rule.verdicts(on_scale(values, own, rule), BOTH)[0].tolist()
    assert [each == "clear" for each in found] == [each == "clear" for each in said]
    assert ("mixed" in found) == ("mixed" in said)
