"""Perspectives taken from the passages: which sentences stand alone, which statements are chosen, and
that nothing else changes.
"""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perspective_rag.errors import CapabilityError, PerspectiveRAGError
from perspective_rag.flow.driver import run
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.local.callables import CallableStore
from perspective_rag.perspectives.discover import OPPOSED, _against_each_other, stand_alone
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.testing import HashEmbedder, MemoryStore, ScriptedLLM
from perspective_rag.types import Hit, Passage

CLOSE = "Zoos should be closed as their cages are cruel"
KEEP = "Zoos can save rare animals that are lost in the wild"
FEED = "Zoos must feed their animals on hay and fish each day"


class Opposing:
    """A judge that knows which texts oppose each other, in one direction only."""

    name, threshold = "opposing", 0.5

    def __init__(self, pairs):
        self.pairs, self.asked = pairs, []

    def judge(self, perspectives, passages):
        yield from ()
        self.asked += [(d.text, p.claim) for d in passages for p in perspectives]
        return np.array(
            [
                [
                    self.pairs.get((d.text, p.claim), 0.0) if p.stance == "oppose" else 0.9
                    for p in perspectives
                ]
                for d in passages
            ]
        )


def pipeline(texts, judge, **options):
    passages = [Passage(f"d{i}", text, {"n": i}) for i, text in enumerate(texts)]
    options = {"discover": 2, "k": 2, **options}
    return PerspectivePipeline(
        MemoryStore(passages), embedder=HashEmbedder(), judge=judge, **options
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Zoos can save animals that are rare. They also teach.",
            ["Zoos can save animals that are rare"],
        ),
        ("Zoos should all be closed because they are cruel.", ["Zoos should all be closed"]),
        ("Zoos should all be closed [ref]. Why? They bore.", ["Zoos should all be closed"]),
        ("They close because zoos are too cruel.", []),
        ("Zoos are cruel because cages are small.", ["Zoos are cruel because cages are small"]),
        ("“Zoos are old and the cages small”", []),
        ("What zoos teach is that animals may be owned.", []),
        ("The zoo you would close is the oldest one.", []),
        ("Zoos ensure that all their animals are fed.", []),
        ("The zoo of the old town on the hill.", []),
        ("But zoos must keep animals in cages.", ["Zoos must keep animals in cages"]),
        ("However, the keepers do love the animals.", ["The keepers do love the animals"]),
        ("This is what the keepers always say. Who would believe them at all?", []),
        ("Too short. " + "word " * 36 + ".", []),
        ("Their cages are too small for them. I saw it with my own eyes.", []),
        ("Zoos Protect Rare Animals From Extinction.", []),
        ("Zoos are good for animals\n\nZoos teach. What next?", []),
        (
            "Zoos are cruel to the animals. The cages in these zoos are",
            ["Zoos are cruel to the animals"],
        ),
        ("zoos are cruel to their animals", ["Zoos are cruel to their animals"]),
        ("", []),
    ],
)
def test_sentences_that_say_something_by_themselves(text, kept):
    assert stand_alone(text) == kept


def test_the_nearest_statement_and_the_one_that_opposes_it_are_the_perspectives():
    judge = Opposing({(KEEP, CLOSE): 0.8, (FEED, CLOSE): 0.6})
    result = pipeline([FEED, CLOSE, KEEP], judge).retrieve("zoos closed cages cruel")
    assert [(p.id, p.text) for p in result.perspectives] == [("p1", CLOSE), ("p2", KEEP)]
    assert result.trace.decisions == (
        {"stage": "discover", "query": "zoos closed cages cruel", "from": [CLOSE, KEEP]},
    )
    assert {CLOSE, KEEP} <= {query.text for query in result.trace.queries}
    assert result.trace.degradations == ()


def test_opposition_counts_in_either_direction():
    judge = Opposing({(CLOSE, KEEP): 0.8})
    result = pipeline([FEED, CLOSE, KEEP], judge).retrieve("zoos closed cages cruel")
    assert [p.text for p in result.perspectives] == [CLOSE, KEEP]


def test_what_nobody_disputes_is_no_side():
    result = pipeline([FEED, CLOSE, KEEP], Opposing({})).retrieve("zoos closed cages cruel")
    assert result.perspectives == ()
    assert not result.coverage.judged
    alone = pipeline([CLOSE], Opposing({}), discover=1).retrieve("zoos closed cages cruel")
    assert alone.perspectives == ()


def test_a_farther_statement_that_is_disputed_goes_before_a_nearer_one_that_is_not():
    judge = Opposing({(FEED, KEEP): 0.9})
    result = pipeline([FEED, CLOSE, KEEP], judge).retrieve("zoos closed cages cruel")
    assert {p.text for p in result.perspectives} == {KEEP, FEED}


def test_one_is_the_nearest_statement_and_its_negation():
    judge = Opposing({(KEEP, CLOSE): 0.8})
    result = pipeline([CLOSE, KEEP], judge, discover=1).retrieve("zoos closed cages cruel")
    assert [p.id for p in result.perspectives] == ["support", "oppose"]


@pytest.mark.parametrize(
    "question", ["Should zoos be closed?", "Find a claim that opposes the argument: zoos are cruel"]
)
def test_perspectives_in_the_wording_come_first(question):
    judge = Opposing({(KEEP, CLOSE): 0.8})
    with_it = pipeline([CLOSE, KEEP], judge).retrieve(question)
    without = pipeline([CLOSE, KEEP], judge, discover=0).retrieve(question)
    assert with_it.perspectives == without.perspectives == extract_by_rule(question).perspectives
    assert [c.passage.id for c in with_it.candidates] == [c.passage.id for c in without.candidates]


@pytest.mark.parametrize(
    "question", ["Who built the first zoo?", "Is Paris the capital of France?"]
)
def test_a_settled_question_is_searched_as_it_is(question):
    judge = Opposing({})
    line = pipeline([CLOSE, KEEP], judge)
    result = line.retrieve(question)
    assert result.perspectives == ()
    assert judge.asked == []
    assert len(line.store.requests) == 1


def test_what_a_language_model_finds_settled_stays_settled():
    judge = Opposing({})
    llm = ScriptedLLM(['{"root": "zoos", "perspectives": []}'])
    line = PerspectivePipeline(
        MemoryStore([Passage("d", CLOSE)]),
        embedder=HashEmbedder(),
        judge=judge,
        extractor=LLMExtractor(llm),
        discover=2,
    )
    assert line.retrieve("zoos").perspectives == ()


def test_passages_outside_the_filter_lend_no_words():
    line = pipeline([CLOSE, KEEP, FEED], Opposing({(KEEP, CLOSE): 0.9, (FEED, KEEP): 0.9}))
    result = line.retrieve("zoos closed cages cruel", filter=lambda p: p.id != "d0")
    assert all(CLOSE[:20] not in p.text for p in result.perspectives)
    assert result.perspectives


def test_without_an_embedder_the_stores_order_counts():
    found = [Hit(Passage("a", CLOSE)), Hit(Passage("b", FEED)), Hit(Passage("c", KEEP))]
    judge = Opposing({(KEEP, CLOSE): 0.9, (FEED, CLOSE): 0.71})
    line = PerspectivePipeline(CallableStore(lambda text, k: found), judge=judge, discover=3)
    assert [p.text for p in line.retrieve("zoos").perspectives] == [CLOSE, KEEP, FEED]


def test_asynchronously_the_same():
    def ask(line):
        return line.retrieve("zoos closed cages cruel"), asyncio.run(
            line.aretrieve("zoos closed cages cruel")
        )

    sync, a_sync = ask(pipeline([FEED, CLOSE, KEEP], Opposing({(KEEP, CLOSE): 0.8})))
    assert sync.perspectives == a_sync.perspectives
    assert [c.passage.id for c in sync.candidates] == [c.passage.id for c in a_sync.candidates]


def test_a_failing_judge_costs_the_perspectives_alone():
    class Broken(Opposing):
        def judge(self, perspectives, passages):
            yield from ()
            raise RuntimeError("out of memory")

    line = pipeline([CLOSE, KEEP], Broken({}))
    result = line.retrieve("zoos")
    assert len(result.candidates) == 2
    assert result.perspectives == ()
    assert [d.stage for d in result.trace.degradations] == ["discover"]
    assert "out of memory" in result.trace.degradations[0].message
    with pytest.raises(PerspectiveRAGError, match="out of memory"):
        line.retrieve("zoos", strict=True)


def test_a_judge_without_a_verdict_is_recorded():
    class Silent(Opposing):
        def judge(self, perspectives, passages):
            yield from ()
            return np.full((len(passages), len(perspectives)), np.nan)

    result = pipeline([CLOSE, KEEP], Silent({})).retrieve("zoos")
    assert result.perspectives == ()
    assert "no verdict" in result.trace.degradations[0].message


@pytest.mark.parametrize("texts", [[], ["Too short.", "They run. It is so."]])
def test_passages_without_a_statement_leave_the_question_as_it_is(texts):
    result = pipeline(texts, Opposing({})).retrieve("zoos")
    assert result.perspectives == ()
    assert result.trace.degradations == ()
    assert [each["stage"] for each in result.trace.decisions] == ["extract"]


def test_it_needs_a_judge():
    with pytest.raises(CapabilityError, match="pass judge="):
        PerspectivePipeline(MemoryStore([]), embedder=HashEmbedder(), discover=2)


@given(
    arrays(float, (6, 6), elements=st.floats(0.0, 1.0)),
    arrays(float, 6, elements=st.floats(0.0, 1.0)),
    st.integers(1, 6),
)
def test_the_choice_is_that_of_the_formula(opposition, relevance, limit):
    texts = [f"Statement {i} says a thing" for i in range(6)]
    judge = Opposing({(texts[i], texts[j]): opposition[i, j] for i in range(6) for j in range(6)})
    chosen = run(_against_each_other(judge, texts, relevance, limit))
    expected = [0]
    while len(expected) < limit:
        value = {}
        for i in set(range(6)) - set(expected):
            agreed = 1.0
            for j in expected:
                agreed *= 1.0 - max(opposition[i, j], opposition[j, i])
            if 1.0 - agreed >= OPPOSED:
                value[i] = relevance[i] * (1.0 - agreed)
        if not value:
            break
        expected.append(max(sorted(value), key=lambda i: value[i]))
    assert len(chosen) == len(expected)
    for i, j in zip(chosen, expected, strict=True):
        if i != j:  # equal up to rounding
            break
    else:
        assert len(set(chosen)) == len(chosen)
    assert len(judge.asked) == 10 * max(min(limit, len(chosen) + 1) - 1, 0)


def test_the_packaged_judge_finds_two_sides_of_a_topic():
    texts = [
        "Homework should be abolished in primary schools. Children need to play and to rest.",
        "Homework should not be abolished, for practice at home makes lessons stick.",
        "The school was built of red brick in the year of the great flood by the council.",
    ]
    result = pipeline(texts, packaged_judge()).retrieve("homework in primary schools")
    assert len(result.perspectives) == 2
    sides = ["not be abolished" in p.text for p in result.perspectives]
    assert sorted(sides) == [False, True]
    assert result.coverage.complete
