"""Which passages contradict each other, on what a side rests, and what to search for next."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag import Candidate, Passage, Perspective, PerspectivePipeline
from perspective_rag.annotations import annotations_of, report_in
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
from perspective_rag.types import Coverage, ListingRule, RetrievalResult, Trace, voice_of

CLAIM = "Zoos should be closed"
FOR = Perspective("support", CLAIM, "support", CLAIM)
AGAINST = Perspective("oppose", "Zoos should not be closed", "oppose", CLAIM)
RULE = ListingRule(0.5, 0.3)


def result(support, sources=None, perspectives=(FOR, AGAINST), contradicts=True):
    names = "abcdef"[: len(support)]
    where = sources or names
    candidates = tuple(
        Candidate(
            Passage(name, f"text {name}", {"author": source}),
            1.0,
            support=dict(zip([p.id for p in perspectives], row, strict=True)),
        )
        for name, source, row in zip(names, where, support, strict=True)
    )
    table = np.array([[0, 1], [1, 0]], dtype=bool) if contradicts else None
    coverage = Coverage(tuple(perspectives), np.array(support, dtype=float), RULE, table)
    return RetrievalResult("q", candidates, tuple(perspectives), coverage, Trace())


def test_passages_on_contradicting_sides_contradict_each_other():
    found = result([[0.9, 0.0], [0.0, 0.9], [0.8, 0.1], [0.1, 0.1], [0.9, 0.9]])
    assert found.contradictions == [(0, 1), (1, 2)], "not the silent one, not the mixed one"
    assert (found.coverage.contradicting == found.coverage.contradicting.T).all()
    assert found.to_dict()["contradictions"] == [[0, 1], [1, 2]]
    told = [report_in(each)["contradicts"] for each in annotations_of(found)]
    assert told == [["b"], ["a", "c"], ["b"], [], []]


def test_a_side_that_rests_on_one_source_is_named():
    found = result([[0.9, 0.0], [0.8, 0.0], [0.0, 0.9], [0.0, 0.8]], ["x", "x", "y", "z"])
    assert found.single_source == (FOR,)
    assert found.to_dict()["single_source"] == ["support"]
    assert result([[0.9, 0.0], [0.0, 0.0]]).single_source == (FOR,), "the other has no passage"


@pytest.mark.parametrize(
    ("metadata", "voice"),
    [
        ({"source": "ibm_crowd_arguments"}, None),
        ({"source": "https://a.org/1"}, "source:https://a.org/1"),
        ({"author": "Ann", "url": "https://a.org/1"}, "author:Ann"),
        ({"author": " ", "debate": "Zoos", "title": "t"}, "debate:Zoos"),
        ({"url": None}, None),
    ],
)
def test_a_collection_is_no_voice(metadata, voice):
    assert voice_of(Passage("a", "text", metadata)) == voice
    several = tuple(Passage(name, "text", metadata) for name in "ab")
    candidates = tuple(Candidate(p, 1.0, support={"support": 0.9}) for p in several)
    coverage = Coverage((FOR,), np.array([[0.9], [0.9]]), RULE)
    found = RetrievalResult("q", candidates, (FOR,), coverage, Trace())
    assert found.single_source == (() if voice is None else (FOR,))


def test_next_queries_are_a_stop_signal():
    missing = result([[0.9, 0.0]]).coverage
    assert missing.next_queries == ("Zoos should not be closed",)
    assert missing.to_dict()["next_queries"] == ["Zoos should not be closed"]
    assert result([[0.9, 0.0], [0.0, 0.9]]).coverage.next_queries == ()


def asked(passages, table, **options):
    store = MemoryStore(passages, HashEmbedder())
    judge = TableJudge(table, default=0.0)
    made = PerspectivePipeline(store, embedder=HashEmbedder(), judge=judge, **options)
    return made.retrieve("Should zoos be closed?")


def test_it_is_the_judge_that_says_what_contradicts_and_never_the_vectors():
    alike = [Passage("a", "zoos should close not stay"), Passage("b", "zoos should stay not close")]
    unlike = [Passage("a", "zoos close"), Passage("b", "breeding keeps species alive")]
    vectors = HashEmbedder().embed_passages([each.text for each in alike])
    assert np.allclose(vectors[0], vectors[1]), "the same words"
    opposed = {("a", "support"): 0.9, ("b", "oppose"): 0.9}
    agreed = {("a", "support"): 0.9, ("b", "support"): 0.9}
    for passages in (alike, unlike):
        found = asked(passages, opposed, k=2)
        [(one, other)] = found.contradictions
        assert {found.passages[one].id, found.passages[other].id} == {"a", "b"}
        assert asked(passages, agreed, k=2).contradictions == []


def test_a_result_says_which_passages_only_report_a_view():
    passages = [
        Passage("held", "Zoos should be closed. Cages are cruel."),
        Passage("told", "Critics say that zoos should be closed. Opponents argue that cages hurt."),
        Passage("answered", "Critics say that zoos are cruel, but they are wrong to say so."),
    ]
    found = asked(passages, {("held", "support"): 0.9, ("told", "support"): 0.9}, k=3)
    told = dict(zip([each.id for each in found.passages], found.reported.tolist(), strict=True))
    assert told == {"held": False, "told": True, "answered": False}
    assert found.to_dict()["reported"] == found.reported.tolist()
    reports = [report_in(each)["reported"] for each in annotations_of(found)]
    assert reports == found.reported.tolist()
    assert asked(passages, {}, k=3, coverage="off").reported is None
